"""What judging without a tolerance costs: beside a tolerance that is typed, and beside Polygraphy; whole processes.

    python benchmarks/bench_default.py [--repeats 3] [--quick] [--polygraphy-python PYTHON]

Pairs that agree: ResNet-50 with one image, and a chain of 10,000 operators, both with and without ONNX Runtime's
optimisations. Pairs of two files of which one has a column of a weight off by 2.5e-4: a chain of 1,000 and of 4,000
small MatMul and Relu, and one output of 30 M numbers that all differ. Times are those of the processors, so that a busy
machine counts for less.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import models
import numpy as np
import onnx
from measuring import Row, accepting, as_table, beside, in_turn
from onnx import TensorProto, helper, numpy_helper

AGREES = "≤ 1.02"
TYPED = ["--atol", "1e-5", "--rtol", "1e-5"]
#: Tolerances that a pair passes whose outputs are in the thousands: a pair that fails is not asked whether it moves.
LOOSE = ["--atol", "1e-2", "--rtol", "1e-3"]
#: Rows and columns of the tensors of a chain.
ROWS, WIDTH = 64, 16


def chain(path: Path, operators: int) -> str:
    """Write MatMul and Relu in turn, whose weights are nearly permutations, so that no signal is lost on the way."""
    random = np.random.default_rng(0)
    nodes, weights, source = [], [], "x"
    for index in range(operators // 2):
        noise = 0.01 * random.standard_normal((WIDTH, WIDTH))
        weight = (np.eye(WIDTH)[random.permutation(WIDTH)] + noise).astype(np.float32)
        if path.stem == "new" and index == 3:
            weight[:, 3] *= 1 + 2.5e-4
        weights.append(numpy_helper.from_array(weight, f"w{index}"))
        nodes.append(helper.make_node("MatMul", [source, f"w{index}"], [f"m{index}"], name=f"m{index}"))
        nodes.append(helper.make_node("Relu", [f"m{index}"], [f"r{index}"], name=f"r{index}"))
        source = f"r{index}"
    return _save(path, nodes, [ROWS, WIDTH], source, weights)


def large(path: Path, size: int) -> str:
    """Write an output of so many numbers, which a small input and a row make."""
    width = 1000
    weights = [
        numpy_helper.from_array(np.array([size // width, width]), "shape"),
        numpy_helper.from_array(np.linspace(0.5, 1.5, width).astype(np.float32), "row"),
        numpy_helper.from_array(np.float32(1 + 2.5e-4 * (path.stem == "new")), "factor"),
    ]
    nodes = [
        helper.make_node("Expand", ["x", "shape"], ["expanded"], name="expanded"),
        helper.make_node("Mul", ["expanded", "row"], ["product"], name="product"),
        helper.make_node("Mul", ["product", "factor"], ["y"], name="y"),
    ]
    return _save(path, nodes, [size // width, 1], "y", weights)


def _save(
    path: Path, nodes: Sequence[onnx.NodeProto], shape: list[int], output: str, weights: Sequence[onnx.TensorProto]
) -> str:
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    made = helper.make_tensor_value_info(output, TensorProto.FLOAT, None)
    graph = helper.make_graph(list(nodes), path.stem, [given], [made], list(weights))
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return str(path)


WRITERS = {"chain": chain, "large": large}


def write_apart(kind: str, path: Path, size: int) -> str:
    """Write a model from another process: the largest memory of this one counts as that of its children."""
    subprocess.run([sys.executable, __file__, kind, str(path), str(size)], check=True)
    return str(path)


def measure(title: str, words: list[str], theirs: list[str], repeats: int, typed: list[str] = TYPED) -> list[Row]:
    """Return rows for processor time and memory, beside the same with a tolerance and beside Polygraphy."""
    polycmp = [beside(sys.executable, "polycmp"), "run", *words]
    commands = {"default": polycmp, "typed": [*polycmp, *typed], **({"Polygraphy": theirs} if theirs else {})}
    medians = in_turn({name: accepting("0|1", command) for name, command in commands.items()}, repeats)
    own = medians["default"]
    rows = []
    for name in list(commands)[1:]:
        other, wanted = medians[name], AGREES if typed == LOOSE else ""
        rows.append(Row(f"{title}: processor time", own.processor, other.processor, "s", name, wanted))
        rows.append(Row(f"{title}: peak memory", own.peak, other.peak, "B", name))
    return rows


def polygraphy(python: str | None, new: str, old: str, *more: str) -> list[str]:
    """Return the commands of Polygraphy that compare two files: one saves outputs, and one loads them."""
    if not python:
        return []
    tool, saved = beside(python, "polygraphy"), f"{old}.outputs.json"
    both = " ".join(more)
    return ["sh", "-c", f"{tool} run {old} --onnxrt {both} --save-outputs {saved} && "
            f"{tool} run {new} --onnxrt {both} --load-outputs {saved}"]  # fmt: skip


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3, help="runs of each command (default: 3)")
    parser.add_argument("--quick", action="store_true", help="smaller sizes")
    parser.add_argument("--polygraphy-python", default=os.environ.get("POLYGRAPHY_PYTHON"))
    given = parser.parse_args()
    share = 10 if given.quick else 1
    same = ["-b", "onnxrt", "-b", "onnxrt:optimization=off"]
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        size = 10_000 // share
        resnet = models.write_apart("resnet50", folder / "resnet50.onnx")
        rows += measure("ResNet-50, agrees", [resnet, *same], [], given.repeats, LOOSE)
        alike = write_apart("chain", folder / "alike.onnx", size)
        rows += measure(f"{size} operators, agree", [alike, *same], [], given.repeats, LOOSE)
        for size in (1000 // share, 4000 // share):
            old, new = (write_apart("chain", folder / f"{word}.onnx", size) for word in ("old", "new"))
            for ours, theirs in (([], []), (["--mark-all"], ["--onnx-outputs", "mark", "all"])):
                command = polygraphy(given.polygraphy_python, new, old, *theirs)
                title = " ".join([f"{size} operators, differ", *ours])
                rows += measure(title, [new, old, "-b", "onnxrt", *ours], command, given.repeats)
        size = 30_000_000 // share
        old, new = (write_apart("large", folder / f"{word}.onnx", size) for word in ("old", "new"))
        command = polygraphy(given.polygraphy_python, new, old)
        rows += measure(f"{size // 1000} k numbers differ", [new, old, "-b", "onnxrt"], command, given.repeats)
    print(as_table(rows))


if __name__ == "__main__":
    if len(sys.argv) == 4 and sys.argv[1] in WRITERS:
        WRITERS[sys.argv[1]](Path(sys.argv[2]), int(sys.argv[3]))
    else:
        main()
