"""`polycmp invariants`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from polycmp.command import BackendCommand, examples
from polycmp.plan import DataSection
from polycmp.spec import opt
from polycmp_checks.counts import at_least
from polycmp_checks.invariants.settings import CHECKS, OF_STEPS

if TYPE_CHECKING:
    from polycmp.command import Invocation
    from polycmp.options import OptionValues
    from polycmp_checks.invariants.settings import CheckSettings

EPILOG = (
    """\b
Checks:
"""
    + "\n".join(f"  {name:13} {what}" for name, what in CHECKS.items())
    + """
Exit status: 0 all hold, 1 one does not, 2 wrong usage, 3 could not check."""
)


def _not_negative(text: str) -> int:
    value = int(text)
    if value < 0:
        raise ValueError("it must not be negative; count axes from the front, beginning with 0")
    return value


@dataclass(frozen=True)
class InvariantsSection:
    """Invariants."""

    checks: tuple[str, ...] = opt(
        tuple(CHECKS), help="Checks to make; all by default.", choices=tuple(CHECKS), metavar="NAME"
    )
    repeat: int = opt(5, help="Number of runs on the same inputs.", metavar="N", parse=at_least(1))
    batch: int = opt(4, help="Size of a batch dimension that the model leaves open.", metavar="N", parse=at_least(1))
    batch_axis: int | None = opt(
        None, help="Axis of the batch; by default the first, if its dimension is open.", parse=_not_negative
    )
    batch_dim: str = opt("", help="Name of the batch dimension.", metavar="NAME")
    exact: bool = opt(False, help="Require outputs that are equal bit by bit.")


def _invariants(call: Invocation) -> int:
    from polycmp_checks.invariants.checking import check_invariants
    from polycmp_checks.invariants.face import result_of

    options = _with_infinities(call.options)
    _check_usage(call)
    plan = call.plan(options=options)
    call.begin(plan)
    with call.progress() as on_stage:
        findings = check_invariants(plan, call.registry, _how(call, bool(plan.data.followers)), on_stage)
    return call.present(result_of(findings))


def _check_usage(call: Invocation) -> None:
    from polycmp.errors import UsageError

    call.needs_backends("polycmp invariants MODEL -b BACKEND")
    section = call.section(InvariantsSection)
    if section.batch_axis is not None and section.batch_dim:
        raise UsageError("--batch-axis and --batch-dim both choose the batch", hint="give only one")


def _with_infinities(options: OptionValues) -> OptionValues:
    """Return the options with infinities equal by default, since both sides are the same computation.

    NaN is what it is for `run`: a backend that returns NaN everywhere agrees with itself, too.
    """
    simple = {"infinities_compare_equal": True, **options.of("compare_func", "simple")}
    return options.replaced("compare_func", "simple", simple)


def _how(call: Invocation, steps: bool) -> CheckSettings:
    from polycmp_checks.invariants.settings import CheckSettings

    section, data = call.section(InvariantsSection), call.section(DataSection)
    every = steps or section.checks != tuple(CHECKS)
    return CheckSettings(
        checks=tuple(name for name in dict.fromkeys(section.checks) if every or name not in OF_STEPS),
        repeat=section.repeat,
        batch=section.batch,
        batch_axis=section.batch_axis,
        batch_dim=section.batch_dim,
        exact=section.exact,
        fixed_feed=bool(data.input_shapes or data.load_inputs or data.data_loader_script),
    )


invariants_command = BackendCommand(
    "invariants",
    _invariants,
    options=("model", "data", InvariantsSection, "result.report", "log"),
    help="Check backends against themselves: run again, with the batch permuted or split, with other numbers of "
    "threads. Needs no reference; one backend is enough."
    + examples(
        "polycmp invariants model.onnx -b onnxrt",
        "polycmp invariants model.onnx -b onnxrt:threads=4 -b onnx --checks repeat permute",
    ),
    epilog=EPILOG,
)
