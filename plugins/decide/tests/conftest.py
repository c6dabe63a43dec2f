"""What the tests of this package share: a classifier of digits that is trained here, and commands in their process."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from json_commands import with_report

__all__ = ["with_report"]


sys.path.insert(0, str(Path(__file__).parent))


def pictures():
    """Return all pictures [N, 1, 8, 8] between 0 and 1, and their classes."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    return (digits.images / 16).astype(np.float32)[:, None], digits.target


@cache
def weights(seed=0, steps=600, hidden=64):
    """Train two layers on the first thousand pictures."""
    x, y = pictures()
    x, y = x[:1000].reshape(1000, -1), y[:1000]
    rng = np.random.default_rng(seed)
    w1, b1 = rng.normal(0, 0.15, (64, hidden)), np.zeros(hidden)
    w2, b2 = rng.normal(0, 0.15, (hidden, 10)), np.zeros(10)
    for _ in range(steps):
        rows = rng.choice(1000, 100, replace=False)
        h = np.maximum(x[rows] @ w1 + b1, 0)
        scores = h @ w2 + b2
        share = np.exp(scores - scores.max(1, keepdims=True))
        share /= share.sum(1, keepdims=True)
        share[np.arange(100), y[rows]] -= 1
        back = (share @ w2.T) * (h > 0)
        for w, gradient in ((w2, h.T @ share), (b2, share.sum(0)), (w1, x[rows].T @ back), (b1, back.sum(0))):
            np.subtract(w, 0.003 * gradient, out=w)
    return tuple(item.astype(np.float32) for item in (w1, b1, w2, b2))


def model(w1, b1, w2, b2, batch="N"):
    """Return the network as ONNX."""
    from onnx import TensorProto, helper, numpy_helper

    constants = {"w1": w1, "b1": b1, "w2": w2, "b2": b2}
    graph = helper.make_graph(
        [
            helper.make_node("Flatten", ["picture"], ["flat"]),
            helper.make_node("Gemm", ["flat", "w1", "b1"], ["hidden"]),
            helper.make_node("Relu", ["hidden"], ["active"]),
            helper.make_node("Gemm", ["active", "w2", "b2"], ["scores"]),
        ],
        "digits",
        [helper.make_tensor_value_info("picture", TensorProto.FLOAT, [batch, 1, 8, 8])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, [batch, 10])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def write(folder: Path, samples=797):
    """Write float.onnx, int8.onnx, damaged.onnx, and the last pictures in folders of their classes."""
    import onnx
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
    from PIL import Image

    class Calibration(CalibrationDataReader):
        def __init__(self):
            self.rest = iter([{"picture": pictures()[0][:200]}])

        def get_next(self):
            return next(self.rest, None)

    w1, b1, w2, b2 = weights()
    onnx.save(model(w1, b1, w2, b2), folder / "float.onnx")
    # Of unsigned weights no processor adds two products in 16 bits.
    kinds = dict.fromkeys(("activation_type", "weight_type"), QuantType.QUInt8)
    quantize_static(folder / "float.onnx", folder / "int8.onnx", Calibration(), quant_format=QuantFormat.QDQ, **kinds)
    broken = w2.copy()
    broken[:20] = 0  # what a wrong scale of some channels does
    onnx.save(model(w1, b1, broken, b2), folder / "damaged.onnx")
    x, y = pictures()
    for number in range(1000, 1000 + samples):
        at = folder / "pictures" / str(y[number])
        at.mkdir(parents=True, exist_ok=True)
        Image.fromarray((x[number, 0] * 255).astype(np.uint8)).save(at / f"{number}.png")


@pytest.fixture(scope="session")
def digits(tmp_path_factory):
    """A folder with three classifiers of digits, and pictures in folders of their classes."""
    for name in ("sklearn", "onnxruntime", "PIL"):
        pytest.importorskip(name)
    made = tmp_path_factory.mktemp("digits")
    write(made)
    return made


@pytest.fixture
def decide(with_report, tmp_path):
    """Return a function that runs `polycmp decide` in a folder, with words as a shell takes them."""

    def call(words, at=tmp_path):
        said = with_report(f"decide {words}", at)
        return said._replace(document=said.document.get("decide", {}))

    return call
