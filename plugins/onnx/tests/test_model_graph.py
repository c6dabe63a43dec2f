"""Graphs that are marked and cut refer to their weights, which stay in the files they lie in."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
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
