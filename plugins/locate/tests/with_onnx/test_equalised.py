"""`polycmp locate` on files whose channels a tool multiplied: equalised weights, smoothed activations."""

from __future__ import annotations

import json

import numpy as np
import onnx
import pytest
from equalised_models import FACTORS, equalised
from onnx import TensorProto, helper
from onnxruntime.quantization import CalibrationDataReader, quantize_static
from small_models import graph_model

FLOAT = TensorProto.FLOAT


@pytest.fixture
def located(polycmp, tmp_path):
    """Search for what differs between two files, and return the exit status and the report."""

    def run(new, old):
        words = ("locate", new, "-b", "onnxrt", "-b", f"onnxrt:name=old,model={old}", "--report", "found.json")
        done = polycmp(*words)
        return done.status, json.loads((tmp_path / "found.json").read_text())

    return run


@pytest.mark.parametrize("order", ["new first", "old first"])
def test_equalised_weights_are_no_fault(located, tmp_path, order):
    pair = [equalised(tmp_path / "new.onnx", factors=FACTORS), equalised(tmp_path / "old.onnx")]
    status, found = located(*(pair if order == "new first" else pair[::-1]))
    assert (status, found["words"], found["first_bad"]) == (0, "equal", None), found["sentence"]
    assert "2 of 3 tensors inside the model do not" in found["sentence"]
    assert any("multiplied by factors of their own" in note for note in found["notes"])


def test_a_fault_beside_equalised_weights_is_found(located, tmp_path):
    new = equalised(tmp_path / "new.onnx", factors=FACTORS, times=1.3)
    status, found = located(new, equalised(tmp_path / "old.onnx"))
    assert (status, found["first_bad"]) == (1, "y"), found["sentence"]


def test_channels_that_nothing_divides_again_are_found(located, tmp_path):
    new = equalised(tmp_path / "new.onnx", factors=FACTORS, undone=False)
    status, found = located(new, equalised(tmp_path / "old.onnx"))
    assert (status, found["first_bad"]) == (1, "c1"), found["sentence"]


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


@pytest.mark.parametrize("order", ["new first", "old first"])
@pytest.mark.parametrize("words", [("run",), ("run", "--mark-all"), ("locate",)], ids=" ".join)
@pytest.mark.parametrize(("undone", "status"), [(True, 0), (False, 1)], ids=["undone", "not undone"])
def test_smoothed_activations_in_eight_bits(polycmp, tmp_path, undone, status, words, order):
    """The factors are told of the normalisation: its weight and its bias are multiplied by the same ones."""
    smooth = smoothed(tmp_path / "smooth.onnx", CHANNELS, undone=undone)
    quantize_static(str(smooth), str(tmp_path / "new.onnx"), Samples(), per_channel=True)
    files = [tmp_path / "new.onnx", smoothed(tmp_path / "old.onnx")]
    done = polycmp(*words, *(files if order == "new first" else files[::-1]), "-b", "onnxrt")
    assert done.status == status, done.out
