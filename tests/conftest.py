"""What tests that cross packages share: a command line in their process, and ONNX models for it."""

from __future__ import annotations

from onnx_commands import (
    made_workshop,
    model,
    other,
    polycmp,
    shell,
    signals_as_a_terminal_has_them,
    workshop,
)

__all__ = [
    "made_workshop",
    "model",
    "other",
    "polycmp",
    "shell",
    "signals_as_a_terminal_has_them",
    "workshop",
]
