"""Models of a few operators, and what they compute on ONNX's evaluator and on ONNX Runtime."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from small_models import graph_model

from polycmp_onnx.describe import describe

FLOAT, INT = TensorProto.FLOAT, TensorProto.INT64
#: Has ONNX Runtime end the process that loads a model.
ABORTS = "onnxruntime.InferenceSession = lambda *a, **k: os.abort()\n"


def run_in_ort(model, feed):
    """Return the outputs of a model by name, as ONNX Runtime computes them."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.log_severity_level = 3
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, feed), strict=True))


def outputs_of(model):
    """Return the names of the outputs."""
    return [value.name for value in model.graph.output]


def ran(model, feed):
    """Return a model's outputs, as ONNX's reference evaluator computes them."""
    model = onnx.load(model) if not isinstance(model, onnx.ModelProto) else model
    return ReferenceEvaluator(model).run(None, feed)


def old_model():
    """Return a model as exporters wrote it up to 2019: its weights are inputs, too."""
    made = graph_model(
        [helper.make_node("MatMul", ["x", "w"], ["h"], "mm"), helper.make_node("Relu", ["h"], ["y"], "relu")],
        [("x", FLOAT, ["n", 2]), ("w", FLOAT, [2, 2])],
        [("y", FLOAT, ["n", 2])],
        [("w", np.array([[1, -2], [3, 4]], np.float32))],
        opset=9,
    )
    made.ir_version = 3
    return made


def function_model(name, body, nodes, weights=()):
    made = graph_model(nodes, [("x", FLOAT, [2, 3])], [("y", FLOAT, None)], weights)
    made.functions.append(helper.make_function("my", name, ["p"], ["q"], body, [helper.make_opsetid("", 17)]))
    made.opset_import.append(helper.make_opsetid("my", 1))
    return made


def relu(name="y", shape=("n", 2), op="Relu", kind=FLOAT):
    return graph_model([helper.make_node(op, ["x"], [name])], [("x", kind, shape)], [(name, kind, shape)])


def agree(model, made, feed, atol=2e-2):
    """Require that two models make the same of a feed, up to rounding to float16."""
    for one, other in zip(ran(model, feed), ran(made, feed), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, atol=atol)


def yolo_grid():
    """Return an anchor grid as YOLOs of dynamic size compute it."""
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Gather", ["s", "zero"], ["g"]),
        helper.make_node("Cast", ["g"], ["f"], "to_float", to=FLOAT),
        helper.make_node("Range", ["start", "f", "one"], ["r"], "range"),
        helper.make_node("Mul", ["x", "r"], ["y"], "mul"),
    ]
    weights = [("zero", np.array(0)), ("start", np.float32(0)), ("one", np.float32(1))]
    weights = [(name, np.asarray(array)) for name, array in weights]
    return graph_model(nodes, [("x", FLOAT, ["n"])], [("y", FLOAT, ["n"])], weights)


def role_of_x(tmp_path, nodes, entry, weights):
    """Return the role of the input x, as read from a file without `onnx` and from the model itself."""
    model = graph_model(nodes, [("x", *entry)], [("y", INT, None)], weights)
    onnx.save(model, tmp_path / "m.onnx")
    (found,) = {describe(source).inputs["x"].role for source in (tmp_path / "m.onnx", lambda: model)}
    return found
