"""The files that rows of `polygraphy_table` read: small models, and programs in the form that examples have."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from polycmp.json import save_json

#: A TensorRT plugin's pattern: a product whose only reader is a sum.
PATTERN = """
def get_plugin_metadata():
    return {"name": "scaleAdd", "op": "ScaleAdd_TRT"}


def get_matching_subgraphs(graph):
    found = []
    for node in graph.nodes:
        if node.op == "Mul" and node.o().op == "Add":
            sides = {"inputs": [node.inputs[0].name], "outputs": [node.o().outputs[0].name]}
            found.append({**sides, "attributes": {"scale": 2.0}})
    return found
"""

#: Programs in the form that the examples have; the names of modules are Polygraphy's.
PROGRAMS = {
    "many.py": """
import numpy as np


def load_data():
    for number in range(20):
        yield {"x": np.full((1, 1, 2, 2), number, dtype=np.float32)}


other_name = load_data
""",
    "data_loader.py": """
import numpy as np
from polygraphy.json import save_json


def load_data():
    for _ in range(3):
        yield {"X": np.ones(shape=(1, 2, 6, 6), dtype=np.float32)}


save_json(list(load_data()), "custom_inputs.json", description="some inputs")
""",
    "generate_data.py": """
import numpy as np
from polygraphy.comparator import RunResults
from polygraphy.json import save_json

feed = {"x": np.ones(shape=(1, 1, 2, 2), dtype=np.float32)}
save_json([feed], "made_inputs.json", description="inputs from elsewhere")
results = RunResults()
results.add([{"y": feed["x"]}], runner_name="elsewhere")
results.save("made_outputs.json")
""",
    "compare.py": """
from polygraphy.backend.onnx import GsFromOnnx, OnnxFromPath
from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx
from polygraphy.backend.pluginref import PluginRefRunner
from polygraphy.comparator import Comparator, CompareFunc


def main():
    runners = [
        PluginRefRunner(GsFromOnnx(OnnxFromPath("identity.onnx"))),
        OnnxrtRunner(SessionFromOnnx("identity.onnx")),
    ]
    run_results = Comparator.run(runners)
    assert bool(Comparator.compare_accuracy(run_results, compare_func=CompareFunc.simple(atol=1e-8)))
    run_results.save("inference_results.json")


if __name__ == "__main__":
    main()
""",
    "validate.py": """
import numpy as np
from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx

DATA = [np.full((1, 1, 2, 2), value, dtype=np.float32) for value in (1, 0, 1, 0)]

with OnnxrtRunner(SessionFromOnnx("identity.onnx")) as runner:
    for data, golden in zip(DATA, DATA):
        outputs = runner.infer(feed_dict={"x": data})
        assert np.array_equal(outputs["y"], golden)
""",
    "results.py": """
from polygraphy.comparator import RunResults
from polygraphy.json import load_json

[feed_dict] = load_json("inputs.json")
for name, array in feed_dict.items():
    print(name, array)
for runner_name, [outputs] in RunResults.load("outputs.json").items():
    for name, array in outputs.items():
        print(runner_name, name, array)
""",
    "golden.py": """
from many import load_data
from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx
from polygraphy.comparator import Comparator

runner = OnnxrtRunner(SessionFromOnnx("identity.onnx"), name="golden")
for _ in Comparator.run([runner], data_loader=load_data(), save_outputs_path="golden", streaming=True):
    pass
""",
    "streaming.py": """
from many import load_data
from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx
from polygraphy.comparator import Comparator, RunResults

runners = [OnnxrtRunner(SessionFromOnnx("identity.onnx"), name=name) for name in ("first", "second")]
results = Comparator.compare_accuracy([Comparator.run(runners, data_loader=load_data(), streaming=True)])
assert bool(results)
runner = OnnxrtRunner(SessionFromOnnx("identity.onnx"), name="onnxrt")
live = Comparator.run([runner], data_loader=load_data(), streaming=True)
assert bool(Comparator.compare_accuracy([live, RunResults.load_streaming("golden")]))
""",
}

#: A data loader for the inputs of `affine.onnx`.
LOADER = """
import numpy as np


def load_data():
    for value in range(2):
        yield {name: np.full((1, 3, 8, 8), value, np.float32) for name in ("x0", "x1")}
"""

COMPARE_TOPK = """
from polygraphy.comparator import CompareFunc, IterationResult


def of(run, name):
    return IterationResult(outputs={name: run[name]}, runner_name=run.runner_name)


def compare_outputs(run0, run1):
    found = {}
    found.update(CompareFunc.simple(atol=1e-2, rtol=1e-2)(of(run0, "values"), of(run1, "values")))
    found.update(CompareFunc.indices(index_tolerance=50)(of(run0, "indices"), of(run1, "indices")))
    return found
"""

PROFILE_CHECK = """
import pathlib
import sys

