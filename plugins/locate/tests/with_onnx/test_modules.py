"""Records of hooks on modules: a module's output is the tensor that its last operator makes."""

from __future__ import annotations

import numpy as np
from located import REPORT, located
from onnx import TensorProto

FLOAT = TensorProto.FLOAT


def test_outputs_of_modules_that_hooks_recorded_are_matched(polycmp, record, tmp_path):
    made = record()
    names = {"layer.0.dense": "proj", "layer.0": "act", "layer.1.dense": "mixed", "layer.1.scale": "scaled"}
    np.savez("hooks.npz", x=made["x"], **{name: made[tensor] for name, tensor in names.items()})
    done = polycmp("locate", "wrong.onnx", "-b", "onnxrt", "--load-outputs", "hooks.npz", *REPORT)
    assert done.status == 1, done.out + done.err
    found = located(tmp_path)
    assert [row["tensor"] for row in found["tensors"]] == ["proj", "act", "mixed", "scaled"]
    assert found["first_bad"] == "scaled"
    assert "4 by module" in " ".join(done.out.split())
