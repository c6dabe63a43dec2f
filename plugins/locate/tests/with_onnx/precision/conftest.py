"""What tests of models of which layers stay in float share."""

from __future__ import annotations

import pytest


@pytest.fixture
def models(tmp_path):
    """Save a chain with an outlier behind its 20th layer, the same in a smaller type, and inputs."""

    import low_precision_models as low_precision
    import numpy as np
    import onnx

    def save(reduce, size, layers=40, outlier=20):
        exact = low_precision.chain(layers, outlier, size)
        onnx.save(exact, tmp_path / "float.onnx")
        onnx.save(reduce(exact, tmp_path), tmp_path / "small.onnx")
        np.savez(tmp_path / "x.npz", **low_precision.feed())
        return ("float.onnx", "-b", "onnxrt:model=small.onnx", "-b", "onnxrt", "--load-inputs", "x.npz")

    return save
