"""Graphs that are marked and cut refer to their weights, which stay in the files they lie in."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from two_products import FIRST, SECOND, path, second_half, two_products, write

from polycmp.tensors import TensorMetadata
from polycmp_onnx import OnnxFromPath, SaveOnnx, graph
from polycmp_onnx.inspect import inspect
from polycmp_onnx.model_graph import open_graph
from polycmp_onnx.save import save

__all__ = ["path"]


def test_a_part_refers_to_its_weights(path):
    external = second_half(path).external()
    assert [item.name for item in external.model.graph.initializer] == ["b"]
    assert len(external.model.SerializeToString()) < 1000
    assert external.folder.samefile(path.parent)
    assert np.array_equal(external.arrays()["b"], SECOND)


def test_a_part_that_is_called_for_holds_its_weights(path):
    part = second_half(path)()
    [weight] = part.graph.initializer
    assert np.array_equal(numpy_helper.to_array(weight), SECOND)
    onnx.checker.check_model(part)


def test_a_part_too_large_for_one_file_is_saved_with_its_weights_beside_it(path, tmp_path, monkeypatch):
    """Workers get their parts as files."""
    monkeypatch.setattr(graph, "PROTOBUF_LIMIT", FIRST.nbytes)
    target = tmp_path / "new" / "part.onnx"
    save(second_half(path), str(target))
    assert sorted(item.name for item in target.parent.iterdir()) == ["part.onnx", "part.onnx.data"]
    assert target.stat().st_size < 1000
    [weight] = onnx.load(target).graph.initializer
    assert np.array_equal(numpy_helper.to_array(weight), SECOND)


_OPENED: list[str] = []  # an audit hook cannot be removed, so there is one for all tests here
sys.addaudithook(lambda event, args: _OPENED.append(str(args[0])) if event == "open" else None)


def test_the_graph_is_made_and_cut_without_reading_weights(tmp_path):
    path = tmp_path / "m.onnx"
    SaveOnnx(two_products(), path, external_data_path="w.bin")()
    with (tmp_path / "w.bin").open("r+b") as file:  # an open that is seen proves that the next ones would be, too
        file.read(1)
    assert any(name.endswith("w.bin") for name in _OPENED)
    counters = Path("/proc/self/io")
    big = tmp_path / "big.onnx"
    model = onnx.load(path, load_external_data=False)
    for tensor in model.graph.initializer:
        size = 1 << 30  # the file has holes in place of content
        del tensor.external_data[:], tensor.dims[:]
        tensor.dims.extend([1 << 14, 1 << 14])
        for key, value in (("location", "big.bin"), ("offset", 0), ("length", size)):
            tensor.external_data.add(key=key, value=str(value))
    onnx.save(model, big)
    with (tmp_path / "big.bin").open("wb") as file:
        file.truncate(1 << 30)
    before = int(counters.read_text().split()[1]) if counters.exists() else 0
    opened = open_graph(OnnxFromPath(big))
    opened.cut(TensorMetadata().add("r", np.dtype(np.float32), (2, 1 << 14)), ["y"]).external()
    assert sum(opened.weights.values()) == 2 << 30
    assert "Initializers" in inspect(OnnxFromPath(big))
    assert "a: float32[16384,16384] = [0.0, 0.0" in inspect(OnnxFromPath(big), ["weights"])
    if counters.exists():
        assert int(counters.read_text().split()[1]) - before < 1 << 20


@pytest.mark.parametrize("outside", [False, True])
def test_weights_in_another_folder(tmp_path, outside):
    path = write(tmp_path, outside)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    if outside:
        (tmp_path / "w.bin").rename(elsewhere / "w.bin")
    part = open_graph(OnnxFromPath(path, external_data_dir=elsewhere)).mark(["h"])
    assert np.array_equal(numpy_helper.to_array(part().graph.initializer[0]), FIRST)


@pytest.mark.parametrize("how", ["symbolic", "hard"])
def test_a_model_behind_a_link_is_referred_to_as_well(tmp_path, how):
    real = write(tmp_path, outside=False)
    (tmp_path / "links").mkdir()
    link = tmp_path / "links" / "other name.onnx"
    link.symlink_to(real) if how == "symbolic" else os.link(real, link)
    part = second_half(link)
    assert len(part.external().model.SerializeToString()) < 1000
    assert np.array_equal(part.external().arrays()["b"], SECOND)
    assert np.array_equal(numpy_helper.to_array(part().graph.initializer[0]), SECOND)


def test_a_branch_that_does_not_take_the_inputs_ends_no_process(tmp_path):
    """Silero's voice detector for two rates: what the other branch reads is shorter than its kernel."""
    texts = {"start": [-1], "end": [-9], "axes": [2], "step": [-1]}
    held = [numpy_helper.from_array(np.array(value, np.int64), name) for name, value in texts.items()]
    other = [
        helper.make_node("Conv", ["x", "w"], ["c"], kernel_shape=[16]),
        helper.make_node("Slice", ["c", *texts], ["from_other"]),
    ]
    branches = {
        f"{name}_branch": helper.make_graph(nodes, name, [], [onnx.ValueInfoProto(name=nodes[-1].output[0])])
        for name, nodes in {"then": [helper.make_node("Relu", ["x"], ["from_then"])], "else": other}.items()
    }
    nodes = [helper.make_node("If", ["is_short"], ["y"], **branches), helper.make_node("Neg", ["x"], ["z"])]
    entries = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, "n"])]
    entries.append(helper.make_tensor_value_info("is_short", TensorProto.BOOL, []))
    held.append(numpy_helper.from_array(np.ones((1, 1, 16), np.float32), "w"))
    ends = [onnx.ValueInfoProto(name=name) for name in "yz"]
    graph = helper.make_graph(nodes, "g", entries, ends, held)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), tmp_path / "if.onnx")
    code = """
from polycmp.tensors import TensorMetadata
from polycmp_onnx import OnnxFromPath
from polycmp_onnx.model_graph import open_graph
inputs = TensorMetadata()
inputs.add("x", "float32", [1, 1, 4])
inputs.add("is_short", "bool", [])
print(open_graph(OnnxFromPath("if.onnx")).types(inputs)["z"].shape)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "(1, 1, 4)"), done.stderr
