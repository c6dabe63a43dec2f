"""`polycmp suite SUITE.toml`, and `polycmp suite diff OLD NEW` beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from polycmp.command import BackendCommand, examples
from polycmp.spec import opt
from polycmp.values import parse_size

if TYPE_CHECKING:
    from polycmp.command import Invocation

SUITE_EXAMPLES = examples(
    "polycmp suite nightly.toml -j 4 --report junit.xml summary.md",
    "polycmp suite nightly.toml -k 'resnet and not fp16' --failed-first -x",
    "polycmp suite nightly.toml --resume",
    "polycmp suite diff OLD NEW          # what changed between two runs",
)
EPILOG = """\b
Exit status: 0 all as expected, 1 a case differs or is worse than the baseline, 2 wrong usage, 3 a case could not be
compared, 130 interrupted (finished cases are kept; go on with --resume)."""


def _jobs(text: str) -> str:
    if text != "auto" and int(text) < 1:
        raise ValueError("a number from 1, or auto")
    return text


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError("a number from 1")
    return value


def _factor(text: str) -> float:
    value = float(text)
    if not value > 0:
        raise ValueError("it must be above zero")
    return value


@dataclass(frozen=True)
class ChoiceSection:
    """Which cases."""

    select: str = opt("", help="-k: only cases whose names or tags fit: words, and, or, not, ().", metavar="EXPR")
    tag: tuple[str, ...] = opt((), help="Only cases with one of these tags.", metavar="TAG")
    list: bool = opt(False, help="Show the cases and stop.")
    dry_run: bool = opt(False, help="Show the command line of each case and stop.")
    failed_first: bool = opt(False, help="Begin with what failed the last time.")
    exitfirst: bool = opt(False, help="Stop at the first failure.", alias="-x")
    resume: bool = opt(
        False, help="Go on with the latest run: cases that have ended and are unchanged are not run again."
    )


@dataclass(frozen=True)
class RunningSection:
    """Running."""

    jobs: str = opt(
        "",
        help="-j: cases at the same time; auto: as many as cores. By default 1, and on a cluster what it has room for.",
        metavar="N|auto",
        parse=_jobs,
    )
    memory: int = opt(
        0,
        help="Memory that cases running at the same time may reserve together; by default the machine's.",
        metavar="BYTES",
        parse=parse_size,
    )
    gpus: str = opt("", help="How many GPUs there are for cases, or which (0,3); by default all.", metavar="N|LIST")
    provide: tuple[str, ...] = opt((), help="What the machine has besides, for the `needs` of cases.", metavar="NAME")
    executor: str = opt("local", help="Who runs the cases: local, ray, or a plugin's.", metavar="NAME")
    address: str = opt(
        "", help="The address of an existing cluster; by default one of this machine's own.", metavar="ADDRESS"
    )


@dataclass(frozen=True)
class TrustSection:
    """What SUITE.toml may do."""

    no_scripts: bool = opt(
        False, help="Refuse a suite that names code to run: scripts, libraries of operators, other interpreters."
    )
    allow_writes: bool = opt(False, help="Let cases write outside of the suite's folder, too.")


@dataclass(frozen=True)
class HistorySection:
    """Results and history."""

    results: str = opt(
        "", help="Folder for results; by default SUITE-results beside the suite.", metavar="DIR", writes=True
    )
    keep: int = opt(
        0, help="Keep so many runs in the folder of results and remove older ones.", metavar="N", parse=_count
    )
    history: str = opt("", help="Also append the results to this SQLite file.", metavar="FILE", writes=True)
    baseline: str = opt("", help="Compare with this run, folder of runs, or SQLite file.", metavar="RUNS")
    max_slowdown: float = opt(
        0.0,
        help="With --baseline: fail where an inference takes longer than so many times the median of past runs, "
        "beyond their noise.",
        metavar="FACTOR",
        parse=_factor,
    )


def _suite(call: Invocation) -> int:
    from polycmp_suite.work import run_suite

    return run_suite(call)


run_command = BackendCommand(
    "run",
    _suite,
    options=(ChoiceSection, RunningSection, TrustSection, HistorySection, "result.report", "log"),
    plugins=("report",),
    params=[
        click.Argument(["suite"], metavar="SUITE.toml"),
        click.Option(["-v", "--verbose"], count=True, help="Show every case; may repeat."),
        click.Option(["-q", "--quiet"], count=True, help="Fewer messages; may repeat."),
    ],
    help="Run the cases of SUITE.toml, each in a process of its own, and give one answer." + SUITE_EXAMPLES,
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
        return super().parse_args(ctx, [word for given in args for word in _long(given)])


def _long(word: str) -> list[str]:
    """Return a word with the long name of its option."""
    flag, value = word[:2], word[2:].removeprefix("=")
    if flag not in _SHORT:
        return [word]
    return [_SHORT[flag], *([value] if value else [])]


def _commands() -> dict[str, Any]:
    from polycmp_suite.diff_command import diff_command

    return {"run": run_command, "diff": diff_command}


suite_command = SuiteGroup(
    "suite", commands=_commands(), help="Run many models on many backends, with one answer." + SUITE_EXAMPLES
)
