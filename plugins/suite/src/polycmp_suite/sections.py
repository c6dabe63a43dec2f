"""The options of `polycmp suite`, by section."""

from __future__ import annotations

from dataclasses import dataclass

from polycmp.spec import opt, parse_above_zero, parse_size


def _jobs(text: str) -> str:
    if text != "auto" and int(text) < 1:
        raise ValueError("a number from 1, or auto")
    return text


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError("a number from 1")
    return value


@dataclass(frozen=True)
class ChoiceSection:
    """Choice of cases."""

    select: str = opt("", help="-k: run only cases whose names or tags match: words, and, or, not, ().", metavar="EXPR")
    tag: tuple[str, ...] = opt((), help="Run only cases with one of these tags.", metavar="TAG")
    list: bool = opt(False, help="List the cases and stop.")
    dry_run: bool = opt(False, help="Show the command line of each case and stop.")
    failed_first: bool = opt(False, help="Begin with the cases that failed last time.")
    exitfirst: bool = opt(False, help="Stop at the first failure.", alias="-x")
    resume: bool = opt(
        False, help="Go on with the latest run: cases that have ended and are unchanged are not run again."
    )


@dataclass(frozen=True)
class RunningSection:
    """Running."""

    jobs: str = opt(
        "",
        help="-j: cases at the same time; auto: as many as cores. By default 1, on a cluster as many as it can take.",
        metavar="N|auto",
        parse=_jobs,
    )
    memory: int = opt(
        0,
        help="Memory that cases running at the same time may reserve together; by default the machine's.",
        metavar="BYTES",
        parse=parse_size,
    )
    gpus: str = opt("", help="Number of GPUs for cases, or a list of them (0,3); by default all.", metavar="N|LIST")
    provide: tuple[str, ...] = opt((), help="Other resources of the machine, for the `needs` of cases.", metavar="NAME")
    executor: str = opt("local", help="Executor of the cases: local, ray, or one of a plugin.", metavar="NAME")
    address: str = opt(
        "", help="Address of an existing cluster; by default one is started on this machine.", metavar="ADDRESS"
    )


@dataclass(frozen=True)
class TrustSection:
    """Permissions of SUITE.toml."""

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
        0, help="Keep this many runs in the folder of results and remove older ones.", metavar="N", parse=_count
    )
    history: str = opt("", help="Also append the results to this SQLite file.", metavar="FILE", writes=True)
    baseline: str = opt("", help="Compare with this run, folder of runs, or SQLite file.", metavar="RUNS")
    max_slowdown: float = opt(
        0.0,
        help="With --baseline: fail where an inference takes longer than so many times the median of past runs, "
        "beyond their noise.",
        metavar="FACTOR",
        parse=parse_above_zero,
    )
