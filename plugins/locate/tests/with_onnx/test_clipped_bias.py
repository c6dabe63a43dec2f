"""A bias that a quantiser clipped to 32 bits."""

from __future__ import annotations

import converted_models as converted
import numpy as np
from located import locate_files, located
from onnxruntime.quantization import QuantType


def test_a_bias_that_32_bits_do_not_hold_is_told(polycmp, tmp_path):
    good = converted.edited(
        converted.bent(tmp_path / "good.onnx", "CSC"), tmp_path / "good.onnx", converted.scaled("0.bias", 30)
    )
    options = {"activation_type": QuantType.QUInt16, "weight_type": QuantType.QUInt16, "reduce_range": False}
    made = converted.static(good, tmp_path / "int16.onnx", **options)
    rng = np.random.default_rng(7)
    np.savez(tmp_path / "usual.npz", x=rng.standard_normal((2, 5, converted.WIDTH)).astype(np.float32))
    done = locate_files(polycmp, made, good, "--load-inputs", "usual.npz")
    found = located(tmp_path)
    assert (done.status, found["operator"]["name"]) == (1, "n_t0"), found["sentence"]
    assert "cause: '0.bias_quantized' holds the end of int32" in " ".join(found["notes"])
