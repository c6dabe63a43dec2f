"""Shapes that are inferred, or not."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from polycmp.errors import ModelError
from polycmp_onnx import (
    infer_shapes,
)
from polycmp_onnx.graph import element_type, known_values, shape_of


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
