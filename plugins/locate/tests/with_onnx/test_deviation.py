"""Constants of which a tool multiplied channels by factors: equalised weights, smoothed activations."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from equalised_models import FACTORS, equalised
from located import locate_files, located
from onnx import TensorProto, helper
from onnxruntime.quantization import CalibrationDataReader, quantize_static
from small_models import graph_model

FLOAT = TensorProto.FLOAT
ORDERS = ("new first", "old first")


@pytest.mark.parametrize("order", ORDERS)
def test_equalised_weights_are_no_fault(polycmp, tmp_path, order):
    pair = [equalised(tmp_path / "new.onnx", factors=FACTORS), equalised(tmp_path / "old.onnx")]
    done = locate_files(polycmp, *(pair if order == "new first" else pair[::-1]))
    found = located(tmp_path)
    assert (done.status, found["words"], found["first_bad"]) == (0, "equal", None), found["sentence"]
    assert "2 of 3 tensors inside the model do not" in found["sentence"]
    assert any("multiplied by factors of their own" in note for note in found["notes"])


def test_a_fault_beside_equalised_weights_is_found(polycmp, tmp_path):
    new = equalised(tmp_path / "new.onnx", factors=FACTORS, times=1.3)
    done = locate_files(polycmp, new, equalised(tmp_path / "old.onnx"))
    found = located(tmp_path)
    assert (done.status, found["first_bad"]) == (1, "y"), found["sentence"]


def test_channels_that_nothing_divides_again_are_found(polycmp, tmp_path):
    new = equalised(tmp_path / "new.onnx", factors=FACTORS, undone=False)
    done = locate_files(polycmp, new, equalised(tmp_path / "old.onnx"))
    found = located(tmp_path)
    assert (done.status, found["first_bad"]) == (1, "c1"), found["sentence"]


WIDTH = 32
CHANNELS = np.exp(np.random.default_rng(3).uniform(-1.2, 1.2, WIDTH))


def smoothed(path, factors=None, *, undone=True):
    """x -> LayerNormalization -> MatMul -> Relu -> MatMul -> y; factors go out of the activations into the weight."""
    random = np.random.default_rng(1)
    factors = np.ones(WIDTH) if factors is None else factors
    undoing = factors if undone else np.ones(WIDTH)
    weights = {
        "g": random.uniform(0.5, 1.5, WIDTH) / factors,
        "b": random.standard_normal(WIDTH) / factors,
        "w1": random.standard_normal((WIDTH, WIDTH)) * undoing[:, None],
        "w2": random.standard_normal((WIDTH, 8)),
    }
    nodes = [
        helper.make_node("LayerNormalization", ["x", "g", "b"], ["n"], name="norm"),
        helper.make_node("MatMul", ["n", "w1"], ["m"], name="first"),
        helper.make_node("Relu", ["m"], ["r"], name="relu"),
        helper.make_node("MatMul", ["r", "w2"], ["y"], name="second"),
    ]
    held = [(name, array.astype(np.float32)) for name, array in weights.items()]
    onnx.save(graph_model(nodes, [("x", FLOAT, [2, 16, WIDTH])], [("y", FLOAT, [2, 16, 8])], held), path)
    return path


class Samples(CalibrationDataReader):
    """Four samples like those that polycmp draws."""

    def __init__(self):
        rng = np.random.default_rng(1)
        self._left = [{"x": rng.random((2, 16, WIDTH), dtype=np.float32)} for _ in range(4)]

    def get_next(self):
        return self._left.pop() if self._left else None


@pytest.mark.parametrize(
    ("words", "order"),
    [
        *((("locate",), order) for order in ORDERS),
        (("run", "--mark-all"), "new first"),
        pytest.param(("run", "--mark-all"), "old first", marks=pytest.mark.corpus),
        *(pytest.param(("run",), order, marks=pytest.mark.corpus) for order in ORDERS),
    ],
)
@pytest.mark.parametrize(("undone", "status"), [(True, 0), (False, 1)], ids=["undone", "not undone"])
def test_smoothed_activations_in_eight_bits(polycmp, tmp_path, undone, status, words, order):
    """The factors are told of the normalisation: its weight and its bias are multiplied by the same ones."""
    smooth = smoothed(tmp_path / "smooth.onnx", CHANNELS, undone=undone)
    quantize_static(str(smooth), str(tmp_path / "new.onnx"), Samples(), per_channel=True, reduce_range=True)
    files = [tmp_path / "new.onnx", smoothed(tmp_path / "old.onnx")]
    done = polycmp(*words, *(files if order == "new first" else files[::-1]), "-b", "onnxrt")
    assert done.status == status, done.out
