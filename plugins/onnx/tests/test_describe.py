"""Describing a model: its inputs, outputs and tensors, without its weights."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from polycmp.errors import ModelError
from polycmp.model import Model
from polycmp.plugins import Registry
from polycmp_onnx.describe import describe


def test_names_ranges_and_open_dimensions_are_read(tmp_path):
    value = helper.make_tensor_value_info
    table = helper.make_tensor("table", TensorProto.FLOAT, [30, 4], [0.0] * 120)
    scale = helper.make_tensor("scale", TensorProto.FLOAT, [1], [2.0])
    graph = helper.make_graph(
        [
            helper.make_node("Cast", ["ids"], ["cast"], to=TensorProto.INT32),
            helper.make_node("Gather", ["table", "cast"], ["rows"], axis=-2),
            helper.make_node("Mul", ["rows", "scale"], ["ä"]),
        ],
        "g",
        [value("ids", TensorProto.INT64, ["batch", None, 3]), value("scale", TensorProto.FLOAT, [1])],
        [value("ä", TensorProto.FLOAT, None), value("rows", TensorProto.FLOAT, ["batch", 2, 3, 4])],
        [table, scale],
    )
    onnx.save(helper.make_model(graph), tmp_path / "m.onnx")
    described = describe(tmp_path / "m.onnx")
    assert list(described.inputs) == ["ids"]
    assert set(described.outputs) == {"ä", "rows"}
    assert described.inputs["ids"].shape == ("batch", -1, 3)
    assert described.inputs["ids"].range == (0.0, 29.0)


@pytest.mark.parametrize("kept", [0, 1, 20, 60, -1])
def test_a_file_that_was_cut_short_is_refused_as_before(mlp_file, kept):
    content = Path(mlp_file).read_bytes()
    Path(mlp_file).write_bytes(content[:kept])
    with pytest.raises(ModelError):
        describe(mlp_file)


def test_one_reading_of_the_file_serves_the_description_and_the_hints(mlp_file):
    model = Model(str(mlp_file), Registry.discover())
    described = model.describe()
    Path(mlp_file).unlink()
    hints = model.hints()
    assert described is not None and hints is not None
    assert hints.sizes(described.inputs) is not None
