"""Parts of a model that searches write one after the other: small ones whole, large weights only once."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from polycmp.errors import FileError
from polycmp_onnx.compose import make_loader
from polycmp_onnx.draft import draft


def write(path, elements, external=""):
    """Write y = x + w, with weights in the file or beside it."""
    weight = numpy_helper.from_array(np.arange(elements, dtype=np.float32), "w")
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [elements]) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Add", ["x", "w"], ["y"])], "g", values[:1], values[1:], [weight])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    more = {"save_as_external_data": True, "location": external, "size_threshold": 0} if external else {}
    onnx.save_model(model, path, **more)


def weight_of(path):
    """Return the first weight of a file, wherever it is."""
    return numpy_helper.to_array(onnx.load(path).graph.initializer[0])


@pytest.mark.parametrize("external", ["", "w.bin"])
def test_small_weights_are_in_the_file(tmp_path, external):
    write(tmp_path / "m.onnx", 100, external)
    (tmp_path / "parts").mkdir()
    draft(make_loader(str(tmp_path / "m.onnx")), str(tmp_path / "parts/p.onnx"), "weights", whole=False)
    assert [path.name for path in (tmp_path / "parts").iterdir()] == ["p.onnx"]
    assert weight_of(tmp_path / "parts/p.onnx").tolist() == list(range(100))


def test_large_weights_are_copied_once_for_all_parts_unless_a_part_is_to_be_whole(tmp_path):
    count = 1 << 18  # a MiB
    write(tmp_path / "m.onnx", count, "w.bin")
    parts = tmp_path / "parts"
    parts.mkdir()
    loader = make_loader(str(tmp_path / "m.onnx"))
    draft(loader, str(parts / "first.onnx"), "weights", whole=False)
    [copy] = (parts / "weights").iterdir()
    before = copy.stat().st_ctime_ns
    draft(loader, str(parts / "second.onnx"), "weights", whole=False)
    draft(loader, str(parts / "whole.onnx"), "weights", whole=True)
    assert [path.stat().st_ctime_ns for path in (parts / "weights").iterdir()] == [before]
    for name in ("first", "second"):
        assert (parts / f"{name}.onnx").stat().st_size < 1000
    assert (parts / "whole.onnx").stat().st_size > 4 * count
    for name in ("first", "second", "whole"):
        assert weight_of(parts / f"{name}.onnx")[-1] == count - 1


def test_a_part_beside_the_model_refers_to_its_weights(tmp_path):
    write(tmp_path / "m.onnx", 1 << 18, "w.bin")
    draft(make_loader(str(tmp_path / "m.onnx")), str(tmp_path / "p.onnx"), "weights", whole=False)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.onnx", "p.onnx", "w.bin"]
    assert weight_of(tmp_path / "p.onnx")[-1] == (1 << 18) - 1


def test_a_folder_that_is_not_there_is_an_error_in_words(tmp_path):
    write(tmp_path / "m.onnx", 4)
    with pytest.raises(FileError, match="cannot write"):
        draft(make_loader(str(tmp_path / "m.onnx")), str(tmp_path / "no/p.onnx"), "", whole=True)
