"""`polycmp flaky`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from polycmp.command import BackendCommand, examples
from polycmp.spec import opt
from polycmp_checks.counts import at_least

if TYPE_CHECKING:
    from polycmp.command import Invocation


@dataclass(frozen=True)
class FlakySection:
    """Runs."""

    runs: int = opt(100, help="Number of runs on the same inputs.", metavar="N", parse=at_least(2))
    restart: bool = opt(
        False,
        help="Run as often with the backend started anew for each run, too; with --use-subprocess each time in a new "
        "process.",
    )


def _flaky(call: Invocation) -> int:
    from polycmp_checks.flaky.face import result_of
    from polycmp_checks.flaky.repeating import Repetitions, find_flaky

    call.needs_backends("polycmp flaky MODEL -b BACKEND")
    section = call.section(FlakySection)
    plan = call.plan()
    call.begin(plan)
    with call.progress() as on_stage:
        findings = find_flaky(plan, call.registry, Repetitions(section.runs, section.restart), on_stage)
    return call.present(result_of(findings))


flaky_command = BackendCommand(
    "flaky",
    _flaky,
    options=(
        "model",
        "data",
        FlakySection,
        "run.use_subprocess",
        "run.timeout",
        "run.max_memory",
        "result.report",
        "log",
    ),
    help="Run a backend again and again on the same inputs, and count the different results, bit by bit. Where there "
    "are several, name the first tensor in model order that differs."
    + examples(
        "polycmp flaky model.onnx -b onnxrt",
        "polycmp flaky model.onnx -b onnxrt --runs 1000 --restart",
    ),
    epilog="Exit status: 0 the same bits in all runs, 1 different results, 2 wrong usage, 3 could not run.",
)
