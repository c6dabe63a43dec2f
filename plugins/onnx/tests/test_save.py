"""Models as files: weights beside them, limits of protobuf, and nothing left of a save that failed."""

from __future__ import annotations

import os

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx_results import FLOAT, ran, run_in_ort
from small_models import graph_model

from polycmp.errors import ModelError
from polycmp_onnx import (
    OnnxFromPath,
    SaveOnnx,
    convert_to_fp16,
    infer_shapes,
    onnx_from_path,
    save_onnx,
)
from polycmp_onnx.graph import known_values, shape_of
from polycmp_onnx.save import save


def test_external_data_round_trip(mlp, tmp_path, feed):
    path = tmp_path / "model.onnx"
    SaveOnnx(mlp, path, external_data_path="w.bin", size_threshold=16)()
    assert sorted(item.name for item in tmp_path.iterdir()) == ["model.onnx", "w.bin"]
    assert (tmp_path / "w.bin").stat().st_size >= 8 * 4 * 4
    loader = OnnxFromPath(path)
    assert loader.path == str(path)
    np.testing.assert_array_equal(run_in_ort(loader(), feed)["y"], run_in_ort(mlp, feed)["y"])
    structure = onnx_from_path(path, ignore_external_data=True)
    assert not structure.graph.initializer[0].raw_data


def test_external_data_elsewhere(mlp, tmp_path, feed):
    path = tmp_path / "model.onnx"
    save_onnx(mlp, path, external_data_path="w.bin", size_threshold=16)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "w.bin").rename(elsewhere / "w.bin")
    with pytest.raises(ModelError, match="outside the file") as caught:
        onnx_from_path(path)
    assert "--external-data-dir" in caught.value.hint
    loader = OnnxFromPath(path, external_data_dir=elsewhere)
    assert loader.path is None
    np.testing.assert_array_equal(run_in_ort(loader(), feed)["y"], run_in_ort(mlp, feed)["y"])


def test_saving_over_external_data_does_not_append(mlp, tmp_path):
    path = tmp_path / "model.onnx"
    sizes = set()
    for _ in range(2):
        save_onnx(mlp, path, external_data_path="", size_threshold=16)
        sizes.add((tmp_path / "model.onnx.data").stat().st_size)
    assert len(sizes) == 1


def test_one_file_per_tensor_and_threshold(tmp_path):
    weights = {"a": np.zeros(100, np.float32), "b": np.ones(100, np.float32), "c": np.ones(1, np.float32)}
    nodes = [helper.make_node("Sum", ["a", "b", "c"], ["y"])]
    graph = helper.make_graph(
        nodes,
        "g",
        [],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [100])],
        # typed data rather than raw: must go outside too
        [helper.make_tensor(name, TensorProto.FLOAT, array.shape, array) for name, array in weights.items()],
    )
    model = helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 17)])
    save_onnx(model, tmp_path / "m.onnx", external_data_path="", size_threshold=64, all_tensors_to_one_file=False)
    assert sorted(item.name for item in tmp_path.iterdir()) == ["a", "b", "m.onnx"]
    assert run_in_ort(onnx_from_path(tmp_path / "m.onnx"), {})["y"].sum() == 200


def test_a_failed_save_leaves_nothing(mlp, tmp_path):
    (tmp_path / "file").write_text("in the way")
    for external in (None, ""):
        with pytest.raises(Exception, match="cannot write"):
            save_onnx(mlp, tmp_path / "file" / "m.onnx", external_data_path=external)
    assert os.listdir(tmp_path) == ["file"]


def test_models_beyond_the_limit_of_protobuf(mlp, tmp_path, feed, monkeypatch):
    monkeypatch.setattr("polycmp_onnx.graph.PROTOBUF_LIMIT", 1)
    save_onnx(mlp, tmp_path / "m.onnx", size_threshold=16)
    assert (tmp_path / "m.onnx.data").exists(), "weights go outside although nobody asked"
    shaped = infer_shapes(onnx_from_path(tmp_path / "m.onnx"), allow_onnxruntime=False)
    assert shape_of(known_values(shaped.graph)["h"]) == ["n", 4]
    np.testing.assert_allclose(run_in_ort(shaped, feed)["y"], run_in_ort(mlp, feed)["y"], rtol=1e-5)
    assert run_in_ort(convert_to_fp16(mlp), feed)["y"].dtype == np.float32


def test_no_weight_takes_the_name_of_the_model_or_of_another_file(tmp_path):
    names = ["out.onnx", "notes.txt", "W", "w"]
    weights = [(name, np.full(4, index, np.float32)) for index, name in enumerate(names)]
    nodes = [helper.make_node("Sum", ["x", *names], ["y"])]
    model = graph_model(nodes, [("x", FLOAT, [4])], [("y", FLOAT, [4])], weights)
    (tmp_path / "notes.txt").write_text("mine")
    for _ in range(2):  # the second time its own files are there already
        save_onnx(model, tmp_path / "out.onnx", "", size_threshold=0, all_tensors_to_one_file=False)
        assert (tmp_path / "notes.txt").read_text() == "mine"
        assert ran(tmp_path / "out.onnx", {"x": np.zeros(4, np.float32)})[0].tolist() == [6] * 4
        files = sorted(item.name.casefold() for item in tmp_path.iterdir())
        assert files == ["notes.txt", "notes.txt_", "out.onnx", "out.onnx_", "w", "w_"]


def test_saving_for_convert(mlp, tmp_path):
    save(lambda: mlp, str(tmp_path / "out.onnx"))
    assert onnx.load(str(tmp_path / "out.onnx")) == mlp
