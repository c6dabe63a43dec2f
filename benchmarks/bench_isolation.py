"""What it costs to run every backend in a process of its own; whole runs of `polycmp run`.

    python benchmarks/bench_isolation.py [--repeats 7] [--iterations 10]

The model is the sentence encoder of bench_run.py; ONNX Runtime is compared with itself, with and without
`--use-subprocess`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from measuring import Row, as_table, beside, in_turn
from minilm import write_apart


def measure(repeats: int, iterations: int = 10) -> list[Row]:
    """Return one row, for the time."""
    with tempfile.TemporaryDirectory() as folder:
        model = write_apart(Path(folder) / "encoder.onnx")
        command = [beside(sys.executable, "polycmp"), "run", model, "-b", "onnxrt", "-b", "onnxrt"]
        command += ["--iterations", str(iterations)]
        medians = in_turn({"apart": [*command, "--use-subprocess"], "together": command}, repeats)
    title = f"the same, {iterations} iterations, with `--use-subprocess`"
    return [Row(title, medians["apart"].seconds, medians["together"].seconds, "s", "polycmp without", "≤ 1.3")]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=7, help="runs of each command (default: 7)")
    parser.add_argument("--iterations", type=int, default=10, help="iterations of each run (default: 10)")
    options = parser.parse_args()
    print(as_table(measure(options.repeats, options.iterations)))


if __name__ == "__main__":
    main()
