"""How long comparing all tensors inside a model takes and how much memory, beside Polygraphy; whole processes.

    python benchmarks/bench_markall.py [--repeats 3] [--exported FOLDER] [--polygraphy-python PYTHON]

ONNX Runtime is compared with itself by both tools, on a sentence encoder of MiniLM's kind with 8x128 tokens and on
ResNet-50 with 8 images. Both tools get the same files and their own defaults. With a folder that `export.py` has filled
(or BENCH_EXPORTED in the environment), the same is measured on what PyTorch exports, too.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

import minilm
import models
from measuring import Row, as_table, beside, in_turn

GOALS = ("≤ 0.06", "≤ 0.3")
SHAPES = ["--input-shapes", *(f"{name}:[8,128]" for name in ("input_ids", "attention_mask", "token_type_ids"))]


def measure(title: str, model: str, options: list[str], repeats: int, polygraphy_python: str | None) -> list[Row]:
    """Return one row for the time and one for the memory."""
    ours = [beside(sys.executable, "polycmp"), "run", model, "-b", "onnxrt", "-b", "onnxrt", "--mark-all", *options]
    commands = {"polycmp": ours}
    if polygraphy_python:
        polygraphy = [beside(polygraphy_python, "polygraphy"), "run", model, "--onnxrt", "--onnxrt"]
        commands["polygraphy"] = [*polygraphy, "--onnx-outputs", "mark", "all", *options]
    medians = in_turn(commands, repeats)
    mine, theirs = medians["polycmp"], medians.get("polygraphy")
    return [
        Row(title, mine.seconds, theirs and theirs.seconds, "s", goal=GOALS[0]),
        Row(f"{title}: peak memory", mine.peak, theirs and theirs.peak, "B", goal=GOALS[1]),
    ]


def tensors(model: str) -> int:
    """Return how many tensors the operators of a model make."""
    import onnx

    nodes = onnx.load(model, load_external_data=False).graph.node
    return sum(len(node.output) for node in nodes if node.op_type != "Constant")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3, help="runs of each command (default: 3)")
    parser.add_argument("--exported", default=os.environ.get("BENCH_EXPORTED"), help="folder that export.py has filled")
    parser.add_argument("--polygraphy-python", default=os.environ.get("POLYGRAPHY_PYTHON"))
    given = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        encoder = minilm.write_apart(Path(folder) / "encoder.onnx")
        resnet = models.write_apart("resnet50", Path(folder) / "resnet50.onnx")
        cases = [("encoder 8x128", encoder, SHAPES), ("ResNet-50, 8 images", resnet, [])]
        exported = sorted(Path(given.exported).glob("*.onnx")) if given.exported else []
        cases += [
            (f"{path.stem} as exported", str(path), SHAPES if path.stem.startswith("minilm") else [])
            for path in exported
        ]
        for title, model, options in cases:
            what = f"{title}, all {tensors(model)} tensors"
            rows += measure(what, model, options, given.repeats, given.polygraphy_python)
    print(as_table(rows))


if __name__ == "__main__":
    main()
