"""Past runs in a folder or an SQLite file, as a baseline."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

from polycmp.errors import FileError, describe_exception
from polycmp.options import parse_json
from polycmp.sentences import counted
from polycmp_suite.changes import Changes, PastResult, compare
from polycmp_suite.result import CaseResult
from polycmp_suite.store import Run, is_run, runs_in
from polycmp_suite.summary import verdict_over

#: Past runs whose times count.
DEPTH = 20
_TABLES = """
create table if not exists runs (
  id integer primary key, suite text not null, name text not null, time real not null, verdict text not null,
  command text not null, unique (suite, name)
);
create table if not exists cases (
  run integer not null references runs(id) on delete cascade, name text not null, state text not null,
  verdict text not null, reason text not null, max_error text, seconds real not null, times text not null,
  primary key (run, name)
);
"""


@dataclass(frozen=True)
class Baseline:
    """Past runs.

    Attributes:
        name: Name of the run to compare with: the last that passed, else the last.
        cases: Results of its cases, by name.
        times: For each case and backend the medians of the runs, the oldest first.
        notes: Remarks on what could not be read.
    """

    name: str
    cases: Mapping[str, PastResult]
    times: Mapping[str, Mapping[str, list[float]]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def describe(path: str) -> Baseline:
    """Return the past runs that a path leads to: a run, a folder of runs, or an SQLite file.

    Raises:
        FileError: There are none.
    """
    runs, notes = _runs(path)
    return replace(_baseline(runs), notes=notes)


def latest(path: str) -> tuple[str, list[PastResult]]:
    """Return the name and the cases of the last run that a path leads to; errors as in `describe`."""
    return _runs(path)[0][-1]


def _runs(path: str) -> tuple[list[tuple[str, list[PastResult]]], tuple[str, ...]]:
    """Return the runs, the oldest first, and notes on what could not be read."""
    place = Path(path)
    if place.is_file():
        return _from_file(place)
    runs = [Run(place.resolve())] if is_run(place) else [run for run in runs_in(place) if run.finished]
    if not runs:
        raise FileError(
            f"there are no past runs in {path}",
            why="it is neither a finished run, nor a folder of finished runs, nor an SQLite file",
            hint=f"ls {path}",
        )
    return [(run.folder.name, [_past(item) for item in run.results()]) for run in runs[-DEPTH:]], ()


def _past(result: CaseResult) -> PastResult:
    return PastResult(result.case, result.state, result.reason, result.max_error, result.times)


def _baseline(runs: list[tuple[str, list[PastResult]]]) -> Baseline:
    """Return the baseline of runs, the oldest first."""
    green = [item for item in runs if all(case.state in {"passed", "skipped"} for case in item[1])]
    name, cases = (green or runs)[-1]
    times: dict[str, dict[str, list[float]]] = {}
    for _, past in runs:
        for case in past:
            for label, seconds in case.times.items():
                times.setdefault(case.name, {}).setdefault(label, []).append(seconds)
    return Baseline(name, {case.name: case for case in cases}, times)


def compare_with(baseline: Baseline, results: Iterable[CaseResult], max_slowdown: float) -> Changes:
    """Compare results with those of past runs.

    Args:
        baseline: The past runs.
        results: Results of the cases in this run.
        max_slowdown: Largest ratio of an inference's time to the median of past times; 0 for no limit.
    """
    return compare(baseline.name, baseline.cases, baseline.times, [_past(item) for item in results], max_slowdown)


def append(path: Path, run: Run, suite: str, results: Iterable[CaseResult]) -> None:
    """Append a run to an SQLite file; a run that is there already, as after --resume, is replaced.

    Raises:
        FileError: That cannot be written.
    """
    results = list(results)
    about = run.about
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(path)) as database, database:
            database.executescript(_TABLES)
            database.execute("pragma foreign_keys = on")
            name = (suite, run.folder.name)
            database.execute("delete from cases where run in (select id from runs where suite = ? and name = ?)", name)
            database.execute("delete from runs where suite = ? and name = ?", name)
            values = (*name, about.get("time", 0.0), verdict_over(results), about.get("command", ""))
            row = database.execute(
                "insert into runs (suite, name, time, verdict, command) values (?, ?, ?, ?, ?)", values
            )
            database.executemany(
                "insert into cases values (?, ?, ?, ?, ?, ?, ?, ?)", [_row(row.lastrowid, item) for item in results]
            )
    except (sqlite3.Error, OSError) as error:
        raise FileError(
            f"cannot append the run to {path}", why=describe_exception(error), hint=f"ls -l {path}"
        ) from error


def _row(run: int | None, item: CaseResult) -> tuple[object, ...]:
    error = None if item.max_error is None else repr(item.max_error)
    return run, item.case, item.state, item.verdict, item.reason, error, item.seconds, json.dumps(dict(item.times))


def _from_file(path: Path) -> tuple[list[tuple[str, list[PastResult]]], tuple[str, ...]]:
    query = (
        "select runs.id, runs.name, cases.name, state, reason, max_error, times from cases join runs on runs.id = run "
        "where runs.id in (select id from runs order by time desc limit ?) order by runs.time, cases.rowid"
    )
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
            rows = database.execute(query, (DEPTH,)).fetchall()
    except sqlite3.Error as error:
        raise FileError(f"cannot read past runs from {path}", why=describe_exception(error)) from error
    runs: dict[int, tuple[str, list[PastResult]]] = {}
    damaged = 0
    for number, name, *values in rows:
        try:
            past = _past_of(*values)
        except (ValueError, TypeError):
            damaged += 1
            continue
        runs.setdefault(number, (str(name), []))[1].append(past)
    if not runs:
        raise FileError(f"{path} holds no runs", why=f"{damaged} damaged rows" if damaged else "")
    notes = (f"{path}: {counted(damaged, 'damaged row')} left out",) if damaged else ()
    return list(runs.values()), notes


def _past_of(case: object, state: object, reason: object, largest: object, times: object) -> PastResult:
    """Return a case from a row of the file.

    Raises:
        ValueError: A value is damaged; TypeError likewise.
    """
    if not all(isinstance(item, str) for item in (case, state, reason, times)):
        raise TypeError("a text is missing")
    times_by_backend = parse_json(str(times))
    if not isinstance(times_by_backend, dict):
        raise ValueError("no times by backend")
    seconds = {str(label): float(value) for label, value in times_by_backend.items()}
    return PastResult(str(case), str(state), str(reason), None if largest is None else float(str(largest)), seconds)