sys.exit(86 if b"Mul" in pathlib.Path("polygraphy_debug.onnx").read_bytes() else 0)
"""


def make_files(folder: Path) -> None:
    """Make the models of the examples."""
    float32, vector = TensorProto.FLOAT, helper.make_tensor_value_info
    image = [1, 3, 8, 8]

    def save(name, nodes, inputs, outputs, weights=None, graph="graph"):
        values = [numpy_helper.from_array(value, key) for key, value in (weights or {}).items()]
        made = helper.make_graph(nodes, graph, inputs, outputs, values)
        onnx.save(helper.make_model(made, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), folder / name)

    shape = [1, 1, 2, 2]
    node = helper.make_node
    save(
        "identity.onnx", [node("Identity", ["x"], ["y"])], [vector("x", float32, shape)], [vector("y", float32, shape)]
    )
    openly = [1, 2, "height", "width"]
    save("dynamic_identity.onnx", [node("Identity", ["X"], ["Y"])], [vector("X", float32, openly)],
         [vector("Y", float32, openly)])  # fmt: skip
    save("add_infinity.onnx", [node("Add", ["A", "infinity"], ["B"])], [vector("A", float32, [4])],
         [vector("B", float32, [4])], {"infinity": np.array([np.inf], np.float32)})  # fmt: skip
    weights = {"a": np.full(image, 2, np.float32), "b": np.full(image, 3, np.float32)}
    nodes = [node("Mul", ["x1", "a"], ["mul_out"], "mul"), node("Add", ["mul_out", "b"], ["add_out"], "add"),
             node("Add", ["x0", "add_out"], ["Y"], "last")]  # fmt: skip
    save("affine.onnx", nodes, [vector("x0", float32, image), vector("x1", float32, image)],
         [vector("Y", float32, image)], weights)  # fmt: skip
    sums = {name: np.full(4, value, np.float32) for value, name in enumerate("abd")}
    nodes = [node("Add", ["a", "b"], ["c"]), node("Add", ["c", "d"], ["e"]), node("Add", ["input", "e"], ["output"])]
    save("constants.onnx", nodes, [vector("input", float32, [4])], [vector("output", float32, [4])], sums)
    nodes = [node("MatMul", ["A", "B"], ["ab"], "unused"), node("MatMul", ["C", "D"], ["cd"], "fits"),
             node("Add", ["E", "F"], ["ef"], "add"), node("MatMul", ["cd", "C"], ["m"], "clash")]  # fmt: skip
    sizes = {"A": [1, 3], "B": [4, 4], "C": [3, 4], "D": [4, 1], "E": [2, 4], "F": [3, 1]}
    save("bad_graph.onnx", nodes, [vector(name, float32, size) for name, size in sizes.items()],
         [vector("m", float32, None), vector("ef", float32, None)], graph="")  # fmt: skip
    for name, pattern in (("scaleAdd", PATTERN), ("noMatch", PATTERN.replace('"Mul"', '"Div"'))):
        (folder / "plugins" / name).mkdir(parents=True)
        (folder / "plugins" / name / "pattern.py").write_text(pattern.replace("scaleAdd", name), encoding="utf-8")
    scalars = {"zero": np.array(0), "one": np.array(1)}
    nodes = [node("ReduceSum", ["n"], ["total"], keepdims=0), node("Range", ["zero", "total", "one"], ["r"])]
    save("counted.onnx", nodes, [vector("n", TensorProto.INT64, [2])], [vector("r", TensorProto.INT64, ["k"])], scalars)


def make_files_of_lines(folder: Path) -> None:
    """Make the models of the examples, and what public lines need besides."""
    make_files(folder)
    model = onnx.load(folder / "affine.onnx")
    (folder / "copy.onnx").write_bytes((folder / "constants.onnx").read_bytes())
    weight = model.graph.initializer[0]
    weight.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(weight) * 1.5, weight.name))
    onnx.save(model, folder / "other.onnx")
    (folder / "affine_loader.py").write_text(LOADER, encoding="utf-8")
    (folder / "external_weights").mkdir()
    (folder / "exclude_weights.txt").write_text("b\n", encoding="utf-8")
    (folder / "constrained_network.py").write_text("def load_network():\n    return None\n", encoding="utf-8")
    values = [helper.make_tensor_value_info(name, kind, [1, 300]) for name, kind in (("values", 1), ("indices", 7))]
    node = helper.make_node("TopK", ["x", "k"], ["values", "indices"], name="topk")
    scores = helper.make_tensor_value_info("x", 1, [1, 8400])
    graph = helper.make_graph([node], "top", [scores], values, [helper.make_tensor("k", 7, [1], [300])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "topk.onnx")
    (folder / "compare_topk.py").write_text(COMPARE_TOPK, encoding="utf-8")
    (folder / "profile_check.py").write_text(PROFILE_CHECK, encoding="utf-8")
    (folder / "subgraph_in.onnx").write_bytes((folder / "dynamic_identity.onnx").read_bytes())
    (folder / "model.engine").write_bytes(b"no engine: nothing reads it")
    save_json([{name: np.zeros((1, 3, 8, 8), np.float32) for name in ("x0", "x1")}], str(folder / "saved.json"))
