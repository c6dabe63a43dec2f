"""Command lines of the tools that polycmp and Polygraphy both accept, and the files that they work on.

`benchmarks/tool_commands.py` runs the same lines with an installed Polygraphy and says where the two differ.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from polycmp.results.files import InputsWriter, OutputsWriter

F = TensorProto.FLOAT

#: What both tools do with a line, as exit statuses: Polygraphy's, then polycmp's.
TABLE = """
0 0  inspect model model.onnx
0 0  inspect model model.onnx --show layers
0 0  inspect model model.onnx --show layers attrs weights
0 0  inspect model branch.onnx --show layers attrs weights
0 0  inspect model range.onnx --list-unbounded-dds
0 0  inspect model model.onnx --shape-inference
0 0  inspect model outside.onnx
0 0  inspect model outside.onnx --ignore-external-data
0 0  inspect model moved.onnx --external-data-dir weights
0 0  inspect model model.onnx --model-type onnx
0 0  inspect model model.onnx --show layers --combine-tensor-info out.json
0 0  inspect model model.onnx -v
0 0  inspect model model.onnx --silent
0 0  inspect model model.onnx --log-file log.txt --log-format timestamp no-colors
1 3  inspect model nowhere.onnx
1 3  inspect model bad.onnx
0 0  inspect data in.json
0 0  inspect data out.json
0 0  inspect data out.json --all
0 0  inspect data in.json --show-values -n 1 --line-width 40
0 0  inspect data in.json --histogram
1 3  inspect data nowhere.json
1 3  inspect data bad.json
0 0  inspect sparsity model.onnx
0 0  convert model.onnx -o made.onnx
0 0  convert model.onnx --fp-to-fp16 -o made.onnx
0 0  convert model.onnx --onnx-outputs h r -o made.onnx
0 0  convert model.onnx --onnx-outputs * -o made.onnx
0 0  convert model.onnx --onnx-outputs * --onnx-exclude-outputs h -o made.onnx
0 0  convert model.onnx --shape-inference -o made.onnx
0 0  convert model.onnx -o made.onnx --save-external-data made.data --external-data-size-threshold 16
0 0  convert model.onnx --convert-to onnx -o made.bin
1 2  convert model.onnx -o made.xyz
1 2  convert model.onnx --onnx-outputs nobody -o made.onnx
1 3  convert nowhere.onnx -o made.onnx
1 3  convert bad.onnx -o made.onnx
0 0  surgeon sanitize model.onnx --fold-constants -o made.onnx
0 0  surgeon sanitize model.onnx --fold-constants --num-passes 1 -o made.onnx
0 0  surgeon sanitize model.onnx --fold-constants --partitioning recursive -o made.onnx
0 0  surgeon sanitize model.onnx --fold-constants --no-fold-shapes --no-per-pass-shape-inference -o made.onnx
0 0  surgeon sanitize model.onnx --fold-constants --fold-size-threshold 16 -o made.onnx
0 0  surgeon sanitize model.onnx --override-input-shapes x:[4,8] -o made.onnx
0 0  surgeon sanitize model.onnx --cleanup --toposort -o made.onnx
0 0  surgeon sanitize unsorted.onnx --toposort -o made.onnx
0 0  surgeon sanitize model.onnx --outputs r --no-shape-inference -o made.onnx
0 0  surgeon sanitize model.onnx --force-fallback-shape-inference -o made.onnx
0 0  surgeon sanitize range.onnx --set-unbounded-dds-upper-bound 100 -o made.onnx
0 0  surgeon sanitize outside.onnx --fold-constants -o made.onnx --save-external-data made.data
1 3  surgeon sanitize nowhere.onnx -o made.onnx
0 0  surgeon extract model.onnx --inputs m:auto:auto --outputs r:auto -o made.onnx
0 0  surgeon extract model.onnx --inputs m:[2,8]:float32 --outputs r:float32 -o made.onnx
0 0  surgeon extract model.onnx --outputs m:auto -o made.onnx
0 0  surgeon extract model.onnx --inputs m:auto:auto --outputs r:auto --model-input-shapes x:[2,8] -o made.onnx
1 2  surgeon extract model.onnx --outputs nobody:auto -o made.onnx
0 0  surgeon insert model.onnx --op Sigmoid --inputs m --outputs r --name new -o made.onnx
0 0  surgeon insert model.onnx --op Scale --inputs x --outputs x --attrs by=1.5 axes=[0,1] -o made.onnx
1 2  surgeon insert model.onnx --op Relu --inputs nobody --outputs r -o made.onnx
0 0  surgeon prune model.onnx -o made.onnx
0 0  surgeon weight-strip model.onnx -o made.onnx
0 0  surgeon weight-strip model.onnx --exclude-list keep.txt -o made.onnx
0 0  surgeon weight-reconstruct stripped.onnx -o made.onnx
0 0  check lint model.onnx
0 0  check lint model.onnx --input-shapes x:[2,8] -o made.json
0 0  check lint model.onnx --providers cpu --graph-optimization-level ORT_ENABLE_ALL
1 1  check lint mismatch.onnx -o made.json
1 1  check lint bad.onnx
1 1  check lint empty.onnx
0 0  data concat in.json in2.json -o made.json
0 0  data concat out.json out2.json -o made.json
1 2  data concat in.json out.json -o made.json
0 0  data merge in.json other.json -o made.json
0 0  data merge in.json out.json -o made.json
1 3  data merge nowhere.json in.json -o made.json
"""


def lines() -> list[tuple[int, int, list[str]]]:
    """Return of each line Polygraphy's exit status, that of polycmp, and its words."""
    rows = (line.split() for line in TABLE.strip().splitlines())
    return [(int(theirs), int(ours), words) for theirs, ours, *words in rows]


