"""The options of polycmp locate."""

from __future__ import annotations

import faulty_models


def test_options_that_only_run_has_are_refused(polycmp, tmp_path):
    model = faulty_models.chain(tmp_path / "m.onnx", 2)
    done = polycmp("locate", model, "-b", "onnxrt", "-b", "onnx", "--save-outputs", "o.npz")
    assert done.status == 2
    assert "--save-outputs" in done.err
