"""`surgeon sanitize --fold-constants` and `surgeon extract` on exported models, beside Polygraphy.

    python benchmarks/bench_surgeon.py MODEL.onnx… [--repeats 3] [--polygraphy-python PYTHON]

`export.py` makes such models. What polycmp writes must pass ONNX's checker, and its outputs in ONNX Runtime are
compared with those of the original. `extract` cuts from all inputs to all outputs. The two take turns.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from measuring import beside, run_once

#: What open dimensions become: the first one of an input, and the others.
BATCH, LENGTH = 2, 16


def outputs(path: Path) -> list[np.ndarray]:
    """Return what a model makes of fixed inputs: random numbers, and ones where it wants whole numbers."""
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    rng, feed = np.random.default_rng(0), {}
    for item in session.get_inputs():
        sizes = [dim if isinstance(dim, int) else (LENGTH if place else BATCH) for place, dim in enumerate(item.shape)]
        whole = item.type == "tensor(int64)"
        feed[item.name] = np.ones(sizes, np.int64) if whole else rng.standard_normal(sizes).astype(np.float32)
    return list(session.run(None, feed))


def commands(model: Path) -> dict[str, list[str]]:
    """Return the words of both commands, without where they write."""
    graph = onnx.load(model, load_external_data=False).graph
    inputs = [f"{item.name}:auto:auto" for item in graph.input]
    ends = ["--inputs", *inputs, "--outputs", *(f"{item.name}:auto" for item in graph.output)]
    return {
        "sanitize": ["surgeon", "sanitize", str(model), "--fold-constants"],
        "extract": ["surgeon", "extract", str(model), *ends],
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--polygraphy-python", default=os.environ.get("POLYGRAPHY_PYTHON"))
    options = parser.parse_args()
    ours = beside(sys.executable, "polycmp")
    theirs = [beside(options.polygraphy_python, "polygraphy")] if options.polygraphy_python else []
    for model in options.models:
        expected = outputs(model)
        for what, words in commands(model).items():
            taken: dict[str, list[float]] = {tool: [] for tool in (ours, *theirs)}
            with tempfile.TemporaryDirectory() as folder:
                for tool in [*taken] * options.repeats:
                    made = Path(folder, f"{Path(tool).name}.onnx")
                    taken[tool].append(run_once([tool, *words, "-o", str(made)]).seconds)
                changed = Path(folder, f"{Path(ours).name}.onnx")
                onnx.checker.check_model(str(changed), full_check=True)
                worst = max(float(np.abs(a - b).max()) for a, b in zip(expected, outputs(changed), strict=True))
            times = ", ".join(f"{Path(tool).name} {np.median(seconds):.2f} s" for tool, seconds in taken.items())
            print(f"{model.name:18} {what:9} {times}; largest difference {worst:.2g}", flush=True)


if __name__ == "__main__":
    main()
