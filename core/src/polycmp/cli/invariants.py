"""`polycmp invariants`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from polycmp.cli.run import TableCommand, common_params, current_command
from polycmp.invariants.settings import CHECKS
from polycmp.plan.sections import REPORT_HELP, SECTIONS
from polycmp.spec import opt

if TYPE_CHECKING:
    from polycmp.cli.build import Given
    from polycmp.invariants.settings import Settings
    from polycmp.plan.build import Settings as Converted

EPILOG = (
    """\b
Needs no reference, and one backend is enough:
  polycmp invariants model.onnx -b onnxrt
  polycmp invariants model.onnx -b onnxrt:threads=4 -b onnx --checks repeat permute
Checks:
"""
    + "\n".join(f"  {name:13} {what}" for name, what in CHECKS.items())
    + """
Exit status: 0 all hold, 1 one does not, 2 wrong usage, 3 could not check."""
)


def _at_least_one(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError("it must be 1 or more")
    return value


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
    repeat: int = opt(5, help="How often the same inputs are given.", metavar="N", parse=_at_least_one)
    batch: int = opt(4, help="Rows of a batch that the model leaves open.", metavar="N", parse=_at_least_one)
    batch_axis: int | None = opt(
        None, help="The axis of the batch; by default the first, if its dimension is open.", parse=_not_negative
    )
    batch_dim: str = opt("", help="The name of the batch dimension.", metavar="NAME")
    exact: bool = opt(False, help="Outputs must be equal to the last bit.")
    report: tuple[str, ...] = opt((), help=REPORT_HELP, metavar="FILE")


COMMAND_SECTIONS: Mapping[str, type] = {
    "model": SECTIONS["model"],
    "data": SECTIONS["data"],
    "invariants": InvariantsSection,
    "log": SECTIONS["log"],
}


def _invariants(**_: Any) -> None:
    from polycmp.cli.build import build_plan, convert
    from polycmp.cli.carry import start_logging
    from polycmp.invariants.engine import check_invariants
    from polycmp.invariants.face import result_of
    from polycmp.report.progress import progress
    from polycmp.report.writers import find_writers, present

    ctx, command = current_command()
    given = command.given(ctx)
    settings = _with_infinities(convert(given, command.table, {**SECTIONS, **COMMAND_SECTIONS}))
    _check_usage(given, settings)
    plan = build_plan(given, settings, command.registry)
    writers = find_writers(settings.core["invariants"].report, command.registry, plan.report_options)
    start_logging(settings, ctx.params)
    with progress(silent=settings.core["log"].silent) as on_stage:
        findings = check_invariants(plan, command.registry, _how(settings), on_stage)
    ctx.exit(present(result_of(findings), writers, command.registry, verbose=ctx.params.get("verbose", 0) > 0))


def _check_usage(given: Given, settings: Converted) -> None:
    from polycmp.errors import UsageError

    section = settings.core["invariants"]
    if not given.backends:
        raise UsageError("no backend given", hint="polycmp invariants MODEL -b BACKEND")
    if section.batch_axis is not None and section.batch_dim:
        raise UsageError("--batch-axis and --batch-dim both say what the batch is", hint="give one")


def _with_infinities(settings: Converted) -> Converted:
    """Return the settings with infinities equal unless the user says otherwise: here it is the same computation.

    NaN is what it is for `run`: a backend that returns NaN everywhere agrees with itself, too.
    """
    from dataclasses import replace

    key = ("compare_func", "simple")
    given = {"infinities_compare_equal": True, **settings.by_owner.get(key, {})}
    return replace(settings, by_owner={**settings.by_owner, key: given})


def _how(settings: Converted) -> Settings:
    from polycmp.invariants.settings import Settings

    section, data = settings.core["invariants"], settings.core["data"]
    return Settings(
        checks=tuple(dict.fromkeys(section.checks)),
        repeat=section.repeat,
        batch=section.batch,
        batch_axis=section.batch_axis,
        batch_dim=section.batch_dim,
        exact=section.exact,
        shapes_given=bool(data.input_shapes or data.load_inputs or data.data_loader_script),
    )


invariants_command = TableCommand(
    "invariants",
    params=common_params(),
    callback=_invariants,
    help="Check backends against themselves: repeated, permuted, split, with other threads. Needs no reference.",
    epilog=EPILOG,
    sections=COMMAND_SECTIONS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
