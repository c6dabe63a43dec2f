"""Loaders take a model in every form that programs have it in, and say what they take where it is none."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import polycmp_onnx
from polycmp.errors import ModelError
from polycmp.tensors import TensorMetadata
from polycmp_onnx import ReferenceRunner


@pytest.fixture(scope="module")
def model():
    nodes = [helper.make_node("Add", ["x", "one"], ["h"]), helper.make_node("Relu", ["h"], ["y"])]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 2]) for name in ("x", "y")]
    one = onnx.numpy_helper.from_array(np.ones(2, np.float32), "one")
    graph = helper.make_graph(nodes, "g", values[:1], values[1:], [one])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.fixture(params=["path", "text", "bytes", "model", "callable", "graph"])
def source(request, model, tmp_path):
    path = tmp_path / "m.onnx"
    onnx.save(model, path)
    forms = {
        "path": path,
        "text": str(path),
        "bytes": model.SerializeToString(),
        "model": model,
        "callable": lambda: model,
    }
    if request.param in forms:
        return forms[request.param]
    pytest.importorskip("onnx_graphsurgeon")
    return polycmp_onnx.gs_from_onnx(model)


@pytest.mark.parametrize(
    ("name", "keywords"),
    [
        ("infer_shapes", {"save_to_disk_threshold_bytes": 0}),
        ("modify_outputs", {"outputs": ["h"], "copy": True}),
        ("fold_constants", {"partitioning": "basic", "error_ok": True}),
        ("set_upper_bound", {"upper_bounds": 5, "copy": False}),
        ("extract_subgraph", {"output_metadata": ["h"]}),
    ],
)
def test_a_loader_takes_every_form_of_a_model(name, keywords, source):
    made = getattr(polycmp_onnx, name)(source, **keywords)
    onnx.checker.check_model(made)


def test_a_model_is_written_from_every_form(source, tmp_path):
    polycmp_onnx.save_onnx(source, tmp_path / "out.onnx")
    assert len(onnx.load(tmp_path / "out.onnx").graph.node) == 2
    assert onnx.load_model_from_string(polycmp_onnx.bytes_from_onnx(source)).graph.name


def test_the_reference_runs_every_form(source):
    with ReferenceRunner(source) as runner:
        assert runner.infer({"x": np.array([[1.0, -3.0]], np.float32)})["y"].tolist() == [[2.0, 0.0]]


def test_the_model_given_is_never_changed(model):
    before = model.SerializeToString()
    polycmp_onnx.modify_outputs(model, ["h"])
    polycmp_onnx.fold_constants(model)
    polycmp_onnx.convert_to_fp16(model, copy=False)
    assert model.SerializeToString() == before


def test_inputs_and_outputs_of_a_part_are_given_as_metadata(model):
    part = polycmp_onnx.extract_subgraph(
        model,
        input_metadata=TensorMetadata().add("h", "float32", (3, 2)),
        output_metadata=TensorMetadata().add("y", None, None),
    )
    assert [node.op_type for node in part.graph.node] == ["Relu"]
    assert [dim.dim_value for dim in part.graph.input[0].type.tensor_type.shape.dim] == [3, 2]


def test_weights_of_a_path_come_from_the_folder_that_is_named(model, tmp_path):
    (tmp_path / "weights").mkdir()
    polycmp_onnx.save_onnx(model, tmp_path / "m.onnx", external_data_path="m.data", size_threshold=0)
    (tmp_path / "m.data").rename(tmp_path / "weights" / "m.data")
    inferred = polycmp_onnx.infer_shapes(str(tmp_path / "m.onnx"), external_data_dir=str(tmp_path / "weights"))
    assert onnx.numpy_helper.to_array(inferred.graph.initializer[0]).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("wrong", [3, None, {"graph": 1}, lambda: 3])
def test_what_is_no_model_is_refused_with_what_is(wrong):
    for name in ("infer_shapes", "fold_constants", "bytes_from_onnx"):
        with pytest.raises(ModelError, match="this is not an ONNX model") as caught:
            getattr(polycmp_onnx, name)(wrong)
        assert "OnnxFromPath" in caught.value.hint
