"""Facts that tell ONNX models apart besides their digest, read without the weights."""

from __future__ import annotations

from pathlib import Path

from polycmp.errors import ModelError
from polycmp_onnx.graph import opset_of
from polycmp_onnx.load import structure_from_path


def facts(path: str) -> dict[str, int]:
    """Return the version of ONNX's own operators as `opset`; nothing for models as text, and for what is no model."""
    if Path(path).suffix.lower() != ".onnx":
        return {}
    try:
        opset = opset_of(structure_from_path(path))
    except ModelError:
        return {}
    return {"opset": opset} if opset else {}
