"""What the core itself contributes, through the hooks of all plugins."""

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
    UlpOptions,
)
from polycmp.spec import CommandSpec, CompareFuncSpec, DataLoaderSpec, FormatSpec, ReportSpec, hookimpl

#: What a comparison does unless the user chooses something else.
DEFAULT_COMPARE = "simple"
DEFAULT_DATA_LOADER = "random"

_FUNCTIONS: tuple[tuple[str, str, str, type, Mapping[str, Any]], ...] = (
    (
        "simple",
        "simple:Simple",
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
    ("indices", "indices:Indices", "Lists of indices, such as those of a top-k", IndicesOptions, {"rejudges": False}),
    ("l2", "norms:L2", "Euclidean norm of the difference", L2Options, {"groups": ("distance_metrics",)}),
    (
        "cosine_similarity",
        "norms:CosineSimilarity",
        "Cosine of the angle between both outputs",
        CosineOptions,
        {"larger_is_better": True, "groups": ("distance_metrics",)},
    ),
    (
        "psnr",
        "norms:Psnr",
        "Peak signal-to-noise ratio in dB",
        PsnrOptions,
        {"larger_is_better": True, "groups": ("quality_metrics",)},
    ),
    (
        "snr",
        "norms:Snr",
        "Signal-to-noise ratio in dB",
        SnrOptions,
        {"larger_is_better": True, "groups": ("quality_metrics",)},
    ),
    ("ulp", "ulp:Ulp", "Distance in representable numbers", UlpOptions, {}),
)


@hookimpl
def polycmp_compare_funcs() -> Iterable[CompareFuncSpec]:
    """Contribute the compare functions of the core."""
    for name, factory, summary, options, facts in _FUNCTIONS:
        python = f"polycmp.comparator:CompareFunc.{name}"
        further = {"rejudges": True, **facts}
        yield CompareFuncSpec(name, summary, f"polycmp.compare.{factory}", options, python=python, **further)


@hookimpl
def polycmp_reports() -> Iterable[ReportSpec]:
    """Contribute the report format of the core."""
    yield ReportSpec(".json", "JSON, for programs", "polycmp.report.writers:write_json")


@hookimpl
def polycmp_formats() -> Iterable[FormatSpec]:
    """Contribute the file format of the core."""
    yield FormatSpec(
        ".json",
        "Exchangeable with Polygraphy",
        reader="polycmp.results.jsonfile:read",
        writer="polycmp.results.jsonfile:make_writer",
    )


@hookimpl
def polycmp_data_loaders() -> Iterable[DataLoaderSpec]:
    """Contribute the data loader of the core."""
    yield DataLoaderSpec(
        "random",
        "Reproducible random numbers",
        "polycmp.data.random:make_random",
        RandomOptions,
        synthetic=True,
        remarks="polycmp.data.random:remarks",
        python="polycmp.comparator:DataLoader",
    )


_PLUGINS = "List and check plugins, and more that plugins bring."
#: The words, one line of help, the module and its command, and a line on all commands that begin alike.
_COMMANDS = (
    ("run", "Run a model on several backends and compare all outputs.", "run:run_command", ""),
    ("plugins list", "Show every plugin and what it provides.", "plugins:list_command", _PLUGINS),
    ("plugins check", "Import everything that plugins name.", "plugins:check_command", _PLUGINS),
)


@hookimpl
def polycmp_commands() -> Iterable[CommandSpec]:
    """Contribute the commands of the core."""
    for words, summary, target, group in _COMMANDS:
        yield CommandSpec(tuple(words.split()), summary, f"polycmp.cli.{target}", group)
