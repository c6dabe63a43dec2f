"""What tests with real models and backends share: a command line in their process, and nothing hidden.

Where ONNX or ONNX Runtime is not installed, these tests are left out.
"""

from __future__ import annotations

from importlib.util import find_spec

import pytest

NEEDED = ("onnx", "onnxruntime", "polycmp_onnx", "polycmp_onnxrt")
if all(find_spec(name) for name in NEEDED):
    from onnx_commands import model, other, polycmp, shell, signals_as_a_terminal_has_them
    from optimising_backend import optimising

    __all__ = ["model", "optimising", "other", "polycmp", "shell", "signals_as_a_terminal_has_them"]
else:
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="module", autouse=True)
def core_alone():
    """Hide nothing, unlike the tests beside this folder."""
