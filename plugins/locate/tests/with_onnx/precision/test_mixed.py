"""Models in mixed precision: layers of a float model in place of a reduced model's."""

from __future__ import annotations

import low_precision_models as low_precision
import numpy as np
import onnx
import pytest
from low_precision_models import run
from onnx import TensorProto, numpy_helper

from polycmp_locate.precision.mixed import Mixer

KINDS = [low_precision.float16, low_precision.bfloat16, low_precision.dynamic, low_precision.qdq, low_precision.int4]


@pytest.fixture(params=KINDS, ids=lambda kind: kind.__name__)
def mixer(request, tmp_path):
    exact = low_precision.chain(4)
    return Mixer(exact, request.param(exact, tmp_path))


def test_with_all_layers_in_float_it_computes_what_the_float_model_does(mixer):
    mixed = mixer.mix(mixer.layers)
    onnx.checker.check_model(mixed)
    assert not np.allclose(run(mixer.reduced), run(mixer.exact), atol=1e-6)
    np.testing.assert_allclose(run(mixed), run(mixer.exact), atol=1e-6)


def test_with_no_layer_in_float_it_is_the_reduced_model(mixer):
    assert mixer.mix(()) == mixer.reduced


def test_each_layer_alone_in_float_is_a_valid_model_with_less_error(mixer):
    expected = run(mixer.exact)

    def error(model):
        return float(np.square(run(model) - expected).sum())

    matrices = [layer for layer in mixer.layers if layer.op_type == "MatMul"]
    assert [layer.name for layer in matrices] == [f"matmul{index}" for index in range(1, 5)]
    assert all(layer.reduced for layer in matrices)
    for layer in mixer.layers:
        onnx.checker.check_model(mixer.mix([layer]))
    assert error(mixer.mix(matrices)) < error(mixer.reduced)


def test_a_layer_in_float_has_the_float_models_weight_and_nothing_is_left_over(mixer):
    layer = next(layer for layer in mixer.layers if layer.name == "matmul2")
    mixed = mixer.mix([layer])
    weights = {item.name: item for item in mixed.graph.initializer}
    wanted = weight_of(mixer.exact, "w2")
    floats = [item for item in weights.values() if np.array_equal(numpy_helper.to_array(item), wanted)]
    assert [item.data_type for item in floats] == [TensorProto.FLOAT]
    assert weights.keys() <= {name for node in mixed.graph.node for name in node.input}


def test_layers_alone_say_what_types_they_make(mixer):
    """Compilers such as TensorRT refuse an output without a type."""
    forced = mixer.forced(mixer.layers)
    types = {value.name: value.type.tensor_type.elem_type for value in forced.model.graph.output}
    assert types == {made: mixer.type_of(name) for name, made in forced.outputs.items()}
    assert 0 not in types.values()


def weight_of(model, name):
    return numpy_helper.to_array(next(item for item in model.graph.initializer if item.name == name))


def test_layers_in_float_next_to_each_other_hand_over_float(tmp_path):
    exact = low_precision.chain(3, outlier=1, size=1e6)
    mixer = Mixer(exact, low_precision.float16(exact, tmp_path))
    through = [layer for layer in mixer.layers if layer.name in {"matmul1", "add1", "matmul2"}]
    assert not np.isfinite(run(mixer.reduced)).all() or not np.allclose(run(mixer.reduced), run(exact), atol=1e-2)
    np.testing.assert_allclose(run(mixer.mix(through)), run(exact), atol=1e-2)
