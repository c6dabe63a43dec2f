"""Operators that ONNX's reference evaluator gets wrong, done right, or refused where it would be wrong silently.

Each class says what was wrong, seen with onnx 1.23.2. The classes' names follow ONNX's convention `OPERATOR_VERSION`,
by which `OpRun` finds the schema, and with it the default attributes, of that version.
"""

from __future__ import annotations

from typing import Any

#: Domains of ONNX Runtime's operators and of ONNX's operators of machine learning.
MICROSOFT, LEARNING = "com.microsoft", "ai.onnx.ml"


def text(value: Any) -> str:
    """Return an attribute's text."""
    return value.decode() if isinstance(value, bytes) else str(value)
