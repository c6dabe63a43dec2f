"""Three backends, of which one disagrees with the others."""

from __future__ import annotations

import faulty_models
import numpy as np
import pytest
from located import REPORT, located


@pytest.mark.corpus
def test_with_three_backends_the_odd_one_out_is_named(folding, tmp_path, inputs):
    model = faulty_models.pad_pool(tmp_path / "m.onnx")
    words = inputs(x=np.full((1, 1, 3, 3), -1, np.float32))
    three = ("-b", "onnxrt:optimization=off", "-b", "onnx", "-b", "folding")
    done = folding("locate", model, *three, *words, *REPORT)
    assert done.returncode == 1, done.stdout + done.stderr
    assert located(tmp_path)["odd_one_out"] == "folding"
    assert "folding is right once 'padded' is an output" in located(tmp_path)["sentence"]
    assert "onnxrt:optimization=off and onnx agree with each other" in " ".join(done.stdout.split())
