"""The folder in which the command lines of the parity list and of the seeds run: small models, scripts, saved runs.

Everything in it is made from fixed numbers, so that two tools that run in two copies of it see the same bytes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from small_models import small_model, unary_model

from polycmp.results.files import InputsWriter, OutputsWriter

SCRIPTS = {
    "loader.py": """
import numpy as np


def load_data():
    for i in range(3):
        yield {"x": np.full((2, 8), i, np.float32)}


def as_list():
    return [{"x": np.ones((1, 8), np.float32)}]


class Endless:
    def __iter__(self):
        assert "x" in self.input_metadata
        yield {"x": np.ones((1, 8), np.float32)}

    input_metadata = None


instance = Endless()


def doubles():
    return [{"x": np.ones((1, 8))}]


def whole_numbers():
    return [{"x": np.ones((1, 8), np.int32)}]


def extra_tensor():
    return [{"x": np.ones((1, 8), np.float32), "unused": np.zeros(1, np.float32)}]


def wrong_shape():
    return [{"x": np.ones((1, 7), np.float32)}]


def no_feeds():
    return 5


def positional():
    return [{"something": np.ones((1, 8), np.float32)}]


def raises():
    raise RuntimeError("no data today")
""",
    "post.py": """
def postprocess_outputs(result):
    assert result.runner_name and result.runtime is not None
    for name, output in result.items():
        result[name] = output * 2
    return result


def forgets(result):
    pass


def raises(result):
    raise ValueError("cannot")
""",
    "compare.py": """
from collections import OrderedDict

import numpy as np


def compare_outputs(result, other):
    assert result.runner_name and other.runner_name and result.runtime is not None
    return OrderedDict((name, np.allclose(array, other[name])) for name, array in result.items())


def never(result, other):
    return OrderedDict((name, False) for name in result.keys())


class Comparer:
    def __call__(self, result, other):
        return compare_outputs(result, other)


def raises(result, other):
    raise ValueError("cannot")
""",
    "syntax_error.py": "def load_data(:\n",
}


def two_inputs() -> onnx.ModelProto:
    """Image [n,3,4,4] and mask [n,1,4,4] -> their product."""
    shapes = {"image": ["n", 3, 4, 4], "mask": ["n", 1, 4, 4]}
    graph = helper.make_graph(
        [helper.make_node("Mul", ["image", "mask"], ["y"])],
        "two",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 3, 4, 4])],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def reshaping() -> onnx.ModelProto:
    """Input x [6] and int64 shape [2] -> x reshaped."""
    graph = helper.make_graph(
        [helper.make_node("Reshape", ["x", "shape"], ["y"])],
        "reshaping",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, [6]),
            helper.make_tensor_value_info("shape", TensorProto.INT64, [2]),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["a", "b"])],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def feeds(count: int, seed: int = 1, batch: int = 1) -> list[dict[str, Any]]:
    """Return what the data loaders of both tools make for the input x of the small model."""
    return [{"x": np.random.RandomState(seed + i).random_sample((batch, 8)).astype(np.float32)} for i in range(count)]


def outputs_of(feed: dict[str, Any]) -> dict[str, Any]:
    """Return the small model's output, calculated without any backend."""
    weight = np.random.default_rng(0).standard_normal((8, 8)).astype(np.float32)
    hidden = np.maximum(feed["x"].astype(np.float64) @ weight, 0)
    powers = np.exp(hidden - hidden.max(-1, keepdims=True))
    return {"y": (powers / powers.sum(-1, keepdims=True)).astype(np.float32)}


def make_workshop(folder: Path) -> None:
    """Fill an empty folder."""
    for name, text in SCRIPTS.items():
        (folder / name).write_text(text.lstrip())
    models = {
        "model.onnx": small_model(),
        "other.onnx": small_model(seed=1),
        "two.onnx": two_inputs(),
        "reshaping.onnx": reshaping(),
        "identity.onnx": unary_model("Identity"),
        "nan.onnx": unary_model("Sqrt"),
        "int.onnx": unary_model("Neg", TensorProto.INT64),
        "bool.onnx": unary_model("Not", TensorProto.BOOL),
        "strange.onnx": unary_model("NoSuchOperator"),
    }
    for name, model in models.items():
        onnx.save(model, folder / name)
    (folder / "outside").mkdir()
    large = small_model()
    for tensor in large.graph.initializer:
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor), tensor.name))
    onnx.save(
        large, folder / "outside" / "model.onnx", save_as_external_data=True, location="outside.bin", size_threshold=0
    )
    (folder / "garbage.onnx").write_bytes(b"this is no model")
    (folder / "empty.json").write_text("")
    (folder / "cut.json").write_text('{"lst": [["a", [')
    save_runs(folder)


def save_runs(folder: Path) -> None:
    """Write inputs of three iterations, their outputs, and outputs that differ."""
    made = feeds(3)
    for path in ("inputs.json", "inputs_folder"):
        with InputsWriter(folder / path) as inputs:
            for feed in made:
                inputs.add(feed)
    for path, change in (("golden.json", 0.0), ("golden_folder", 0.0), ("wrong.json", 0.25)):
        with OutputsWriter(folder / path) as outputs:
            for feed in made:
                right = outputs_of(feed)
                outputs.add("numpy", {"y": right["y"] + np.float32(change)}, 0.001)
    save_outputs(folder / "one.json", outputs_of(made[0]))
    with InputsWriter(folder / "transposed_inputs.json") as inputs:
        inputs.add({"x": feeds(1, batch=2)[0]["x"].T.copy()})
    save_outputs(folder / "more.json", {"y": outputs_of(made[0])["y"], "z": np.zeros(3, np.float32)})
    save_outputs(folder / "int_low.json", {"y": np.array([5], np.int32)})
    save_outputs(folder / "int_high.json", {"y": np.array([-(2**31)], np.int32)})
    save_outputs(folder / "long_a.json", {"y": np.array([1e30, 1e10], np.float32)})
    save_outputs(folder / "long_b.json", {"y": np.array([1e10, 1e30], np.float32)})
    save_outputs(folder / "transposed.json", {"y": outputs_of(made[0])["y"].reshape(8, 1)})


def save_outputs(path: Path, outputs: dict[str, Any]) -> None:
    """Write one iteration."""
    with OutputsWriter(path) as writer:
        writer.add("numpy", outputs, 0.001)
