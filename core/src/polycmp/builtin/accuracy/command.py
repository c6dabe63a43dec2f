"""`polycmp check accuracy`."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from polycmp.command import BackendCommand, examples, verbosity_params
from polycmp.spec import opt

if TYPE_CHECKING:
    from polycmp.builtin.accuracy.reevaluate import Criteria
    from polycmp.command import Invocation

HELP = (
    "Judge the metrics in FILE again with other tolerances or, without options, with those they were saved with. "
    "`polycmp run --save-accuracy-results` writes such files."
) + examples(
    "polycmp run model.onnx -b onnxrt -b onnx --save-accuracy-results metrics.json",
    "polycmp check accuracy metrics.json --atol 1e-3",
)
EPILOG = """\b
Exit status: 0 equal, 1 different, 2 wrong usage, 3 could not be judged."""


@dataclass(frozen=True)
class JudgeSection:
    """Judging."""

    compare: tuple[str, ...] = opt(
        (), help="Judge only the metrics of these compare functions.", alias="--compare-func", metavar="NAME"
    )
    check_average: bool = opt(
        False, help="Judge the mean of each metric over all iterations instead of every single iteration."
    )
    fail_fast: bool = opt(False, help="Stop at the first failure.")
    allow_blind: tuple[str, ...] = opt(
        (),
        help="Outputs, by name or pattern, that pass even if nothing could have differed (BLIND); all of them if "
        "none is named.",
        metavar="[OUTPUT]",
        bare="*",
    )
    save_accuracy_results: str = opt(
        "", help="Save the metrics with the new tolerances and verdicts.", metavar="FILE", writes=True
    )


def _accuracy(call: Invocation) -> int:
    # None of this is needed for a help text, which has to come at once.
    from polycmp.builtin.accuracy.metrics_file import load_metrics, save_metrics
    from polycmp.builtin.accuracy.reevaluate import judge_file, judged_metrics

    file, command = call.params["file"], call.options.command
    criteria = _criteria(call)
    call.begin(reads=[("FILE", file)])
    start = time.perf_counter()
    content = load_metrics(file)
    outcome = judge_file(content, criteria, call.registry, file)
    outcome.command, outcome.seconds = command, time.perf_counter() - start
    save_as = call.section(JudgeSection).save_accuracy_results
    if save_as:
        save_metrics(judged_metrics(content, criteria, call.registry, command), save_as)
    return call.present(call.result_of(outcome, "check accuracy"))


def _criteria(call: Invocation) -> Criteria:
    from polycmp.builtin.accuracy.reevaluate import Criteria

    judge = call.section(JudgeSection)
    options = call.options.of_kind("compare_func")
    return Criteria(
        tuple(dict.fromkeys(judge.compare)), options, judge.check_average, judge.fail_fast, judge.allow_blind
    )


accuracy_command: BackendCommand = BackendCommand(
    "accuracy",
    _accuracy,
    options=(JudgeSection, "result.report", "log"),
    plugins=("compare_func", "report"),
    unfolded=("compare_func",),
    params=[
        click.Argument(["file"]),
        *verbosity_params("more messages and all outputs"),
    ],
    help=HELP,
    epilog=EPILOG,
)
