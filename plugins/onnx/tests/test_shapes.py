"""Shapes that are inferred, or not."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from polycmp.errors import ModelError
from polycmp_onnx import (
    infer_shapes,
)
from polycmp_onnx.graph import element_type, known_values, shape_of
from polycmp_onnx.shapes import value_types


@pytest.mark.parametrize("allow", [True, False])
def test_shapes_are_inferred(mlp, allow):
    known = known_values(infer_shapes(mlp, allow_onnxruntime=allow).graph)
    assert shape_of(known["h"]) == ["n", 4]
    assert element_type(known["s"]) == np.int64


def test_shape_inference_that_fails(mlp):
    broken = onnx.ModelProto()
    broken.CopyFrom(mlp)
    broken.graph.initializer[0].dims[:] = [4, 8]  # x has 8 columns
    with pytest.raises(ModelError, match="shape inference failed"):
        infer_shapes(broken, error_ok=False)
    assert infer_shapes(broken).graph.node == broken.graph.node


def test_half_of_a_spectrum_is_inferred_where_the_attribute_is_left_out():
    """onnx 1.23 takes `onesided` for 0 where it is absent; ONNX Runtime refuses a model whose outputs say so."""
    nodes = [
        helper.make_node("STFT", ["x", "step", "", "length"], ["spectrum"]),
        helper.make_node("Mul", ["spectrum", "spectrum"], ["square"]),
        helper.make_node("Relu", ["square"], ["y"]),
    ]
    values = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 256, 1]),
        helper.make_empty_tensor_value_info("y"),
    ]
    weights = [
        numpy_helper.from_array(np.array(value, np.int64), name) for name, value in (("step", 16), ("length", 32))
    ]
    graph = helper.make_graph(nodes, "spectrum", values[:1], values[1:], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    shapes = {
        name: [dim.dim_value for dim in value.type.tensor_type.shape.dim] for name, value in value_types(model).items()
    }
    assert shapes["square"] == [1, 15, 17, 2]
    assert not model.graph.node[0].attribute, "the model itself is left as it is"
