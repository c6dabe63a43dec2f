"""Merging of the shards of a suite into one run."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeGuard

from polycmp.errors import FileError, UsageError, describe_exception
from polycmp.sentences import counted
from polycmp_suite.concluding import Concluded
from polycmp_suite.result import CaseResult
from polycmp_suite.shards import Shard
from polycmp_suite.store import Run, is_run, runs_in


@dataclass(frozen=True)
class ShardRun:
    """A run of one shard.

    Attributes:
        run: Where it lies.
        suite: Name of the suite.
        shard: Which it is.
        cases: Names of the cases of all shards, in the order of the suite.
        device: The kind of machine that ran it.
    """

    run: Run
    suite: str
    shard: Shard
    cases: tuple[str, ...]
    device: str

    @cached_property
    def results(self) -> Mapping[str, CaseResult]:
        """The results of its own cases, by name."""
        shard_cases = set(self.shard.of(self.cases))
        return {result.case: result for result in self.run.results() if result.case in shard_cases}

    @property
    def versions(self) -> Mapping[str, set[str]]:
        """The versions of each backend, by label."""
        versions: dict[str, set[str]] = {}
        for result in self.results.values():
            for label, version in result.versions.items():
                versions.setdefault(label, set()).add(version)
        return versions


def shards_in(paths: Iterable[str]) -> list[ShardRun]:
    """Return the shards that paths lead to, in the order of their numbers.

    Args:
        paths: Runs, folders of runs, or folders of such.

    Raises:
        FileError: There is none at a path.
        UsageError: They are no shards, not of one suite, or one is there twice.
    """
    shards: dict[int, ShardRun] = {}
    for run in _runs(paths):
        shard = _shard_run(run)
        first = next(iter(shards.values()), shard)
        if (shard.suite, shard.shard.total, shard.cases) != (first.suite, first.shard.total, first.cases):
            raise UsageError(
                f"{run.folder} and {first.run.folder} are no shards of one run",
                why=_difference(shard, first),
                hint="give all jobs the same suite, -k and --tag",
            )
        other = shards.setdefault(shard.shard.number, shard)
        if other is not shard:
            raise UsageError(
                f"shard {shard.shard} is there twice",
                why=f"in {other.run.folder} and in {run.folder}",
                hint="leave one of them out",
            )
    return [shards[number] for number in sorted(shards)]


def _runs(paths: Iterable[str]) -> Iterator[Run]:
    for path in paths:
        place = Path(path)
        runs = list(_runs_at(place))
        if not runs and place.is_dir():
            runs = [run for inner in sorted(place.iterdir()) if inner.is_dir() for run in _runs_at(inner)]
        if not runs:
            raise FileError(f"there is no run of a suite in {path}", hint=f"ls {path}")
        yield from runs


def _runs_at(place: Path) -> list[Run]:
    return [Run(place)] if is_run(place) else runs_in(place)[-1:]


def _shard_run(run: Run) -> ShardRun:
    about = run.about
    shard, cases = about.get("shard"), about.get("all_cases")
    if not isinstance(cases, list) or not _is_shard(shard):
        raise UsageError(
            f"{run.folder} is no shard of a suite",
            why="it was run without --shard",
            hint="polycmp suite SUITE --shard 1/2",
        )
    device = str(about.get("device", ""))
    return ShardRun(run, str(about.get("suite", "")), Shard(*shard), tuple(map(str, cases)), device)


def _is_shard(value: object) -> TypeGuard[list[int]]:
    is_pair = isinstance(value, list) and len(value) == 2 and all(isinstance(item, int) for item in value)
    return is_pair and isinstance(value, list) and 1 <= value[0] <= value[1]


def _difference(one: ShardRun, two: ShardRun) -> str:
    if one.suite != two.suite:
        return f"they are of the suites {one.suite} and {two.suite}"
    if one.shard.total != two.shard.total:
        return f"they are shards {one.shard} and {two.shard}"
    return f"the cases to run were others: {counted(len(one.cases), 'case')} and {counted(len(two.cases), 'case')}"


def merged(shards: Sequence[ShardRun], run: Run, begun: float) -> Concluded:
    """Copy the results of shards into one run, and return it.

    Args:
        shards: The shards.
        run: The run that is made.
        begun: When that began, by `time.monotonic`.

    Raises:
        FileError: A result cannot be copied.
    """
    results: dict[str, CaseResult] = {}
    for shard in shards:
        for name, result in shard.results.items():
            target = run.folder / "cases" / result.folder
            try:
                shutil.copytree(shard.run.folder / "cases" / result.folder, target, symlinks=True)
            except (OSError, shutil.Error) as error:
                raise FileError(f"cannot copy {name} to {target}", why=describe_exception(error)) from error
            results[name] = result
    cases = {name: results.get(name) for name in shards[0].cases}
    return Concluded(
        shards[0].suite, Path.cwd(), cases, begun, "; ".join(gaps(shards)),
        about={"merged": [str(shard.run.folder) for shard in shards]},
    )  # fmt: skip


def gaps(shards: Sequence[ShardRun]) -> Iterator[str]:
    """Yield descriptions of what keeps shards from being one whole run on machines of one kind."""
    total = shards[0].shard.total
    missing = sorted(set(range(1, total + 1)) - {item.shard.number for item in shards})
    if missing:
        yield f"{'shard' if len(missing) == 1 else 'shards'} {', '.join(map(str, missing))} of {total} missing"
    for item in shards:
        waiting = len(item.shard.of(item.cases)) - len(item.results)
        if waiting or not item.run.finished:
            yield f"shard {item.shard} has not ended"
    first = shards[0]
    for other in shards[1:]:
        if other.device != first.device:
            yield f"shard {first.shard} ran on {first.device or '?'}, shard {other.shard} on {other.device or '?'}"
        for label in sorted(first.versions.keys() & other.versions.keys()):
            one, two = first.versions[label], other.versions[label]
            if one != two and len(one) == len(two) == 1:
                yield f"{label} is {min(one)} in shard {first.shard}, and {min(two)} in shard {other.shard}"
