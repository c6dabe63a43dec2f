"""Folders in which tutorials' commands run: models with the names and inputs they speak of, small enough for a test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from polycmp.results.files import InputsWriter

#: Data loader scripts as such tutorials write them, without their comments.
SCRIPTS = Path(__file__).parent / "data" / "tutorial_scripts"

#: `data_loader.py` for a model with the input X, as such tutorials write it.
X_LOADER = """
import numpy as np

INPUT_SHAPE = (1, 2, 28, 28)


def load_data():
    for _ in range(5):
        yield {"X": np.ones(shape=INPUT_SHAPE, dtype=np.float32)}
"""


def image_model() -> onnx.ModelProto:
    """Images [n,3,224,224] -> a coarse convolution, a Relu, and outputs of it."""
    weight = np.random.default_rng(0).standard_normal((4, 3, 16, 16)).astype(np.float32) * 0.2
    names = ["output1", "output2", "final_output"]
    nodes = [
        helper.make_node("Conv", ["input", "W"], ["conv1_output"], kernel_shape=[16, 16], strides=[16, 16]),
        helper.make_node("Relu", ["conv1_output"], ["relu1_output"]),
        helper.make_node("GlobalAveragePool", ["relu1_output"], ["output1"]),
        helper.make_node("GlobalMaxPool", ["relu1_output"], ["output2"]),
        helper.make_node("Add", ["output1", "output2"], ["final_output"]),
    ]
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 4, 1, 1]) for name in names]
    inputs = [helper.make_tensor_value_info("input", TensorProto.FLOAT, ["n", 3, 224, 224])]
    graph = helper.make_graph(nodes, "images", inputs, outputs, [numpy_helper.from_array(weight, "W")])
    return _model(graph)


def multi_input_model() -> onnx.ModelProto:
    """An image and a mask -> their product."""
    inputs = {"image": [1, 3, 224, 224], "mask": [1, 1, 224, 224]}
    graph = helper.make_graph(
        [helper.make_node("Mul", ["image", "mask"], ["masked"])],
        "masking",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()],
        [helper.make_tensor_value_info("masked", TensorProto.FLOAT, [1, 3, 224, 224])],
    )
    return _model(graph)


def tokens_model() -> onnx.ModelProto:
    """Three int64 inputs of a text model -> an embedding of the tokens, masked and shifted by position."""
    table = np.random.default_rng(0).standard_normal((30522, 4)).astype(np.float32)
    names = ["input_ids", "attention_mask", "position_ids"]
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["embedded"]),
        helper.make_node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
        helper.make_node("Cast", ["position_ids"], ["position"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["mask", "position"], ["weight"]),
        helper.make_node("Unsqueeze", ["weight", "axis"], ["column"]),
        helper.make_node("Mul", ["embedded", "column"], ["hidden"]),
    ]
    graph = helper.make_graph(
        nodes,
        "tokens",
        [helper.make_tensor_value_info(name, TensorProto.INT64, ["n", "length"]) for name in names],
        [helper.make_tensor_value_info("hidden", TensorProto.FLOAT, ["n", "length", 4])],
        [numpy_helper.from_array(table, "table"), numpy_helper.from_array(np.array([2], np.int64), "axis")],
    )
    return _model(graph)


def identity_model(name: str, shape: list[Any], output: str, *, half: bool = False) -> onnx.ModelProto:
    """One input -> the same, by way of float16 if asked for."""
    nodes = [helper.make_node("Identity", [name], [output])]
    if half:
        nodes = [
            helper.make_node("Cast", [name], ["half"], to=TensorProto.FLOAT16),
            helper.make_node("Identity", ["half"], ["same"]),
            helper.make_node("Cast", ["same"], [output], to=TensorProto.FLOAT),
        ]
    graph = helper.make_graph(
        nodes,
        "identity",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)],
    )
    return _model(graph)


def _model(graph: onnx.GraphProto) -> onnx.ModelProto:
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    return model


def script(name: str) -> str:
    """Return the text of a data loader script."""
    return (SCRIPTS / f"{name}.txt").read_text()


def make_images(folder: Path) -> None:
    """Write two tiny pictures."""
    import cv2

    folder.mkdir()
    for name, value in (("dark.png", 30), ("bright.jpg", 220)):
        picture = np.full((9, 12, 3), value, np.uint8)
        picture[2:5, 3:7] = (10, 120, 250)
        assert cv2.imwrite(str(folder / name), picture)


def make_scene(folder: Path, commands: str) -> None:
    """Write whatever the commands mention."""
    models = {
        "identity.onnx": identity_model("x", [1, 1, 2, 2], "y"),
        "identity_fp16.onnx": identity_model("x", [1, 1, 2, 2], "y", half=True),
        "dynamic_identity.onnx": identity_model("X", [1, 2, "height", "width"], "Y"),
        "multi_input_model.onnx": multi_input_model(),
        **dict.fromkeys(("models/first.onnx", "models/second.onnx"), image_model()),
        **{
            f"{name}.onnx": image_model()
            for name in ("model", "resnet50", "large_model", "huge_model", "dynamic_model")
        },
    }
    for name, model in models.items():
        if f" {name}" in commands:
            (folder / name).parent.mkdir(exist_ok=True)
            onnx.save(model, folder / name)
    loader = script("data_loader.py") if " model.onnx" in commands else X_LOADER
    (folder / "data_loader.py").write_text(loader)
    if "calibration_data.py" in commands:
        (folder / "calibration_data.py").write_text(script("calibration_data.py"))
        make_images(folder / "calibration_images")
    if "polygraphy_debug.engine" in commands:
        (folder / "polygraphy_debug.engine").write_bytes(b"not built here")
    image = np.random.default_rng(1).random((1, 3, 224, 224), np.float32)
    if "--load-inputs inputs.json" in commands and " model.onnx" in commands:
        _save(folder / "inputs.json", {"input": image})
    _save(folder / "real_data.json", {"input": image})
    _save(folder / "custom_inputs.json", {"X": np.ones((1, 2, 28, 28), np.float32)})


def _save(path: Path, feed: dict[str, Any]) -> None:
    with InputsWriter(path) as writer:
        writer.add(feed)
