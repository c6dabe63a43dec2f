"""`polycmp check accuracy`."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from polycmp.command import BackendCommand
from polycmp.plan.sections import ResultSection
from polycmp.spec import opt

if TYPE_CHECKING:
    from polycmp.accuracy.reevaluate import Judgement
    from polycmp.command import Invocation

EPILOG = """\b
Without options every metric is judged with the tolerances that it was saved with.
  polycmp run model.onnx -b onnxrt -b onnx --save-accuracy-results metrics.json
  polycmp check accuracy metrics.json --atol 1e-3
Exit status: 0 equal, 1 different, 2 wrong usage, 3 could not be judged."""


@dataclass(frozen=True)
class JudgeSection:
    """Judging."""

    compare: tuple[str, ...] = opt(
        (), help="Only the metrics of these compare functions.", alias="--compare-func", metavar="NAME"
    )
    check_average: bool = opt(
        False, help="Judge the mean of each metric over the iterations instead of each iteration."
    )
    fail_fast: bool = opt(False, help="Stop at the first failure.")


def _accuracy(call: Invocation) -> int:
    # None of this is needed for a help text, which has to come at once.
    from polycmp.accuracy.metrics_file import load_metrics, save_metrics
    from polycmp.accuracy.reevaluate import judge_file, judged_metrics
    from polycmp.report.run_result import result_of

    file, command = call.params["file"], call.given.command
    judgement = _judgement(call)
    call.begin(reads=[("FILE", file)])
    start = time.perf_counter()
    content = load_metrics(file)
    outcome = judge_file(content, judgement, call.registry, file)
    outcome.command, outcome.seconds = command, time.perf_counter() - start
    save_as = call.section(ResultSection).save_accuracy_results
    if save_as:
        save_metrics(judged_metrics(content, judgement, call.registry, command), save_as)
    return call.present(result_of(outcome, "check accuracy"))


def _judgement(call: Invocation) -> Judgement:
    from polycmp.accuracy.reevaluate import Judgement

    judge = call.section(JudgeSection)
    options = call.settings.of_kind("compare_func")
    return Judgement(tuple(dict.fromkeys(judge.compare)), options, judge.check_average, judge.fail_fast)


accuracy_command = BackendCommand(
    "accuracy",
    _accuracy,
    options=(JudgeSection, "result.report", "result.save_accuracy_results", "log"),
    plugins=("compare_func", "report"),
    params=[
        click.Argument(["file"]),
        click.Option(["-v", "--verbose"], count=True, help="More messages and all outputs; may repeat."),
        click.Option(["-q", "--quiet"], count=True, help="Fewer messages; may repeat."),
    ],
    help="Judge the metrics in FILE, which `polycmp run --save-accuracy-results` wrote, with other tolerances.",
    epilog=EPILOG,
)
