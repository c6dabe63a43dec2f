"""Describing a model: its inputs, outputs and tensors, without its weights."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from polycmp.errors import ModelError, UsageError
from polycmp.model import Model
from polycmp.plugins import Registry
from polycmp_onnx.compose import make_loader
from polycmp_onnx.describe import describe
from polycmp_onnx.plugin import LoaderOptions


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


def test_the_description_agrees_with_the_model(mlp, mlp_file):
    description = describe(mlp_file, LoaderOptions())
    assert str(description.inputs) == "{x [dtype=float32, shape=('n', 8)]}"
    assert str(description.outputs) == "{y [dtype=float32, shape=('n', 4)]}"
    assert set(description.tensors) == {"x", "h", "r", "one", "s", "sf", "t", "m", "y"}
    for options in (
        LoaderOptions(mark_all=True),
        LoaderOptions(outputs=("s*",)),
        LoaderOptions(outputs_by_type=("Mul",)),
    ):
        made = make_loader(mlp_file, options)()
        outputs = describe(mlp_file, options).outputs
        assert [*outputs] == [value.name for value in made.graph.output]
        assert all(entry.dtype is not None and entry.shape is not None for entry in outputs.values())


def test_a_description_needs_no_weights_and_reports_errors(mlp, tmp_path):
    from polycmp_onnx import save_onnx

    path = tmp_path / "m.onnx"
    save_onnx(mlp, path, external_data_path="w.bin", size_threshold=1)
    (tmp_path / "w.bin").unlink()
    assert [*describe(path).inputs] == ["x"]
    with pytest.raises(ModelError):
        make_loader(path)()
    with pytest.raises(UsageError, match="'h'"):
        describe(path, LoaderOptions(outputs=("hh",)))
    with pytest.raises(ModelError):
        describe(tmp_path / "w.bin")


def test_weights_listed_as_inputs_are_no_inputs(mlp, mlp_file):
    value = mlp.graph.input.add()
    value.CopyFrom(onnx.helper.make_tensor_value_info("w", 1, [8, 4]))
    assert [*describe(lambda: mlp).inputs] == ["x"]
