"""How long comparing takes and how much memory it needs, beside Polygraphy if its interpreter is given.

    python benchmarks/bench_compare.py [--elements 25700000] [--repeats 5] [--polygraphy-python PYTHON]

The interpreter with Polygraphy can also come from the environment variable POLYGRAPHY_PYTHON. Each variant runs in a
fresh process, the tools taking turns so that a busy machine treats them alike. A process makes both tensors, compares
them once, and reports the time and by how much its peak memory grew; medians over the processes are printed. Both
tools are called alike: `Comparator.compare_accuracy(results)` with their own default, `CompareFunc.simple()`.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from typing import NamedTuple

_CHILD = """
import json, resource, sys, time
import numpy as np
tool, outputs, elements, noise, detail = json.loads(sys.argv[1])
if tool == "polycmp":
    from polycmp.comparator import Comparator, CompareFunc, RunResults
    function = CompareFunc.simple(detail=detail)
else:
    from polygraphy.comparator import Comparator, CompareFunc, RunResults
    function = CompareFunc.simple()

def make(seed, base=None):
    array = np.empty(elements, np.float32)
    rng = np.random.default_rng(seed)
    for start in range(0, elements, 1 << 16):  # in pieces, so that making the data does not raise the peak
        piece = array[start : start + (1 << 16)]
        rng.standard_normal(out=piece, dtype=np.float32)
        if base is not None:
            piece *= np.float32(noise)
            piece += base[start : start + (1 << 16)]
    return array

reference = {f"y{i}": make(i) for i in range(outputs)}
candidate = {name: make(outputs + i, base) for i, (name, base) in enumerate(reference.items())}
tiny = np.ones(10, np.float32)
warm = RunResults()  # what a tool loads or prepares at its first comparison is not what is measured
for label in ("candidate", "reference"):
    warm.add([{"y": tiny}], runtime=0.0, runner_name=label)
Comparator.compare_accuracy(warm, compare_func=function)
results = RunResults()
results.add([candidate], runtime=0.0, runner_name="candidate")
results.add([reference], runtime=0.0, runner_name="reference")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start = time.perf_counter()
verdict = Comparator.compare_accuracy(results, compare_func=function)
seconds = time.perf_counter() - start
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
unit = 1 if sys.platform == "darwin" else 1024
print("MEASURED", json.dumps([seconds, grown * unit, bool(verdict)]))
"""


class Case(NamedTuple):
    """What is compared: `outputs` pairs of `elements` float32 each, differing by normal noise."""

    title: str
    outputs: int
    elements: int
    noise: float


class Measurement(NamedTuple):
    """Medians over several processes: seconds, bytes by which the peak grew, and the verdict."""

    seconds: float
    grown: float
    passed: bool


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--elements", type=int, default=25_700_000, help="elements per tensor (default: 25700000)")
    parser.add_argument("--repeats", type=int, default=5, help="processes per variant (default: 5)")
    parser.add_argument("--polygraphy-python", default=os.environ.get("POLYGRAPHY_PYTHON"))
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    options = parser.parse_args()
    cases = [
        Case("one large pair that agrees", 1, options.elements, 1e-6),
        Case("one large pair that differs", 1, options.elements, 1e-3),
        Case("400 outputs of 10 elements", 400, 10, 1e-6),
    ]
    pythons = {"polycmp": sys.executable, "polycmp, all figures": sys.executable}
    if options.polygraphy_python:
        pythons["Polygraphy"] = options.polygraphy_python
    found = {case: measure(case, pythons, options.repeats) for case in cases}
    print(json.dumps(as_json(found), indent=2) if options.json else as_text(found))


def measure(case: Case, pythons: dict[str, str], repeats: int) -> dict[str, Measurement]:
    """Return the medians of each variant."""
    samples: dict[str, list[list[float]]] = {variant: [] for variant in pythons}
    for _ in range(repeats):
        for variant, python in pythons.items():
            samples[variant].append(run_once(case, variant, python))
    return {
        variant: Measurement(
            statistics.median(sample[0] for sample in all_samples),
            statistics.median(sample[1] for sample in all_samples),
            bool(all_samples[0][2]),
        )
        for variant, all_samples in samples.items()
    }


def run_once(case: Case, variant: str, python: str) -> list[float]:
    """Return seconds, bytes and verdict from one process."""
    tool = variant.partition(",")[0]
    job = json.dumps([tool, case.outputs, case.elements, case.noise, tool != variant])
    done = subprocess.run([python, "-c", _CHILD, job], capture_output=True, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if line.startswith("MEASURED")]
    if done.returncode or not lines:
        raise SystemExit(f"{python} failed:\n{done.stderr[-2000:]}")
    measured: list[float] = json.loads(lines[0].removeprefix("MEASURED"))
    return measured


def as_json(found: dict[Case, dict[str, Measurement]]) -> dict[str, object]:
    """Return the measurements as one object."""
    return {
        case.title: {variant: dict(item._asdict()) for variant, item in items.items()} for case, items in found.items()
    }


def as_text(found: dict[Case, dict[str, Measurement]]) -> str:
    """Return the measurements as a table."""
    lines = []
    for case, items in found.items():
        pair = 2 * 4 * case.outputs * case.elements
        lines.append(f"{case.title} ({case.outputs} x {case.elements} float32, {pair / 1e6:.2f} MB together)")
        for variant, item in items.items():
            text = f"  {variant:22} {item.seconds * 1e3:10.2f} ms   peak memory +{item.grown / 1e6:8.2f} MB"
            text += f" = {item.grown / pair:7.1%} of the pair" if pair > 1e6 else ""
            if variant != "Polygraphy" and "Polygraphy" in items:
                text += f"   {items['Polygraphy'].seconds / item.seconds:6.1f} x as fast as Polygraphy"
            lines.append(text + f"   {'passed' if item.passed else 'differs'}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
