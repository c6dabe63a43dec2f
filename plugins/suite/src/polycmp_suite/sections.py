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
class FolderSection:
    """Cases of a folder."""

    pattern: str = opt(
        "**/*.onnx",
        help="With FOLDER: a case for each model whose path in it fits.",
        metavar="GLOB",
    )
    settings: str = opt(
        "", help="With FOLDER: a run file with further options of the cases, and keys of a suite's.", metavar="FILE"
    )


@dataclass(frozen=True)
class ChoiceSection:
    """Selecting cases."""

    select: str = opt("", help="-k: run only cases whose names or tags match: words, and, or, not, ().", metavar="EXPR")
    tag: tuple[str, ...] = opt((), help="Run only cases with one of these tags.", metavar="TAG")
    changed_since: str = opt(
        "", help="Run only cases of which git says that a file changed since this revision.", metavar="REV"
    )
    shard: str = opt(
        "",
        help="Run only part K of N of the cases; auto: as the variables of a CI or a scheduler say.",
        metavar="K/N|auto",
    )
    list: bool = opt(False, help="List the cases and exit.")
    json: bool = opt(False, help="With --list: as a matrix of jobs, with a shard for each case.")
    dry_run: bool = opt(False, help="Show the command line of each case and exit.")
    failed_first: bool = opt(False, help="Run the cases that failed last time first.")
    exitfirst: bool = opt(False, help="Stop at the first failure.", alias="-x")
    resume: bool = opt(
        False, help="Continue the latest run: cases that have finished and not changed are not run again."
    )


@dataclass(frozen=True)
class RunningSection:
    """Running."""

    jobs: str = opt(
        "",
        help="-j: number of cases to run in parallel; auto: one per core. By default 1, or on a cluster as many as "
        "it can hold.",
        metavar="N|auto",
        parse=_jobs,
    )
    memory: int = opt(
        0,
        help="Total memory that parallel cases may reserve; by default all of the machine's.",
        metavar="BYTES",
        parse=parse_size,
    )
    gpus: str = opt("", help="Number of GPUs to use, or a list of them (0,3); by default all.", metavar="N|LIST")
    provide: tuple[str, ...] = opt(
        (), help="Other resources that the machine has, for cases that name them in `needs`.", metavar="NAME"
    )
    executor: str = opt("local", help="What runs the cases: local, ray, or an executor of a plugin.", metavar="NAME")
    address: str = opt(
        "", help="Address of an existing cluster; by default one is started on this machine.", metavar="ADDRESS"
    )


@dataclass(frozen=True)
class TrustSection:
    """What SUITE.toml may do."""

    no_scripts: bool = opt(
        False, help="Refuse a suite that names code to run: scripts, libraries of operators, other interpreters."
    )
    allow_writes: bool = opt(False, help="Let cases write outside the suite's folder.")


@dataclass(frozen=True)
class HistorySection:
    """Results and history."""

    results: str = opt(
        "", help="Folder for results; by default SUITE-results next to the suite.", metavar="DIR", writes=True
    )
    keep: int = opt(
        0, help="Keep this many runs in the results folder and remove older ones.", metavar="N", parse=_count
    )
    history: str = opt("", help="Also append the results to this SQLite file.", metavar="FILE", writes=True)
    baseline: str = opt(
        "",
        help="Compare with this run, folder of runs, or SQLite file; or each case with its last pass, kept at this "
        "URI (file://, s3://, gs://).",
        metavar="RUNS|URI",
    )
    baseline_read_only: bool = opt(False, help="With --baseline URI: keep no pass there, only compare.")
    max_slowdown: float = opt(
        0.0,
        help="With --baseline: fail if an inference takes more than this many times the median of past runs, "
        "beyond their noise.",
        metavar="FACTOR",
        parse=parse_above_zero,
    )
