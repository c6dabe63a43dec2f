"""How long a plain comparison takes, beside Polygraphy if its interpreter is given; whole processes.

    python benchmarks/bench_run.py [--repeats 7] [--polygraphy-python PYTHON]

The model is a sentence encoder of 90 MB with one output; ONNX Runtime is compared with itself by both tools, with
their own defaults.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from measuring import Row, as_table, beside, in_turn
from minilm import write_apart


def measure(repeats: int, polygraphy_python: str | None) -> list[Row]:
    """Return one row for the time and one for the memory."""
    with tempfile.TemporaryDirectory() as folder:
        model = write_apart(Path(folder) / "encoder.onnx")
        commands = {"polycmp": [beside(sys.executable, "polycmp"), "run", model, "-b", "onnxrt", "-b", "onnxrt"]}
        if polygraphy_python:
            polygraphy = beside(polygraphy_python, "polygraphy")
            commands["polygraphy"] = [polygraphy, "run", model, "--onnxrt", "--onnxrt"]
        medians = in_turn(commands, repeats)
    ours, theirs = medians["polycmp"], medians.get("polygraphy")
    return [
        Row("compare a 90 MB encoder on two sessions, one output", ours.seconds, theirs and theirs.seconds, "s"),
        Row("the same, peak memory", ours.peak, theirs and theirs.peak, "B"),
    ]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=7, help="runs of each command (default: 7)")
    parser.add_argument("--polygraphy-python", default=os.environ.get("POLYGRAPHY_PYTHON"))
    options = parser.parse_args()
    print(as_table(measure(options.repeats, options.polygraphy_python)))


if __name__ == "__main__":
    main()
