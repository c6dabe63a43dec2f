"""How long a plain comparison takes, beside Polygraphy if its interpreter is given; whole processes.

    python benchmarks/bench_run.py [--repeats 7] [--polygraphy-python PYTHON]

The models are one of four operators, where the time is that of starting up, and a sentence encoder of 90 MB; both have
one output. ONNX Runtime is compared with itself by both tools, with their own defaults.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from measuring import Row, as_table, beside, in_turn
from minilm import write_apart


def small(path: Path) -> str:
    """Write a model of four operators and return its path."""
    import onnx

    text = """
        <ir_version: 8, opset_import: ["": 17]>
        small (float[1,4,16,16] x) => (float[1,4,16,16] y) { a = Relu(x) b = Add(a, x) c = Sigmoid(b) y = Mul(c, x) }
    """
    onnx.save(onnx.parser.parse_model(text), path)
    return str(path)


def measure(repeats: int, polygraphy_python: str | None) -> list[Row]:
    """Return one row for the time of each model, and one for the memory of the larger."""
    with tempfile.TemporaryDirectory() as folder:
        model = small(Path(folder) / "small.onnx")
        rows = _compare("a model of four operators", model, repeats, polygraphy_python, "≤ 0.9")[:1]
        encoder = write_apart(Path(folder) / "encoder.onnx")
        return rows + _compare("a 90 MB encoder", encoder, repeats, polygraphy_python, "≤ 0.7")


def _compare(title: str, model: str, repeats: int, polygraphy_python: str | None, goal: str) -> list[Row]:
    commands = {"polycmp": [beside(sys.executable, "polycmp"), "run", model, "-b", "onnxrt", "-b", "onnxrt"]}
    if polygraphy_python:
        commands["polygraphy"] = [beside(polygraphy_python, "polygraphy"), "run", model, "--onnxrt", "--onnxrt"]
    medians = in_turn(commands, repeats)
    ours, theirs = medians["polycmp"], medians.get("polygraphy")
    what = f"compare {title} on two sessions, one output"
    return [
        Row(what, ours.seconds, theirs and theirs.seconds, "s", goal=goal),
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
