"""`polycmp selftest`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from polycmp.cli.run import TableCommand, common_params, current_command
from polycmp.plan.sections import SECTIONS
from polycmp.spec import opt
from polycmp.testing.plugin import FAULTS

if TYPE_CHECKING:
    from polycmp.cli.build import Given
    from polycmp.plan import Plan
    from polycmp.plan.build import Settings
    from polycmp.testing.selftest import SelfTest

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

STYLES = {"seen": "green", "unseen": "red", "skipped": "dim", "error": "yellow"}
MARKS = {"seen": "ok", "unseen": "FAIL", "skipped": "-", "error": "error"}
VERDICTS = {0: "passed", 1: "failed"}


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
    report: tuple[str, ...] = opt((), help="Write what was found as .json.", metavar="FILE")


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
    from polycmp.testing.selftest import run_selftest

    ctx, command = current_command()
    given = command.given(ctx)
    settings = convert(given, command.table, {**SECTIONS, **COMMAND_SECTIONS})
    plan = _plan(given, settings, command)
    start_logging(settings, ctx.params)
    section = settings.core["selftest"]
    found = []
    with progress(silent=settings.core["log"].silent) as on_stage:
        for backend in plan.backends:
            alone = replace(plan, backends=(backend,))
            found.append(run_selftest(alone, command.registry, section.faults, section.at, on_stage))
    status = max((item.exit_code for item in found), default=0)
    _show(found, status)
    _write(found, status, given.command, section.report)
    ctx.exit(status)


def _plan(given: Given, settings: Settings, command: TableCommand) -> Plan:
    from polycmp.builtin import STRESS_COMPARE, StressOptions
    from polycmp.cli.build import build_plan
    from polycmp.errors import UsageError
    from polycmp.plan import Choice
    from polycmp.testing.selftest import BUILT_IN_MODEL

    for path in settings.core["selftest"].report:
        if not path.lower().endswith(".json"):
            raise UsageError("--report: what a self-test finds is written as .json only", whose=path)
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


def _show(found: list[SelfTest], status: int) -> None:
    from polycmp.report.screen import STYLES as VERDICT_STYLES
    from polycmp.report.screen import Sentence, cell, make_console, make_table, words

    console = make_console()
    for item in found:
        table = make_table(("", "Fault", "At", "What the comparison says"), item.label)
        mark = {True: "seen", False: "unseen", None: "error"}[item.agrees]
        table.add_row(cell(MARKS[mark], STYLES[mark]), "none", "", words(item.reason or "equal to itself"))
        for trial in item.trials:
            shown = cell(MARKS[trial.status], STYLES[trial.status])
            table.add_row(shown, cell(trial.fault), cell(trial.at), words(trial.reason))
        console.print(table)
    console.print(Sentence(_summary(found), VERDICT_STYLES[VERDICTS.get(status, "error")]))


def _summary(found: list[SelfTest]) -> str:
    statuses: list[str] = [trial.status for item in found for trial in item.trials]
    count = {status: statuses.count(status) for status in MARKS}
    skipped = f", {count['skipped']} cannot show in this model on these inputs" if count["skipped"] else ""
    if any(item.agrees is None for item in found):
        return "COULD NOT TEST: a backend failed without any fault"
    if count["error"]:
        return f"COULD NOT TEST EVERYTHING: {count['error']} of {len(statuses)} faults could not be tried"
    if not all(item.agrees for item in found):
        return "FAILED: a backend does not agree with itself"
    if count["unseen"]:
        return f"FAILED: {count['unseen']} of {len(statuses)} faults go unseen{skipped}"
    if not count["seen"]:
        return "COULD NOT TEST: no fault shows in this model on these inputs"
    return f"PASSED: {count['seen']} of {len(statuses)} faults are seen{skipped}"


def _write(found: list[SelfTest], status: int, command: str, paths: tuple[str, ...]) -> None:
    from polycmp.files import write_document

    report = {
        "schema": 1,
        "verdict": VERDICTS.get(status, "error"),
        "exit_code": status,
        "command": command,
        "selftest": {item.label: item.to_json() for item in found},
    }
    for path in paths:
        write_document(path, report)


selftest_command = TableCommand(
    "selftest",
    params=common_params(),
    callback=_selftest,
    help="Prove that a comparison can go red: wrap backends in known faults, and see that each is seen.",
    epilog=EPILOG,
    sections=COMMAND_SECTIONS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
