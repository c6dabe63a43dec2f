"""The structure of a large file, read without its weights."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from polycmp.errors import ModelError
from polycmp_onnx.describe import describe
from polycmp_onnx.load import LARGE_FILE, structure_from_path
from polycmp_onnx.structure import referring_to_itself


@pytest.fixture
def large(tmp_path):
    """A file of about 4 MB: x -> MatMul -> Reshape by a small initializer -> y."""
    weights = [
        numpy_helper.from_array(np.ones((1024, 1024), np.float32), "W"),
        helper.make_tensor("V", TensorProto.FLOAT, [2000], np.ones(2000, np.float32)),
        numpy_helper.from_array(np.array([2, -1], np.int64), "shape"),
    ]
    nodes = [helper.make_node("MatMul", ["x", "W"], ["h"]), helper.make_node("Reshape", ["h", "shape"], ["y"])]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in "xy"]
    values[0] = helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 1024])
    graph = helper.make_graph(nodes, "large", values[:1], values[1:], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path = tmp_path / "large.onnx"
    onnx.save(model, path)
    assert path.stat().st_size > LARGE_FILE
    return path


def test_is_the_model_without_the_content_of_large_weights(large):
    light = structure_from_path(large)
    assert light.ByteSize() < 10_000
    whole = onnx.load(large)
    for tensor in (*whole.graph.initializer[:2],):
        tensor.ClearField("raw_data")
        tensor.ClearField("float_data")
    assert light == whole


def test_describes_as_the_whole_model_does(large):
    found = describe(large)
    assert str(found.inputs) == "{x [dtype=float32, shape=(4, 1024)]}"
    assert list(found.outputs) == ["y"]
    assert found.tensors == ("x", "h", "y")


@pytest.mark.parametrize("share", [0.2, 0.5, 0.999])
def test_a_file_cut_short_is_refused(large, share):
    content = large.read_bytes()
    large.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(ModelError, match=r"large\.onnx is not"):
        structure_from_path(large)


def test_a_large_file_that_is_no_model_is_refused(tmp_path):
    path = tmp_path / "noise.onnx"
    path.write_bytes(np.random.default_rng(0).bytes(2 * LARGE_FILE))
    with pytest.raises(ModelError, match=r"noise\.onnx is not"):
        structure_from_path(path)


def test_a_file_that_refers_to_its_own_weights_is_the_same_model(large):
    content = referring_to_itself(large)
    assert content is not None
    assert len(content) < 16_000  # `V` is no raw data, so it stays
    model = onnx.load_model_from_string(content)
    onnx.external_data_helper.load_external_data_for_model(model, str(large.parent))
    for tensor in model.graph.initializer:
        tensor.ClearField("data_location")
    assert model == onnx.load(large)


def test_files_that_cannot_refer_to_themselves_are_read_whole(large, tmp_path):
    link = tmp_path / "link.onnx"
    link.symlink_to(large)
    assert referring_to_itself(link) is None
    outside = tmp_path / "outside.onnx"
    onnx.save(onnx.load(large), outside, save_as_external_data=True, location="weights.bin", size_threshold=5000)
    assert referring_to_itself(outside) is None
    small = tmp_path / "small.onnx"
    model = onnx.load(large)
    del model.graph.initializer[0]
    onnx.save(model, small)
    assert referring_to_itself(small) is None
    small.write_bytes(large.read_bytes()[:-1])
    assert referring_to_itself(small) is None
    assert referring_to_itself(tmp_path / "none.onnx") is None
