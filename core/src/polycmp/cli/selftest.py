"""`polycmp selftest`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from polycmp.cli.run import TableCommand, common_params, current_command
from polycmp.plan.sections import REPORT_HELP, SECTIONS
from polycmp.spec import opt
from polycmp.testing.plugin import FAULTS

if TYPE_CHECKING:
    from polycmp.cli.build import Given
    from polycmp.plan import Plan
    from polycmp.plan.build import Settings

EPILOG = (
    """\b
Without MODEL a small built-in one is used:
  polycmp selftest -b onnxrt
  polycmp selftest model.onnx -b onnxrt --atol 1e-2 --faults fp16 row-noise
Faults:
"""
    + "\n".join(f"  {name:10} {what}" for name, what in FAULTS.items())
    + """
Exit status: 0 all faults are seen, 1 one is not, 2 wrong usage, 3 could not be found out."""
)


def _seconds(text: str) -> float:
    value = float(text)
    if not value > 0:
        raise ValueError("it must be above zero")
    return value


@dataclass(frozen=True)
class SelftestSection:
    """Self-test."""

    faults: tuple[str, ...] = opt(
        tuple(FAULTS), help="Faults to try; all by default.", choices=tuple(FAULTS), metavar="NAME"
    )
    at: str = opt(
        "",
        help="The operator that goes wrong: its name, or a tensor that it makes; by default one that shows the fault.",
        metavar="NAME",
    )
    timeout: float = opt(
        10.0, help="Seconds after which a hung backend is given up.", metavar="SECONDS", parse=_seconds
    )
    report: tuple[str, ...] = opt((), help=REPORT_HELP, metavar="FILE")


COMMAND_SECTIONS: Mapping[str, type] = {
    "model": SECTIONS["model"],
    "data": SECTIONS["data"],
    "selftest": SelftestSection,
    "compare": SECTIONS["compare"],
    "log": SECTIONS["log"],
}


def _selftest(**_: Any) -> None:
    from polycmp.cli.build import convert
    from polycmp.cli.carry import start_logging
    from polycmp.report.progress import progress
    from polycmp.report.writers import find_writers, present
    from polycmp.testing.selftest import run_selftest
    from polycmp.testing.selftest_face import result_of

    ctx, command = current_command()
    given = command.given(ctx)
    settings = convert(given, command.table, {**SECTIONS, **COMMAND_SECTIONS})
    plan = _plan(given, settings, command)
    section = settings.core["selftest"]
    writers = find_writers(section.report, command.registry, plan.report_options)
    start_logging(settings, ctx.params)
    found = []
    with progress(silent=settings.core["log"].silent) as on_stage:
        for backend in plan.backends:
            alone = replace(plan, backends=(backend,))
            found.append(run_selftest(alone, command.registry, section.faults, section.at, on_stage))
    result = result_of(found, given.command)
    ctx.exit(present(result, writers, command.registry, verbose=ctx.params.get("verbose", 0) > 0))


def _plan(given: Given, settings: Settings, command: TableCommand) -> Plan:
    from polycmp.builtin import STRESS_COMPARE, StressOptions
    from polycmp.cli.build import build_plan
    from polycmp.errors import UsageError
    from polycmp.plan import Choice
    from polycmp.testing.selftest import BUILT_IN_MODEL

    if not given.backends:
        raise UsageError("no backend given", hint="polycmp selftest -b BACKEND")
    key = ("compare_func", "simple")
    simple = {**STRESS_COMPARE["simple"], **settings.by_owner.get(key, {})}
    simple.pop("scale_atol")  # nothing large is fed here
    settings = replace(settings, by_owner={**settings.by_owner, key: simple})
    plan = build_plan(replace(given, model=given.model or str(BUILT_IN_MODEL)), settings, command.registry)
    if any(backend.python for backend in plan.backends):
        raise UsageError("a self-test takes backends of this environment only", hint="leave python=… out")
    if not any(item.kind == "data_loader" or item.owner == "data" for item in given.values):
        loader = Choice("stress", StressOptions(kinds=("signed", "boundary"), seeds=(1,), sizes=(3,)))
        plan = replace(plan, data=replace(plan.data, loader=loader))
    compare = replace(plan.compare, reference="")
    return replace(plan, compare=compare, timeout=settings.core["selftest"].timeout)


selftest_command = TableCommand(
    "selftest",
    params=common_params(),
    callback=_selftest,
    help="Prove that a comparison can go red: wrap backends in known faults, and see that each is seen.",
    epilog=EPILOG,
    sections=COMMAND_SECTIONS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