def make_files(folder: Path) -> None:
    """Make the files that the lines name."""
    models(folder)
    (folder / "bad.onnx").write_text("no model")
    (folder / "empty.onnx").write_bytes(b"")
    (folder / "bad.json").write_text("{")
    (folder / "keep.txt").write_text("w\n")
    for name, tensor, values in (("in", "x", (1, 2)), ("in2", "x", (3, 4)), ("other", "z", (5, 6))):
        with InputsWriter(folder / f"{name}.json") as feeds:
            for value in values:
                feeds.add({tensor: np.full((2, 8), value, np.float32)})
    for name in ("out", "out2"):
        with OutputsWriter(folder / f"{name}.json") as runs:
            for value in (1, 2):
                runs.add(name, {tensor: np.full((2, 8), value, np.float32) for tensor in ("m", "r", "y")}, 0.1)


def models(folder: Path) -> None:
    """Make the models."""
    weights = {"w": np.linspace(-1, 1, 64, dtype=np.float32).reshape(8, 8), "one": np.array([1]), "two": np.array([-1])}
    nodes = [
        helper.make_node("Add", ["w", "w"], ["w2"], "double"),
        helper.make_node("MatMul", ["x", "w"], ["h"], "before"),
        helper.make_node("MatMul", ["h", "w2"], ["m"], "matmul"),
        helper.make_node("Relu", ["m"], ["r"], "relu"),
        helper.make_node("Shape", ["x"], ["s"], "shape"),
        helper.make_node("Gather", ["s", "one"], ["d"], "gather"),
        helper.make_node("Concat", ["two", "d"], ["t"], "concat", axis=0),
        helper.make_node("Reshape", ["r", "t"], ["y"], "reshape"),
    ]
    x, y = {"x": ["n", 8]}, {"y": ["n", 8]}
    model = build(nodes, x, y, weights)
    onnx.save(model, folder / "model.onnx")
    onnx.save(build(nodes[::-1], x, y, weights), folder / "unsorted.onnx")
    outside = {"save_as_external_data": True, "size_threshold": 0, "convert_attribute": False}
    onnx.save(build(nodes, x, y, weights), folder / "outside.onnx", location="o.data", **outside)
    (folder / "weights").mkdir()
    moved = build(nodes, x, y, weights)
    onnx.save(moved, folder / "weights" / "moved.onnx", location="m.data", **outside)
    (folder / "weights" / "moved.onnx").rename(folder / "moved.onnx")
    stripped = build(nodes, x, y, weights)
    stripped.graph.initializer[0].ClearField("raw_data")
    stripped.graph.initializer[0].raw_data = b""
    stripped.graph.initializer[0].doc_string = "TRT_WEIGHTLESS/"
    (folder / "stripped.onnx").write_bytes(stripped.SerializeToString())
    wrong = [helper.make_node("MatMul", ["x", "wide"], ["y"], "wrong")]
    onnx.save(
        build(wrong, {"x": [2, 8]}, {"y": [2, 3]}, {"wide": np.ones((5, 3), np.float32)}), folder / "mismatch.onnx"
    )
    counting = [
        helper.make_node("NonZero", ["x"], ["z"]),
        helper.make_node("Shape", ["z"], ["s"]),
        helper.make_node("Gather", ["s", "last"], ["k"]),
        helper.make_node("Range", ["zero", "k", "step"], ["y"]),
    ]
    scalars = {name: np.array(number) for name, number in (("last", 1), ("zero", 0), ("step", 1))}
    ranged = build(counting, {"x": [8]}, {"y": ["k"]}, scalars)
    ranged.graph.output[0].type.tensor_type.elem_type = TensorProto.INT64
    onnx.save(ranged, folder / "range.onnx")
    ones = numpy_helper.from_array(np.ones(8, np.float32), "b")
    branches = {
        f"{name}_branch": helper.make_graph(
            [helper.make_node(op, ["x", "b"], [f"{name}_y"])], name, [],
            [helper.make_tensor_value_info(f"{name}_y", F, [8])], [ones],
        )
        for name, op in (("then", "Add"), ("else", "Sub"))
    }  # fmt: skip
    flag = {"flag": np.array(True)}
    onnx.save(
        build([helper.make_node("If", ["flag"], ["y"], **branches)], {"x": [8]}, {"y": [8]}, flag),
        folder / "branch.onnx",
    )


def build(nodes, inputs, outputs, weights):
    """Return a model."""
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(name, F, shape) for name, shape in inputs.items()],
        [helper.make_tensor_value_info(name, F, shape) for name, shape in outputs.items()],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])
