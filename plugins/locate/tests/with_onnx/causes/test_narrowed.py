"""A coarser type than the rest of a model."""

from __future__ import annotations

import converted_models as converted
import onnx
from located import locate_files, located


def test_a_cast_to_a_coarser_type_than_the_rest_is_named(polycmp, tmp_path):
    good = converted.network(tmp_path / "good.onnx")
    bad = converted.edited(good, tmp_path / "bad.onnx", converted.through("gelu1", onnx.TensorProto.FLOAT16))
    done = locate_files(polycmp, bad, good)
    assert done.status == 1, done.out
    found = located(tmp_path)
    assert found["first_bad"] == "gelu1_there"
    assert found["words"] == "calculated in a coarser type than the rest"
    assert "through float16, while the rest of the model uses float32" in found["sentence"]
