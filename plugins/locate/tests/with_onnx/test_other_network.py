"""Two files that hold different networks, of which the outputs show nothing."""

from __future__ import annotations

import numpy as np
import onnx
from located import locate_files, located
from onnx import TensorProto, helper, numpy_helper
from small_models import graph_model

from polycmp_onnx import convert_to_fp16

FLOAT = TensorProto.FLOAT


def test_a_constant_that_no_rounding_explains_is_found_where_nothing_shows_it(polycmp, tmp_path):
    """A small weight of a float16 file, one of 4,096, is 1.5 times the other file's: all others round by more."""
    random = np.random.default_rng(0)
    nodes = [
        helper.make_node("MatMul", ["x", "w0"], ["h"], name="first"),
        helper.make_node("Tanh", ["h"], ["t"], name="tanh"),
        helper.make_node("MatMul", ["t", "w1"], ["y"], name="second"),
    ]
    held = [(name, (random.standard_normal((64, 64)) / 8).astype(np.float32)) for name in ("w0", "w1")]
    model = graph_model(nodes, [("x", FLOAT, [8, 64])], [("y", FLOAT, [8, 64])], held)
    onnx.save(model, tmp_path / "old.onnx")
    half = convert_to_fp16(model)
    weight = next(item for item in half.graph.initializer if item.dims == [64, 64] and item.name.startswith("w1"))
    values = numpy_helper.to_array(weight).copy()
    at = np.unravel_index(np.argsort(np.abs(values), axis=None)[20], values.shape)
    values[at] *= np.float16(1.5)
    weight.CopyFrom(numpy_helper.from_array(values, weight.name))
    onnx.save(half, tmp_path / "new.onnx")
    done = locate_files(polycmp, tmp_path / "new.onnx", tmp_path / "old.onnx")
    found = located(tmp_path)
    assert (done.status, found["words"]) == (1, "another network"), found["sentence"]
    assert "is not the float16 of the other file's" in found["sentence"]
    assert "even so, the outputs are within tolerance" in found["sentence"]
