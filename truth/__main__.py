"""All scenarios and mutations: `make truth`.

    python -m truth [--only REGEX] [--fast] [--mutations N] [--minutes N] [--seed N] [--processes N] [--again]
                    [--output FILE]

Every scenario is written to a folder under .cache/truth and judged there; each that is not right is printed with the
command that repeats it, and so is each mutation. What was judged is kept in .cache/truth, so that a run that was
stopped goes on where it was, unless a file of polycmp or of truth has changed since; --again forgets it. The table of a
whole run is written to truth/results.md. The exit status is 0 if everything but what is pending is right, and if
mutations reach the goal.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from truth.judge import RIGHT, Judged
from truth.mutation import FINE, Outcome, reached_goal, table, work
from truth.resuming import Kept, each
from truth.scenarios import SCENARIOS
from truth.table import page
from truth.working import FOLDER, judge_one

HERE = Path(__file__).parent
Made = TypeVar("Made")


def _tell_scenario(found: Judged) -> None:
    if found.grade != RIGHT:
        said = found.said.sentence or found.said.text[-300:]
        print(f"{found.grade}: {found.scenario.name}\n    {found.command}\n    {said}", flush=True)


def _tell_mutant(found: Outcome) -> None:
    if not {found.grade, found.clean} <= FINE:
        what = f"{found.fault} at {found.operator} ({found.kind}): {found.grade}; without it: {found.clean}"
        print(f"python -m truth.mutation --seed {found.seed}\n    {what}", flush=True)
        print(*(f"    {' '.join(said.split())}" for said in found.said), sep="\n", flush=True)


def run_all(
    kept: Kept, what: str, function: Callable[[str], Made], names: Sequence[str], tell: Callable[[Made], None],
    options: argparse.Namespace, minutes: float = 0,
) -> list[Made]:  # fmt: skip
    """Do what is not done yet in several processes, tell what is not right, and how far it is.

    Args:
        kept: What was done before.
        what: What it is called.
        function: Does one.
        names: Which ones.
        tell: Prints one that is not right.
        options: Of the command line.
        minutes: When to stop; 0 for no limit.
    """
    start = shown = time.monotonic()
    before = sum(kept.has(function, name) for name in names)
    if before:
        print(f"{before} of {len(names)} {what} were done before; --again does them again", flush=True)
    made: list[Made] = []
    for found in each(function, names, kept, options.processes):
        made.append(found)
        tell(found)
        now = time.monotonic()
        if now - shown > 30 or len(made) == len(names):
            shown = now
            print(f"  {len(made)} of {len(names)} {what}, {now - start:.0f} s", flush=True)
        if minutes and now - start > 60 * minutes:
            break
    return made


def main(words: Sequence[str]) -> int:
    """Run what the words say and return the exit status."""
    options = _options(words)
    kept = Kept(FOLDER / "done", again=options.again)
    start = time.monotonic()
    chosen = [
        name for name, item in SCENARIOS.items()
        if item.here and (item.fast or not options.fast) and re.search(options.only, name)
    ]  # fmt: skip
    judged = run_all(kept, "scenarios", judge_one, chosen, _tell_scenario, options)
    seconds = time.monotonic() - start
    right = sum(item.grade == RIGHT for item in judged)
    print(f"{right} of {len(judged)} scenarios are right ({seconds:.0f} s)")
    whole = not options.only and not options.fast
    last = options.seed + options.mutations
    seeds = [str(seed) for seed in range(options.seed, last)] if whole else []
    if seeds:
        print(f"mutants of the seeds {seeds[0]} to {seeds[-1]}", flush=True)
    outcomes = run_all(kept, "mutants", work, seeds, _tell_mutant, options, options.minutes)
    counted = table(sorted(outcomes, key=lambda item: item.seed), time.monotonic() - start - seconds)
    print(counted if outcomes else "")
    output = options.output or (HERE / "results.md" if whole else None)
    if output is not None:
        order = {name: place for place, name in enumerate(SCENARIOS)}
        judged.sort(key=lambda item: order[item.scenario.name])
        left = [item for item in SCENARIOS.values() if not item.here]
        output.write_text(page(judged, left, counted, seconds), "utf-8")
        print(f"wrote {output}")
    unexpected = any((item.grade == RIGHT) == bool(item.scenario.pending) for item in judged)
    return int(unexpected or not reached_goal(outcomes))


def _options(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m truth", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="only scenarios whose name matches; no mutations")
    parser.add_argument("--fast", action="store_true", help="only the scenarios of make test-corpus; no mutations")
    parser.add_argument("--mutations", type=int, default=1000, help="how many; 1000 by default")
    parser.add_argument("--minutes", type=float, default=0, help="stop with mutations after so many; 0 for no limit")
    parser.add_argument("--seed", type=int, default=1, help="the first seed")
    parser.add_argument("--processes", type=int, default=min(os.cpu_count() or 1, 8), help="how many at a time")
    parser.add_argument("--again", action="store_true", help="forget what was done before")
    parser.add_argument("--output", type=Path, help="where the table goes")
    return parser.parse_args(words)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
