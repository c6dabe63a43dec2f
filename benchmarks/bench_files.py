"""How long saving and loading one large output and many small ones takes, beside numpy.savez and Polygraphy if given.

    python benchmarks/bench_files.py [--megabytes 134] [--repeats 5] [--iterations 10000] [--polygraphy-python PYTHON]

The interpreter with Polygraphy can also come from the environment variable POLYGRAPHY_PYTHON. The variants take turns,
so that a busy machine treats them alike; medians are printed, and ratios to numpy.savez. A file is read until every
byte of its arrays has been touched.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from polycmp.results.files import OutputsWriter, open_runs

_POLYGRAPHY = """
import sys, time
import numpy as np
from polygraphy.comparator import RunResults
from polygraphy.logger import G_LOGGER
G_LOGGER.severity = G_LOGGER.CRITICAL
results = RunResults()
results.add([{"y": np.load(sys.argv[1])}], runtime=0.1, runner_name="bench")
for _ in range(int(sys.argv[3])):
    start = time.perf_counter()
    results.save(sys.argv[2])
    saved = time.perf_counter()
    RunResults.load(sys.argv[2])["bench"][0]["y"].sum()
    print("TIME", saved - start, time.perf_counter() - saved)
"""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=float, default=134.0, help="size of the output (default: 134)")
    parser.add_argument("--repeats", type=int, default=5, help="how often to measure each variant (default: 5)")
    parser.add_argument("--iterations", type=int, default=10_000, help="small iterations in one file (default: 10000)")
    parser.add_argument("--folder", help="where to write (default: the system's temporary folder)")
    parser.add_argument("--polygraphy-python", default=os.environ.get("POLYGRAPHY_PYTHON"))
    options = parser.parse_args()
    array = np.random.default_rng(0).standard_normal(int(options.megabytes * 1e6) // 4, dtype=np.float32)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        times = measure(array, Path(folder), options.repeats)
        if options.polygraphy_python:
            times["Polygraphy .json"] = measure_polygraphy(
                array, Path(folder), options.repeats, options.polygraphy_python
            )
        report(array, times)
        report_many(Path(folder), options.iterations)


def report_many(folder: Path, iterations: int) -> None:
    """Print what each format needs for a quarter of many small iterations and for all of them: four times as much."""
    print(f"\n{iterations} iterations of 64 bytes, and a quarter of them")
    print(f"{'':22}{'save s':>9}{'quarter':>9}{'load s':>9}{'quarter':>9}")
    for suffix in (".npz", ".safetensors", ".json", ""):
        row = [_many(folder / f"{count}{suffix}", count) for count in (iterations, iterations // 4)]
        cells = "".join(f"{all_of:9.3f}{quarter:9.3f}" for all_of, quarter in zip(*row, strict=True))
        print(f"polycmp {suffix or 'folder':14}{cells}")


def _many(path: Path, iterations: int) -> tuple[float, float]:
    start = time.perf_counter()
    with OutputsWriter(path) as writer:
        for number in range(iterations):
            writer.add("bench", {"y": np.full(16, number, np.float32)}, 0.1)
    saved = time.perf_counter()
    _load(path)
    return saved - start, time.perf_counter() - saved


def measure(array: np.ndarray, folder: Path, repeats: int) -> dict[str, list[tuple[float, float]]]:
    """Return seconds for saving and for loading, by variant."""
    variants: dict[str, tuple[Callable[[Path], None], Callable[[Path], object], str]] = {
        "numpy.savez": (lambda path: np.savez(path, y=array), lambda path: np.load(path)["y"].sum(), "numpy.npz"),
        "numpy.savez + fsync": (lambda path: _savez_fsync(path, array), _load_numpy, "synced.npz"),
    }
    for suffix in (".npz", ".safetensors", ".json", ""):
        name = f"polycmp {suffix or 'folder'}"
        variants[name] = (lambda path: _save(path, array), _load, f"polycmp{suffix}")
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in variants}
    for _ in range(repeats):
        for name, (save, load, file) in variants.items():
            start = time.perf_counter()
            save(folder / file)
            saved = time.perf_counter()
            load(folder / file)
            times[name].append((saved - start, time.perf_counter() - saved))
    return times


def _savez_fsync(path: Path, array: np.ndarray) -> None:
    with path.open("wb") as file:
        np.savez(file, y=array)
        file.flush()
        os.fsync(file.fileno())


def _load_numpy(path: Path) -> object:
    return np.load(path)["y"].sum()


def _save(path: Path, array: np.ndarray) -> None:
    with OutputsWriter(path) as writer:
        writer.add("bench", {"y": array}, 0.1)


def _load(path: Path) -> object:
    return [result["y"].sum() for run in open_runs(path) for result in run.iterations]


def measure_polygraphy(array: np.ndarray, folder: Path, repeats: int, python: str) -> list[tuple[float, float]]:
    """Return seconds for saving and for loading with Polygraphy's own functions, start-up not counted."""
    np.save(folder / "array.npy", array)
    command = [python, "-c", _POLYGRAPHY, str(folder / "array.npy"), str(folder / "polygraphy.json"), str(repeats)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{python} could not run Polygraphy:\n{done.stderr}")
    rows = [line.split() for line in done.stdout.splitlines() if line.startswith("TIME ")]
    return [(float(save), float(load)) for _, save, load in rows]


def report(array: np.ndarray, times: dict[str, list[tuple[float, float]]]) -> None:
    """Print one line a variant."""
    base = [statistics.median(column) for column in zip(*times["numpy.savez"], strict=True)]
    print(f"one float32 array of {array.nbytes / 1e6:.0f} MB, medians of {len(times['numpy.savez'])}")
    print(f"{'':22}{'save s':>9}{'ratio':>8}{'load s':>9}{'ratio':>8}")
    for name, rows in times.items():
        save, load = (statistics.median(column) for column in zip(*rows, strict=True))
        print(f"{name:22}{save:9.3f}{save / base[0]:8.2f}{load:9.3f}{load / base[1]:8.2f}")


if __name__ == "__main__":
    main()
