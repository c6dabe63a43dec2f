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
