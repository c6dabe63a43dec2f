"""What this package contributes. Light: only the standard library and `polycmp.spec` are imported here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from polycmp.spec import (
    CommandSpec,
    CompareFuncSpec,
    DataLoaderSpec,
    ReportSpec,
    RunnerSpec,
    ServiceSpec,
    dataclass,
    hookimpl,
    opt,
)
from polycmp_checks.function_options import (
    CosineOptions,
    IndicesOptions,
    L2Options,
    PsnrOptions,
    SnrOptions,
    UlpOptions,
)
from polycmp_checks.metric_options import IouMatchOptions, KlDivergenceOptions, TopkAgreementOptions
from polycmp_checks.stress.options import COMPARE_DEFAULTS, COMPARE_NOTES, StressOptions

FAULTS: Mapping[str, str] = {
    "fp16": "its results are rounded to float16",
    "int32": "its results lose what a 32-bit whole number does not hold: fractions and the upper bits",
    "saturate": "its results are cut off at half of the largest magnitude",
    "ties": "halves are rounded away from zero instead of to even (Round, QuantizeLinear)",
    "nan": "NaN among its results becomes 0",
    "layout": "its results are laid out as if the last axis came before the others",
    "shuffle": "what it reads along the last axis of its first input arrives in reversed order",
    "row-noise": "its results are off by up to one per cent, by another share in each row of the batch",
    "crash": "the process ends by a signal",
    "hang": "it never comes back",
}
#: Faults that end the process or never end: they need a process of their own.
FATAL = ("crash", "hang")

_DB = {"larger_is_better": True, "groups": ("quality_metrics",)}
_FUNCTIONS: tuple[tuple[str, str, str, type, Mapping[str, Any]], ...] = (
    ("indices", "indices:Indices", "Lists of indices, such as those of a top-k", IndicesOptions, {"rejudges": False}),
    ("l2", "norms:L2", "Euclidean norm of the difference", L2Options, {"groups": ("distance_metrics",)}),
    (
        "cosine_similarity",
        "norms:CosineSimilarity",
        "Cosine of the angle between both outputs",
        CosineOptions,
        {"larger_is_better": True, "groups": ("distance_metrics",)},
    ),
    ("psnr", "norms:Psnr", "Peak signal-to-noise ratio in dB", PsnrOptions, _DB),
    ("snr", "norms:Snr", "Signal-to-noise ratio in dB", SnrOptions, _DB),
    ("ulp", "ulp:Ulp", "Distance in representable numbers", UlpOptions, {}),
)


@dataclass(frozen=True)
class FaultyOptions:
    """Options of the backend `faulty`."""

    backend: str = opt("", help="The backend to wrap.", metavar="NAME")
    fault: str = opt("", help=f"What goes wrong: {', '.join(FAULTS)}.", choices=tuple(FAULTS))
    at: str = opt("", help="The operator where it goes wrong: its name, or a tensor that it makes.", metavar="NAME")
    wrapped: Mapping[str, str] = opt({}, help="Options of the wrapped backend.", metavar="KEY:VALUE")

    def __post_init__(self) -> None:
        for field in ("backend", "fault", "at"):
            if not getattr(self, field):
                raise ValueError(f"{field} is missing: -b faulty:backend=NAME,fault=FAULT,at=OPERATOR")


@dataclass(frozen=True)
class AccuracyOptions:
    """Where the metrics of a run go."""

    results: str = opt(
        "",
        help="Save metrics and verdicts, to judge them again with `polycmp check accuracy`.",
        alias="--save-accuracy-results",
        metavar="FILE",
        writes=True,
    )


def _not_negative(text: str) -> int:
    value = int(text)
    if value < 0:
        raise ValueError("it must not be negative")
    return value


@dataclass(frozen=True)
class StepsOptions:
    """State that goes round."""

    number: int = opt(
        0, help="Steps, each fed with outputs of the one before.", alias="--steps", metavar="N", parse=_not_negative
    )
    state: tuple[str, ...] = opt(
        (),
        help="Which outputs are which inputs of the next step: a regular expression for the output's whole name, and "
        r"the input's, for example 'present\.(.*)=past_key_values.\1'.",
        alias="--state",
        metavar="OUTPUT=INPUT",
    )
    feed: tuple[str, ...] = opt(
        (),
        help="What another input holds in the next step: argmax(OUTPUT), own_argmax(OUTPUT), ones, count, keep, or "
        "FILE.py:NAME. Decoders need none: input_ids, attention_mask and position_ids are known.",
        alias="--feed",
        metavar="INPUT=RULE",
        executes=True,
    )


@hookimpl
def polycmp_reports() -> Iterable[ReportSpec]:
    """Contribute the file of metrics, written while `run` compares."""
    yield ReportSpec(
        "",
        "Metrics, to be judged again later",
        "",
        name="accuracy",
        options=AccuracyOptions,
        record="polycmp_checks.accuracy.recorder:record",
    )


@hookimpl
def polycmp_runners() -> Iterable[RunnerSpec]:
    """Contribute the backend `faulty`."""
    yield RunnerSpec(
        name="faulty",
        summary="Wraps another backend and goes wrong at one operator",
        factory="polycmp_checks.faulty:make_runner",
        options=FaultyOptions,
        hidden=True,
    )


@hookimpl
def polycmp_data_loaders() -> Iterable[DataLoaderSpec]:
    """Contribute the data loader `stress`, and what feeds outputs back."""
    yield DataLoaderSpec(
        "stress",
        "Inputs that find bugs",
        "polycmp_checks.stress.feeds:make_stress",
        StressOptions,
        synthetic=True,
        sweeps_shapes=True,
        compare_defaults=COMPARE_DEFAULTS,
        compare_notes=COMPARE_NOTES,
    )
    yield DataLoaderSpec(
        "steps",
        "Outputs that are inputs of the next step: caches, recurrent and streaming models",
        "polycmp_checks.steps.feedback:make_steps",
        StepsOptions,
        follows=True,
    )


@hookimpl
def polycmp_compare_funcs() -> Iterable[CompareFuncSpec]:
    """Contribute compare functions for all tensors, and for what a model is for."""
    for name, factory, summary, options, facts in _FUNCTIONS:
        python = f"polycmp.comparator:CompareFunc.{name}"
        further = {"rejudges": True, **facts}
        yield CompareFuncSpec(name, summary, f"polycmp_checks.functions.{factory}", options, python=python, **further)
    yield CompareFuncSpec(
        name="topk_agreement",
        summary="Share of the K largest entries on which both sides agree",
        factory="polycmp_checks.metrics:TopkAgreement",
        options=TopkAgreementOptions,
        rejudges=True,
        larger_is_better=True,
    )
    yield CompareFuncSpec(
        name="kl_divergence",
        summary="Kullback-Leibler divergence of the distributions",
        factory="polycmp_checks.metrics:KlDivergence",
        options=KlDivergenceOptions,
        rejudges=True,
    )
    yield CompareFuncSpec(
        name="iou_match",
        summary="Share of boxes that overlap with one of the other side",
        factory="polycmp_checks.metrics:IouMatch",
        options=IouMatchOptions,
        rejudges=True,
        larger_is_better=True,
        any_shape=True,
    )


@hookimpl
def polycmp_services() -> Iterable[ServiceSpec]:
    """Contribute what runs leave to plugins."""
    yield ServiceSpec("averages", "Metrics averaged over the iterations", "polycmp_checks.averages:Averages")
    yield ServiceSpec("follow_ups", "Commands to type after a failure", "polycmp_checks.follow_ups.collect:FollowUps")
    yield ServiceSpec("postprocessing", "Functions applied to outputs", "polycmp_checks.postprocess:Postprocessing")
    yield ServiceSpec("rounding", "Tolerances from measured rounding", "polycmp_checks.rounding.floors:NoiseFloors")


@hookimpl
def polycmp_commands() -> Iterable[CommandSpec]:
    """Contribute the commands."""
    yield CommandSpec(
        ("check", "accuracy"),
        "Judge saved metrics with other tolerances.",
        "polycmp_checks.accuracy_command:accuracy_command",
        "Check what was saved.",
    )
    yield CommandSpec(
        ("invariants",),
        "Check backends against themselves, without a reference.",
        "polycmp_checks.invariants_command:invariants_command",
    )
    yield CommandSpec(
        ("selftest",), "Prove that a comparison can go red.", "polycmp_checks.selftest_command:selftest_command"
    )
