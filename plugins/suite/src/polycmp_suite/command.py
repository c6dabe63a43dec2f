"""`polycmp suite SUITE.toml|FOLDER`, with `polycmp suite merge`, `diff` and `schema` beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from polycmp.command import BackendCommand, common_params, examples
from polycmp_suite.sections import ChoiceSection, FolderSection, HistorySection, RunningSection, TrustSection

if TYPE_CHECKING:
    from polycmp.command import Invocation

SUITE_EXAMPLES = examples(
    "polycmp suite nightly.toml -j 4 --report junit.xml summary.md",
    "polycmp suite nightly.toml -k 'resnet and not fp16' --failed-first -x",
    "polycmp suite nightly.toml --resume",
    "polycmp suite models -b onnxrt -b onnx -j auto",
    "polycmp suite nightly.toml --shard auto   # each job of a CI; then: polycmp suite merge",
    "polycmp suite diff OLD NEW          # what changed between two runs",
)
EPILOG = """\b
Exit status: 0 all as expected, 1 a case differs or is worse than the baseline, 2 wrong usage, 3 a case could not be
compared, 130 interrupted (finished cases are kept; continue with --resume)."""


def _suite(call: Invocation) -> int:
    from polycmp_suite.work import run_suite

    return run_suite(call)


run_command = BackendCommand(
    "run",
    _suite,
    options=(FolderSection, ChoiceSection, RunningSection, TrustSection, HistorySection, "result.report", "log"),
    plugins=("report",),
    params=[click.Argument(["suite"], metavar="SUITE.toml|FOLDER"), *common_params()[1:]],
    help="Run the cases of SUITE.toml, or compare each model of FOLDER, and print one verdict." + SUITE_EXAMPLES,
    epilog=EPILOG,
)


#: Short names of options that take a value. Only switches can have them where options are declared.
_SHORT = {"-j": "--jobs", "-k": "--select"}


class SuiteGroup(click.Group):
    """`suite` with its further words; without any of them it runs a suite."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse; what is no word of the group's belongs to `run`."""
        if not args or args[0] not in self.commands:
            args = ["run", *(args or ["--help"])]
        return super().parse_args(ctx, [word for arg in args for word in _long(arg)])


def _long(word: str) -> list[str]:
    """Return a word with the long name of its option."""
    flag, value = word[:2], word[2:].removeprefix("=")
    if flag not in _SHORT:
        return [word]
    return [_SHORT[flag], *([value] if value else [])]


def _commands() -> dict[str, Any]:
    from polycmp_suite.diff_command import diff_command
    from polycmp_suite.merge_command import merge_command
    from polycmp_suite.schema_command import schema_command

    return {"run": run_command, "merge": merge_command, "diff": diff_command, "schema": schema_command}


suite_command = SuiteGroup(
    "suite", commands=_commands(), help="Run many models on many backends, with one verdict." + SUITE_EXAMPLES
)
