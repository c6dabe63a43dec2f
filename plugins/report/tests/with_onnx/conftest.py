"""What tests with real models and backends share: a command line in their process, and models.

Where ONNX, ONNX Runtime or `locate` is not installed, these tests are left out.
"""

from __future__ import annotations

from importlib.util import find_spec

if all(find_spec(name) for name in ("onnx", "onnxruntime", "polycmp_onnx", "polycmp_onnxrt", "polycmp_locate")):
    from onnx_commands import model, other, polycmp, signals_as_a_terminal_has_them

    __all__ = ["model", "other", "polycmp", "signals_as_a_terminal_has_them"]
else:
    collect_ignore_glob = ["test_*.py"]
