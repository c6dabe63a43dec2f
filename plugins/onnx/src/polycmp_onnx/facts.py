"""What tells ONNX models apart besides their digest, read without ONNX and without the weights."""

from __future__ import annotations

from pathlib import Path

from polycmp_onnx.outline import read_model


def facts(path: str) -> dict[str, int]:
    """Return the version of ONNX's own operators as `opset`; nothing for models as text, and for what is no model."""
    if Path(path).suffix.lower() != ".onnx":
        return {}
    try:
        opsets = [item.version for item in read_model(Path(path)).opset_import if item.domain in {"", "ai.onnx"}]
    except (OSError, ValueError):
        return {}
    return {"opset": opsets[-1]} if opsets else {}
