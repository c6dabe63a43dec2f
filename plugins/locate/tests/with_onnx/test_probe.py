"""What looking inside a model does to its outputs."""

from __future__ import annotations

import faulty_models
import numpy as np
from located import REPORT, located


def test_probing_that_moves_the_result_by_no_more_than_rounding_is_said(polycmp, tmp_path, inputs):
    model = faulty_models.conv_norm(tmp_path / "m.onnx")
    words = inputs(x=np.random.default_rng(0).standard_normal((1, 16, 32, 32)).astype(np.float32))
    words = (*words, "--atol", "1e-5", "--rtol", "1e-5")
    done = polycmp("locate", model, "-b", "onnxrt", "-b", "onnx", *words, *REPORT)
    assert polycmp("run", model, "-b", "onnxrt", "-b", "onnx", *words).status == 1
    assert done.status == 0
    found = located(tmp_path)
    assert found["words"] == "within rounding"
    assert found["probe"]["moved"] > 0
    assert not found["probe"]["trusted"]
    assert "no more than rounding explains" in found["probe"]["sentence"]
