"""The core's own commands, compare functions, data loaders and report, contributed through the hooks of all plugins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from polycmp.builtin_options import (
    CosineOptions,
    IndicesOptions,
    L2Options,
    PsnrOptions,
    RandomOptions,
    SimpleOptions,
    SnrOptions,
    StressOptions,
    UlpOptions,
)
from polycmp.spec import CommandSpec, CompareFuncSpec, DataLoaderSpec, ReportSpec, hookimpl

#: What a comparison does unless the user chooses something else.
DEFAULT_COMPARE = "simple"
DEFAULT_DATA_LOADER = "random"

#: What compare functions take as given with the data loader `stress` unless the user says otherwise: it makes numbers
#: overflow on purpose, and both sides doing so at the same place is agreement; and it makes large numbers cancel.
STRESS_COMPARE: Mapping[str, Mapping[str, object]] = {
    "simple": {"nan": "equal", "infinities_compare_equal": True, "scale_atol": True}
}
STRESS_NOTES: Mapping[str, Mapping[str, str]] = {
    "simple": {
        "nan": "NaN at the same place on both sides is equal (--nan differ changes that)",
        "scale_atol": "the absolute tolerance is in units of an output's largest value (--atol X changes that)",
    }
}

_FUNCTIONS: tuple[tuple[str, str, type, Mapping[str, Any]], ...] = (
    (
        "simple",
        "Absolute and relative error of each element, or a statistic of them",
        SimpleOptions,
        {
            "detail": True,
            "no_mean": (
                ("check_error_stat", "elemwise", "a statistic: --check-error-stat max (or mean, median, quantile)"),
            ),
            "yields": (("scale_atol", "atol"),),
        },
    ),
    ("indices", "Lists of indices, such as those of a top-k", IndicesOptions, {"rejudges": False}),
    ("l2", "Euclidean norm of the difference", L2Options, {"groups": ("distance_metrics",)}),
    (
        "cosine_similarity",
        "Cosine of the angle between both outputs",
        CosineOptions,
        {"larger_is_better": True, "groups": ("distance_metrics",)},
    ),
    (
        "psnr",
        "Peak signal-to-noise ratio in dB",
        PsnrOptions,
        {"larger_is_better": True, "groups": ("quality_metrics",)},
    ),
    ("snr", "Signal-to-noise ratio in dB", SnrOptions, {"larger_is_better": True, "groups": ("quality_metrics",)}),
    ("ulp", "Distance in representable numbers", UlpOptions, {}),
)


@hookimpl
def polycmp_compare_funcs() -> Iterable[CompareFuncSpec]:
    """Contribute the compare functions of the core."""
    for name, summary, options, facts in _FUNCTIONS:
        factory, python = f"polycmp.compare.functions:make_{name}", f"polycmp.comparator:CompareFunc.{name}"
        yield CompareFuncSpec(name, summary, factory, options, python=python, **{"rejudges": True, **facts})


@hookimpl
def polycmp_reports() -> Iterable[ReportSpec]:
    """Contribute the report format of the core."""
    yield ReportSpec(".json", "JSON, for programs", "polycmp.report.json_writer:write")


@hookimpl
def polycmp_data_loaders() -> Iterable[DataLoaderSpec]:
    """Contribute the data loaders of the core."""
    yield DataLoaderSpec(
        "random",
        "Reproducible random numbers",
        "polycmp.data.random:make_random",
        RandomOptions,
        synthetic=True,
        remarks="polycmp.data.random:remarks",
        python="polycmp.comparator:DataLoader",
    )
    yield DataLoaderSpec(
        "stress",
        "Inputs that find bugs",
        "polycmp.data.stress:make_stress",
        StressOptions,
        synthetic=True,
        sweeps_shapes=True,
        compare_defaults=STRESS_COMPARE,
        compare_notes=STRESS_NOTES,
    )


_CHECK = "Check what was saved, and more that plugins bring."
_INSPECT = "Show what is in a model, or in a file of inputs or outputs."
_PLUGINS = "List, check and begin plugins."
#: The words, one line of help, the module and its command, and a line on all commands that begin alike.
_COMMANDS = (
    ("run", "Run a model on several backends and compare all outputs.", "run:run_command", ""),
    ("check accuracy", "Judge saved metrics with other tolerances.", "check:accuracy_command", _CHECK),
    ("convert", "Turn a model into another kind, or change it.", "convert:convert_command", ""),
    ("inspect model", "Show the inputs, outputs and layers of a model.", "inspect:model_command", _INSPECT),
    ("inspect data", "Show the tensors in a file of inputs or outputs.", "inspect:data_command", _INSPECT),
    ("plugins list", "Show every plugin and what it provides.", "plugins:list_command", _PLUGINS),
    ("plugins check", "Import everything that plugins name.", "plugins:check_command", _PLUGINS),
    ("plugins new", "Write a distribution for a new backend.", "plugins:new_command", _PLUGINS),
)


@hookimpl
def polycmp_commands() -> Iterable[CommandSpec]:
    """Contribute the commands of the core."""
    for words, summary, target, group in _COMMANDS:
        yield CommandSpec(tuple(words.split()), summary, f"polycmp.cli.{target}", group)
