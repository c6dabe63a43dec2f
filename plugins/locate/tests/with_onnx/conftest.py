"""What tests with real models and backends share: a command line in their process, and nothing hidden.

Where ONNX or ONNX Runtime is not installed, these tests are left out.
"""

from __future__ import annotations

from importlib.util import find_spec

import pytest

NEEDED = ("onnx", "onnxruntime", "polycmp_onnx", "polycmp_onnxrt")
if all(find_spec(name) for name in NEEDED):
    from folding_backend import folding
    from onnx_commands import model, other, polycmp, shell, signals_as_a_terminal_has_them
    from optimising_backend import optimising

    __all__ = ["folding", "model", "optimising", "other", "polycmp", "shell", "signals_as_a_terminal_has_them"]
else:
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture
def inputs(tmp_path):
    """Save inputs and return the words that use them."""
    import numpy as np

    def save(**arrays):
        np.savez(tmp_path / "x.npz", **arrays)
        return ("--load-inputs", tmp_path / "x.npz")

    return save


@pytest.fixture
def calibrated(tmp_path):
    """Save inputs like those that `converted_models` calibrates with, and return the words that use them."""
    import numpy as np
    from converted_models import WIDTH

    np.savez(tmp_path / "x.npz", x=np.random.default_rng(5).random((2, 5, WIDTH), np.float32))
    return ("--load-inputs", tmp_path / "x.npz")


@pytest.fixture(scope="module", autouse=True)
def core_alone():
    """Hide nothing, unlike the tests beside this folder."""


@pytest.fixture
def record(tmp_path):
    """The right model's tensors, as a device would have left them; the model here has a wrong scale."""
    import numpy as np
    import onnx
    import onnxruntime as ort
    from layered_model import layered

    onnx.save(layered(), tmp_path / "right.onnx")
    onnx.save(layered(scale=2.5), tmp_path / "wrong.onnx")
    model = layered()
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in ("proj", "act", "mixed", "scaled"))
    session = ort.InferenceSession(model.SerializeToString())

    def tensors(seed=0):
        x = np.random.default_rng(seed).standard_normal((3, 8)).astype(np.float32)
        made = session.run(None, {"x": x})
        return {"x": x, **{item.name: array for item, array in zip(session.get_outputs(), made, strict=True)}}

    return tensors
