"""How time and memory grow with the size of what is given; whole processes.

    python benchmarks/bench_growth.py [--quick]

A chain of operators, one of which differs, so that the tensors behind it fail; Ifs inside each other; a suite whose
cases are skipped, so that reading it, keeping results and writing its pages are what is measured. Twice the size should
take twice the time: the last column is by how much more a step takes than that.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import onnx
from measuring import Sample, accepting, beside, run_once
from onnx import TensorProto, helper, numpy_helper


def chain(path: Path, count: int, factor: float = 1.001) -> str:
    """Write a chain of products, the one in the middle by another factor."""
    factors = [factor if index == count // 2 else 1.001 for index in range(count)]
    weights = [numpy_helper.from_array(np.float32([value]), f"w{index}") for index, value in enumerate(factors)]
    names = ["x", *(f"t{index}" for index in range(count))]
    nodes = [helper.make_node("Mul", [names[i], f"w{i}"], [names[i + 1]], name=f"n{i}") for i in range(count)]
    return _save(path, nodes, names[-1], weights)


def nested(path: Path, depth: int) -> str:
    """Write so many Ifs, each inside the one before."""
    inner = [helper.make_node("Add", ["x", "one"], ["y"])]
    for level in range(depth):
        output = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
        then = helper.make_graph(inner, f"then{level}", [], [output])
        other = helper.make_graph([helper.make_node("Neg", ["x"], ["y"])], f"else{level}", [], [output])
        inner = [helper.make_node("If", ["yes"], ["y"], then_branch=then, else_branch=other, name=f"if{level}")]
    weights = [numpy_helper.from_array(np.float32([1.0]), "one"), numpy_helper.from_array(np.array(True), "yes")]
    return _save(path, inner, "y", weights)


def _save(path: Path, nodes: Sequence[onnx.NodeProto], output: str, weights: Sequence[onnx.TensorProto]) -> str:
    given, made = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in ("x", output))
    graph = helper.make_graph(list(nodes), "grown", [given], [made], list(weights))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path)
    return str(path)


def suite(path: Path, count: int) -> str:
    """Write a suite of so many cases, for which something is lacking."""
    chain(path.with_name("small.onnx"), 3)
    lines = ("[[case]]", 'name = "case {}"', 'model = "small.onnx"', 'backend = ["onnxrt", "onnx"]', 'needs = ["more"]')
    case = "\n".join([*lines, ""])
    path.write_text("".join(case.format(index) for index in range(count)))
    return str(path)


def measure(what: str, sizes: Sequence[int], command: Callable[[int], list[str]], statuses: str = "") -> None:
    """Print a line for each size."""
    before: tuple[int, Sample] | None = None
    for size in sizes:
        found = run_once(accepting(statuses or "0", command(size)))
        growth = "" if before is None else f"{found.seconds / before[1].seconds / (size / before[0]):>8.2f}"
        print(f"{what:<44}{size:>8}{found.seconds:>9.2f} s{found.peak / 2**20:>9.0f} MiB{growth}")
        before = size, found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="smaller sizes")
    share = 8 if parser.parse_args().quick else 1
    operators = [size // share for size in (2500, 5000, 10_000)]
    polycmp = beside(sys.executable, "polycmp")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for size in operators:
            chain(folder / f"old{size}.onnx", size)
            chain(folder / f"new{size}.onnx", size, 1.1)

        def pair(size: int) -> list[str]:
            backends = ["-b", "onnxrt", "-b", f"onnxrt:name=old,model={folder}/old{size}.onnx"]
            return [f"{folder}/new{size}.onnx", *backends]

        print(f"{'':<44}{'size':>8}{'time':>11}{'memory':>13}  growth")
        measure("run, operators", operators, lambda size: [polycmp, "run", *pair(size)], "1")
        measure(
            "run --mark-all, half of the tensors differ",
            operators,
            lambda n: [polycmp, "run", *pair(n), "--mark-all"],
            "1",
        )
        measure(
            "run --mark-all, all tensors agree",
            operators,
            lambda n: [polycmp, "run", f"{folder}/old{n}.onnx", "-b", "onnxrt", "-b", "onnx", "--mark-all"],
        )
        measure("locate, operators", operators, lambda size: [polycmp, "locate", *pair(size)], "1")
        depths = [7, 15, 30]  # protobuf reads no deeper messages
        both = ["-b", "onnxrt", "-b", "onnx"]
        for size in depths:
            nested(folder / f"nested{size}.onnx", size)
        measure("run, Ifs inside each other", depths, lambda n: [polycmp, "run", f"{folder}/nested{n}.onnx", *both])
        measure(
            "locate, Ifs inside each other", depths, lambda n: [polycmp, "locate", f"{folder}/nested{n}.onnx", *both]
        )
        cases = [size // share for size in (2500, 5000, 10_000)]
        measure(
            "suite, cases that are skipped",
            cases,
            lambda n: [polycmp, "suite", suite(folder / f"{n}.toml", n), "-q"],
            "0|3",
        )


if __name__ == "__main__":
    main()
