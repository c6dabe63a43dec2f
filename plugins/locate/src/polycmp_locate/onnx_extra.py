"""Features that need `polycmp-onnx`, an extra of this package: they read or write an ONNX graph node by node."""

from __future__ import annotations

from polycmp.errors import PluginError


def require_onnx(what: str) -> None:
    """Check that `polycmp-onnx` is installed.

    Args:
        what: Name of the feature that needs it, for errors.

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
