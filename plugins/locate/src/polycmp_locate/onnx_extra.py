"""What needs `polycmp-onnx`, an extra of this package: whatever reads or writes an ONNX graph node by node."""

from __future__ import annotations

from polycmp.errors import PluginError


def require_onnx(what: str) -> None:
    """Check that `polycmp-onnx` is installed.

    Args:
        what: What needs it, as errors name it.

    Raises:
        PluginError: It is not.
    """
    try:
        import polycmp_onnx  # noqa: F401  (light: it imports ONNX when it is used)
    except ImportError as error:
        raise PluginError(
            "needs the package polycmp-onnx, which is not installed",
            whose=what,
            hint="pip install 'polycmp-locate[onnx]'",
        ) from error
