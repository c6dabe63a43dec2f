"""Contributions of this package. Light: only the standard library and `polycmp.spec` are imported here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from polycmp.spec import (
    CommandSpec,
    DataLoaderSpec,
    DataLoaderTools,
    ObserverSpec,
    RunnerSpec,
    ToleranceSpec,
    hookimpl,
    names_script,
    opt,
    parse_count,
)
from polycmp_checks.stress.options import COMPARE_DEFAULTS, COMPARE_NOTES, StressOptions

FAULTS: Mapping[str, str] = {
    "fp16": "results are rounded to float16",
    "int32": "results lose what a 32-bit integer cannot hold: fractions and the upper bits",
    "saturate": "results are clipped at half of the largest magnitude",
    "ties": "halves are rounded away from zero instead of to even (Round, QuantizeLinear)",
    "nan": "NaN in the results becomes 0",
    "layout": "results are laid out as if the last axis came before the others",
    "shuffle": "the first input is read in reverse order along its last axis",
    "row-noise": "results are off by up to one per cent, by a different share in each row of the batch",
    "crash": "the process is killed by a signal",
    "hang": "it never returns",
}
#: Faults that end the process or never end: they need a process of their own.
FATAL = ("crash", "hang")


@dataclass(frozen=True)
class FaultyOptions:
    """Options of the backend `faulty`."""

    backend: str = opt("", help="Backend to wrap.", metavar="NAME")
    fault: str = opt("", help=f"Kind of fault: {', '.join(FAULTS)}.", choices=tuple(FAULTS))
    at: str = opt("", help="Operator with the fault: its name, or a tensor that it computes.", metavar="NAME")
    wrapped: Mapping[str, str] = opt({}, help="Options of the wrapped backend.", metavar="KEY:VALUE", executes=True)

    def __post_init__(self) -> None:
        for field in ("backend", "fault", "at"):
            if not getattr(self, field):
                raise ValueError(f"{field} is missing: -b faulty:backend=NAME,fault=FAULT,at=OPERATOR")


@dataclass(frozen=True)
class StepsOptions:
    """State that goes round."""

    number: int = opt(
        0,
        help="Number of steps; each one is fed with outputs of the step before.",
        alias="--steps",
        metavar="N",
        parse=parse_count,
    )
    state: tuple[str, ...] = opt(
        (),
        help="Which outputs become which inputs of the next step: a regular expression for the whole name of the "
        "output, and the name of the input, for example 'present\\.(.*)=past_key_values.\\1'. By default by the names "
        "that decoders use.",
        alias="--state",
        metavar="OUTPUT=INPUT",
    )
    feed: tuple[str, ...] = opt(
        (),
        help="What any other input holds in the next step: argmax(OUTPUT), own_argmax(OUTPUT), ones, count, keep, "
        "or FILE.py:NAME. Decoders need none: input_ids, attention_mask and position_ids are known.",
        alias="--feed",
        metavar="INPUT=RULE",
        executes=names_script,
    )


@dataclass(frozen=True)
class VoteOptions:
    """A vote among three runs or more."""

    asked: bool = opt(
        False,
        help="Compare each two runs, of three or more, and name the one that disagrees with all others.",
        alias="--vote",
    )


@hookimpl
def polycmp_run_observers() -> Iterable[ObserverSpec]:
    """Contribute a vote among runs."""
    yield ObserverSpec("vote", "Names the run that is alone", "polycmp_checks.vote:make_vote", options=VoteOptions)


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
        tools="polycmp_checks.plugin:StressTools",
    )
    yield DataLoaderSpec(
        "steps",
        "Outputs that are inputs of the next step: caches, recurrent and streaming models",
        "polycmp_checks.steps.feedback:make_steps",
        StepsOptions,
        follows=True,
    )


class StressTools(DataLoaderTools):
    """Made-up inputs in sizes of their own, extreme enough to need other tolerances."""

    synthetic = True
    sweeps_shapes = True
    compare_defaults = COMPARE_DEFAULTS
    compare_notes = COMPARE_NOTES


@hookimpl
def polycmp_tolerances() -> Iterable[ToleranceSpec]:
    """Contribute the tolerances of profiles."""
    yield ToleranceSpec(
        "profile",
        "Tolerances that polycmp calibrate measured",
        "polycmp_checks.profiles.tolerances:ProfileTolerances",
        suffix=".toml",
    )


@hookimpl
def polycmp_commands() -> Iterable[CommandSpec]:
    """Contribute the commands."""
    yield CommandSpec(
        ("invariants",),
        "Check backends against themselves, without a reference.",
        "polycmp_checks.invariants_command:invariants_command",
        purpose="guard",
    )
    yield CommandSpec(
        ("selftest",),
        "Prove that a comparison can fail.",
        "polycmp_checks.selftest_command:selftest_command",
        purpose="guard",
    )
    yield CommandSpec(
        ("flaky",),
        "Run a backend again and again, and name the first tensor that differs.",
        "polycmp_checks.flaky_command:flaky_command",
        purpose="find",
    )
    yield CommandSpec(
        ("calibrate",),
        "Measure tolerances with backends that are known to be right.",
        "polycmp_checks.calibrate_command:calibrate_command",
        purpose="guard",
    )
