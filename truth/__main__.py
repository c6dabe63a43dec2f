"""All scenarios and mutations: `make truth`.

    python -m truth [--only REGEX] [--fast] [--mutations N] [--minutes N] [--seed N] [--output FILE]

Every scenario is written to a folder under .cache/truth and judged there; each that is not right is printed with the
command that repeats it, and so is each mutation. The table of a whole run is written to truth/results.md. The exit
status is 0 if everything but what is pending is right, and if mutations reach the goal.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from truth.judge import RIGHT, Judged, judge
from truth.mutation import FINE, Outcome, reached_goal, table, try_many
from truth.scenarios import SCENARIOS
from truth.table import page

HERE = Path(__file__).parent
FOLDER = HERE.parent / ".cache" / "truth"


def folder_of(name: str, root: Path = FOLDER) -> Path:
    """Return the folder that a scenario is written to."""
    return root / re.sub(r"\W+", "-", name).strip("-")


def run_all(pattern: str, *, fast: bool) -> list[Judged]:
    """Judge the scenarios whose name matches, and print those that are not right."""
    judged = []
    for name, scenario in SCENARIOS.items():
        if scenario.here and (scenario.fast or not fast) and re.search(pattern, name):
            found = judge(scenario, folder_of(name))
            judged.append(found)
            if found.grade != RIGHT:
                said = found.said.sentence or found.said.text[-300:]
                print(f"{found.grade}: {name}\n    {found.command}\n    {said}", flush=True)
    return judged


def mutate(seeds: Sequence[int], minutes: float) -> list[Outcome]:
    """Try out mutants, no longer than some minutes unless that is 0, and print those that are not judged rightly."""
    outcomes, start = [], time.perf_counter()
    for found in try_many(seeds, os.cpu_count() or 1):
        outcomes.append(found)
        if not {found.grade, found.clean} <= FINE:
            what = f"{found.fault} at {found.operator} ({found.kind}): {found.grade}; without it: {found.clean}"
            print(f"python -m truth.mutation --seed {found.seed}\n    {what}", flush=True)
            print(*(f"    {' '.join(said.split())}" for said in found.said), sep="\n", flush=True)
        if minutes and time.perf_counter() - start > 60 * minutes:
            break
    return sorted(outcomes, key=lambda outcome: outcome.seed)


def main(words: Sequence[str]) -> int:
    """Run what the words say and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m truth", description=__doc__)
    parser.add_argument("--only", default="", help="only scenarios whose name matches; no mutations")
    parser.add_argument("--fast", action="store_true", help="only the scenarios of make test; no mutations")
    parser.add_argument("--mutations", type=int, default=1000, help="how many; 1000 by default")
    parser.add_argument("--minutes", type=float, default=0, help="stop with mutations after so many; 0 for no limit")
    parser.add_argument("--seed", type=int, default=1, help="the first seed")
    parser.add_argument("--output", type=Path, help="where the table goes")
    options = parser.parse_args(words)
    start = time.perf_counter()
    judged = run_all(options.only, fast=options.fast)
    seconds = time.perf_counter() - start
    right = sum(item.grade == RIGHT for item in judged)
    print(f"{right} of {len(judged)} scenarios are right ({seconds:.0f} s)")
    whole = not options.only and not options.fast
    outcomes = mutate(range(options.seed, options.seed + options.mutations), options.minutes) if whole else []
    counted = table(outcomes, time.perf_counter() - start - seconds)
    print(counted if outcomes else "")
    output = options.output or (HERE / "results.md" if whole else None)
    if output is not None:
        output.write_text(page(judged, counted, seconds), encoding="utf-8")
    unexpected = any((item.grade == RIGHT) == bool(item.scenario.pending) for item in judged)
    return int(unexpected or not reached_goal(outcomes))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
