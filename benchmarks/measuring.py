"""What the benchmarks share: running whole processes in turn, and rows of the table."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

#: Seconds beyond which a command is measured half as often.
SLOW = 10.0


class Sample(NamedTuple):
    """One process from start to end: seconds by the clock, the largest memory that it or one of its children took, and
    seconds of the processors."""

    seconds: float
    peak: float
    processor: float


class Row(NamedTuple):
    """A line of the table: what was measured with polycmp and with something else, usually Polygraphy."""

    what: str
    ours: float
    theirs: float | None
    unit: str
    against: str = "Polygraphy"
    goal: str = ""


def environment(**changes: str) -> dict[str, str]:
    """Return the environment in which all tools run: byte code is written and found again."""
    kept = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "POLYCMP_PLUGINS"}}
    kept["PYTHONDONTWRITEBYTECODE"] = ""
    kept["PYTHONPYCACHEPREFIX"] = str(Path(tempfile.gettempdir()) / "polycmp-bench-bytecode")
    return {**kept, **changes}


def run_once(command: Sequence[str], env: Mapping[str, str] | None = None) -> Sample:
    """Run a process that must succeed."""
    import time

    with tempfile.TemporaryFile() as errors:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors, env=env or environment())
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            errors.seek(0)
            raise SystemExit(f"{' '.join(command)} failed:\n{errors.read().decode(errors='replace')[-3000:]}")
    peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return Sample(seconds, peak, usage.ru_utime + usage.ru_stime)


def accepting(statuses: str, command: Sequence[str]) -> list[str]:
    """Return a command that succeeds where another one ends with one of several statuses, such as `0|1`."""
    return ["sh", "-c", f'"$@"; case $? in {statuses}) ;; *) exit 1;; esac', "sh", *command]


def in_turn(
    commands: Mapping[str, Sequence[str]], repeats: int, envs: Mapping[str, Mapping[str, str]] | None = None
) -> dict[str, Sample]:
    """Return the medians of each command; they take turns, so that a busy machine treats them alike.

    A command that takes longer than `SLOW` takes part in every other turn.
    """
    samples: dict[str, list[Sample]] = {name: [] for name in commands}
    slow: set[str] = set()
    for turn in range(repeats + 1):
        for name, command in commands.items():
            if name in slow and turn % 2 == 0 and turn > 1:
                continue
            sample = run_once(command, (envs or {}).get(name))
            if turn:  # the first turn writes byte code and fills the disk cache
                samples[name].append(sample)
            elif sample.seconds > SLOW:
                slow.add(name)
    return {name: Sample(*map(statistics.median, zip(*several, strict=True))) for name, several in samples.items()}


def beside(python: str, tool: str) -> str:
    """Return the command of a tool installed for an interpreter."""
    path = Path(python).parent / tool
    if not path.exists():
        raise SystemExit(f"{path} does not exist: install {tool} for {python}")
    return str(path)


def quantity(value: float, unit: str) -> str:
    """Return a figure in the unit that suits it; `unit` is `s` or `B`."""
    scales = (("s", 1.0), ("ms", 1e-3)) if unit == "s" else (("GB", 1e9), ("MB", 1e6), ("kB", 1e3))
    for name, size in scales:
        if abs(value) >= size:
            return f"{value / size:.3g} {name}"
    name, size = scales[-1]
    return f"{value / size:.2f} {name}"


def as_table(rows: Sequence[Row]) -> str:
    """Return rows as a table in Markdown."""
    lines = ["| measured | polycmp | beside | ratio | goal |", "|---|---|---|---|---|"]
    for row in rows:
        theirs = "–" if row.theirs is None else f"{quantity(row.theirs, row.unit)} ({row.against})"
        ratio = "–" if not row.theirs else f"{row.ours / row.theirs:.2g}"
        lines.append(f"| {row.what} | {quantity(row.ours, row.unit)} | {theirs} | {ratio} | {row.goal} |")
    return "\n".join(lines)
