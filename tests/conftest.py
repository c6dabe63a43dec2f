"""What tests that cross packages share: a command line in their process, and ONNX models for it."""

from __future__ import annotations

import logging

import pytest
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


@pytest.fixture(scope="module", autouse=True)
def no_handler_is_left():
    """Refuse what the tests of a module leave on polycmp's logger: those of others would print by it."""
    before = logging.getLogger("polycmp").handlers[:]
    yield
    assert logging.getLogger("polycmp").handlers == before
