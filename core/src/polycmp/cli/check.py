"""`polycmp check`."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import click

from polycmp.cli.contributed import ContributedGroup
from polycmp.cli.run import TableCommand, current_command
from polycmp.plan.flags import FlagTable, build_table
from polycmp.plan.sections import REPORT_HELP, LogSection
from polycmp.plugins import Registry
from polycmp.spec import opt

if TYPE_CHECKING:
    from polycmp.accuracy.reevaluate import Judgement
    from polycmp.plan.build import Settings

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


@dataclass(frozen=True)
class FileSection:
    """Results."""

    report: tuple[str, ...] = opt((), help=REPORT_HELP, metavar="FILE")
    save_accuracy_results: str = opt("", help="Save the metrics with the new verdicts.", metavar="FILE")


SECTIONS: Mapping[str, type] = {"judge": JudgeSection, "file": FileSection, "log": LogSection}


class AccuracyCommand(TableCommand):
    """A command with the options of the compare functions."""

    @cached_property
    def table(self) -> FlagTable:
        """The options."""
        full = build_table(self.registry, SECTIONS, watching=self.watching)
        targets = {
            key: target for key, target in full.targets.items() if key.kind in {"core", "compare_func", "report"}
        }
        by_flag = {flag: target for flag, target in full.by_flag.items() if target.key in targets}
        shown = {target.section for target in targets.values()}
        sections = {heading: text for heading, text in full.sections.items() if heading in shown}
        return FlagTable(targets, by_flag, {}, full.refused, sections)


def _accuracy(file: str, **_: Any) -> None:
    # None of this is needed for a help text, which has to come at once.
    from polycmp.accuracy.metrics_file import load_metrics, save_metrics
    from polycmp.accuracy.reevaluate import judge_file, judged_metrics
    from polycmp.cli.build import convert
    from polycmp.cli.carry import start_logging
    from polycmp.cli.paths import refuse_collisions
    from polycmp.plan.build import report_options
    from polycmp.report.run_result import result_of
    from polycmp.report.writers import find_writers, present

    ctx, command = current_command()
    given = command.given(ctx)
    settings = convert(given, command.table, SECTIONS)
    files = settings.core["file"]
    writers = find_writers(files.report, command.registry, report_options(settings, command.registry))
    refuse_collisions(settings, others=[("FILE", file)])
    start_logging(settings, ctx.params)
    start = time.perf_counter()
    content = load_metrics(file)
    judgement = _judgement(settings)
    outcome = judge_file(content, judgement, command.registry, file)
    outcome.command, outcome.seconds = given.command, time.perf_counter() - start
    if files.save_accuracy_results:
        save_metrics(judged_metrics(content, judgement, command.registry, given.command), files.save_accuracy_results)
    result = result_of(outcome, "check accuracy")
    ctx.exit(present(result, writers, command.registry, verbose=ctx.params.get("verbose", 0) > 0))


def _judgement(settings: Settings) -> Judgement:
    from polycmp.accuracy.reevaluate import Judgement

    judge = settings.core["judge"]
    options = {owner: values for (kind, owner), values in settings.by_owner.items() if kind == "compare_func"}
    return Judgement(tuple(dict.fromkeys(judge.compare)), options, judge.check_average, judge.fail_fast)


accuracy_command = AccuracyCommand(
    "accuracy",
    params=[
        click.Argument(["file"]),
        click.Option(["-v", "--verbose"], count=True, help="More messages and all outputs; may repeat."),
        click.Option(["-q", "--quiet"], count=True, help="Fewer messages; may repeat."),
    ],
    callback=_accuracy,
    help="Judge the metrics in FILE, which `polycmp run --save-accuracy-results` wrote, with other tolerances.",
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)


class CheckGroup(click.Group):
    """The commands below `check`: the core's, and those of plugins, which are looked up when they are needed."""

    @cached_property
    def _all(self) -> ContributedGroup:
        return ContributedGroup(("check",), Registry.discover(), dict(self.commands))

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the words that may come next."""
        return self._all.list_commands(ctx)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command of the core or of a plugin."""
        return self.commands.get(cmd_name) or self._all.get_command(ctx, cmd_name)


check_command = CheckGroup(
    "check", commands={"accuracy": accuracy_command}, help="Check what was saved, and more that plugins bring."
)
