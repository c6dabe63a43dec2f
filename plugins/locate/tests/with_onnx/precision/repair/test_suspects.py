"""Layers that are wrong by themselves, on the tensors of the model that theirs was made from."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import onnx
import pytest
from mending import SOURCE, WORDS
from onnx import numpy_helper

from polycmp_locate.precision.repair.suspects import is_suspect


def test_a_layer_that_cannot_even_run_alone_is_mended(polycmp, mend):
    """A Reshape to a fixed size that the batch does not fit keeps the whole model from running."""
    faulty = onnx.ModelProto()
    faulty.CopyFrom(SOURCE)
    node = next(node for node in faulty.graph.node if node.name == "to_last")
    faulty.graph.initializer.append(numpy_helper.from_array(np.array([1, 32, 32, 5], np.int64), "fixed_shape"))
    node.op_type, node.input[:] = "Reshape", [node.input[0], "fixed_shape"]
    del node.attribute[:]
    done, found = mend(faulty)
    assert "FOUND: " in done.out, done.out + done.err
    assert found["suspects"][0]["own_snr_db"] == "-inf"
    assert polycmp("run", *(word.replace("faulty", "fixed") for word in WORDS)).status == 0


class Mixer:
    """Layers of operators that are all of one type."""

    def __init__(self, dtype, op_type="Conv"):
        self.dtype, self.op_type = np.dtype(dtype), op_type

    def is_real(self, name):
        return name != "places"

    def dtype_of(self, name):
        return np.dtype(np.int64) if name == "places" else self.dtype

    def reduced_nodes(self, layer):
        return [SimpleNamespace(op_type=self.op_type)]


@pytest.mark.parametrize(
    ("dtype", "op_type", "limit"),
    [
        ("float64", "Conv", 200.0),
        ("float32", "Conv", 90.0),
        ("float16", "Conv", 45.0),
        ("float32", "DynamicQuantizeLinear", 12.0),
        ("float32", "MatMulInteger", 12.0),
    ],
)
def test_a_layer_is_suspected_of_more_than_its_types_round(dtype, op_type, limit):
    mixer, layer = Mixer(dtype, op_type), SimpleNamespace(inputs=("x", "places"), outputs=("y",))
    assert not is_suspect(mixer, layer, limit)
    assert is_suspect(mixer, layer, limit - 1e-9)
