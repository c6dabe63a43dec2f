"""How long `debug reduce --check` takes on a chain of 200 operators, beside Polygraphy, in seconds and processor time.

    python benchmarks/bench_reduce.py [--channels 64] [--repeats 3] [--mode bisect] [--quiet] [--saved] \\
        [--polygraphy-python PYTHON]

One operator of the chain is none that any backend knows, and each tool checks with its own `run … --onnxrt`. What the
check of polycmp prints names the type of that operator, which polycmp tries first; with `--quiet` both tools' checks
name nothing, and polycmp has to search as Polygraphy does. With `--saved` one convolution has wrong weights, and the
check compares with all tensors saved from the sound model, which names no operator either. The two take turns, so that
a busy machine treats them alike. Polygraphy also needs onnx_graphsurgeon. 64 channels make a model of 7 MB, 256 one of
118 MB.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import onnx
from measuring import beside, environment
from onnx import TensorProto, helper, numpy_helper

NODES, FAULT = 200, 113


#: In the model whose outputs are saved, a convolution, and by how much its weights are wrong.
WRONG, FACTOR = 112, 1.5


def make_model(path: Path, channels: int, *, known: bool = False, factor: float = 1.0) -> None:
    """Write convolutions, additions and activations in turn, one operator of which nobody knows unless `known`."""
    rng, shape = np.random.default_rng(0), [1, channels, 16, 16]
    nodes, weights, source = [], [], "x"
    for index in range(NODES):
        target, name = "y" if index == NODES - 1 else f"t{index}", f"n{index}"
        inputs, settings = [source], {}
        kind = ("Conv", "Relu", "Add", "Tanh")[index % 4]
        if kind in {"Conv", "Add"}:
            size = (channels, channels, 3, 3) if kind == "Conv" else (1, channels, 1, 1)
            values = rng.normal(0, (1.0 + known) * (9 * channels) ** -0.5, size).astype(np.float32)
            values *= np.float32(factor if index == WRONG else 1.0)
            weights.append(numpy_helper.from_array(values, f"w{index}"))
            inputs.append(f"w{index}")
        if kind == "Conv":
            settings = {"pads": [1] * 4}
        if index == FAULT and not known:
            kind, settings = "Unknown", {"domain": "of.nobody"}
        nodes.append(helper.make_node(kind, inputs, [target], name=name, **settings))
        source = target
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in ("x", "y")]
    inner = [helper.make_tensor_value_info(f"t{index}", TensorProto.FLOAT, shape) for index in range(NODES - 1)]
    graph = helper.make_graph(nodes, "chain", values[:1], values[1:], weights, value_info=inner)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("of.nobody", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)


def save_tensors(tool: str, folder: Path) -> None:
    """Save all tensors of the sound model."""
    saving = ["--save-inputs", "in.json", "--onnx-outputs", "*", "--save-outputs", "golden.json"]
    for words in (
        ["run", "sound.onnx", "--onnxrt", *saving],
        ["data", "merge", "in.json", "golden.json", "-o", "all.json"],
    ):
        subprocess.run([tool, *words], cwd=folder, env=environment(), capture_output=True, check=True)


def timed(
    tool: str, folder: Path, mode: str, loading: list[str], saying: list[str], expected: str
) -> tuple[float, float]:
    """Return seconds and processor seconds of one reduction, those of the checks included."""
    name = Path(tool).name
    words = [tool, "debug", "reduce", "model.onnx", "-o", "reduced.onnx", "--mode", mode]
    words += [*loading[:2], "--check", name, "run", f"{name}_debug.onnx", "--onnxrt", *loading, *saying]
    env = environment(PATH=f"{Path(tool).parent}{os.pathsep}{os.environ['PATH']}")
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, check=False)
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    found = [node.name for node in onnx.load(folder / "reduced.onnx").graph.node] if not done.returncode else []
    if found != [expected]:
        sys.exit(f"{tool} found {found}:\n{(done.stdout + done.stderr)[-3000:]}")
    (folder / "reduced.onnx").unlink()
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--channels", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--mode", choices=("bisect", "linear"), default="bisect")
    parser.add_argument("--quiet", action="store_true")
    parser.add_argument("--saved", action="store_true")
    parser.add_argument("--polygraphy-python", default=os.environ.get("POLYGRAPHY_PYTHON"))
    options = parser.parse_args()
    tools = [beside(sys.executable, "polycmp")]
    if options.polygraphy_python:
        tools.append(beside(options.polygraphy_python, "polygraphy"))
    taken: dict[str, list[tuple[float, float]]] = {tool: [] for tool in tools}
    with tempfile.TemporaryDirectory() as folder:
        factor = FACTOR if options.saved else 1.0
        make_model(Path(folder, "model.onnx"), options.channels, known=options.saved, factor=factor)
        expected, loading = f"n{WRONG if options.saved else FAULT}", list[str]()
        saying = ["-q"] if options.quiet else []
        if options.saved:
            make_model(Path(folder, "sound.onnx"), options.channels, known=True)
            save_tensors(tools[0], Path(folder))
            loading = ["--load-inputs", "all.json", "--load-outputs", "golden.json"]
        for tool in tools * options.repeats:
            taken[tool].append(timed(tool, Path(folder), options.mode, loading, saying, expected))
            print(
                f"{Path(tool).name:12}{taken[tool][-1][0]:8.2f} s {taken[tool][-1][1]:8.2f} s of a processor",
                flush=True,
            )
    if options.polygraphy_python:
        for what, column in (("seconds", 0), ("processor seconds", 1)):
            pairs = zip(*(taken[tool] for tool in tools), strict=True)
            ratios = sorted(theirs[column] / ours[column] for ours, theirs in pairs)
            middle = statistics.median(ratios)
            print(f"{what}: Polygraphy takes {middle:.1f} times as many ({ratios[0]:.1f} to {ratios[-1]:.1f})")


if __name__ == "__main__":
    main()
