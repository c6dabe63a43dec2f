"""What the core's tests share: the toy box, a command line, and an environment with the core alone."""

from __future__ import annotations

import pytest
from commandline import core_alone_with, polycmp, run, signals_as_a_terminal_has_them, toybox

__all__ = ["polycmp", "run", "signals_as_a_terminal_has_them", "toybox"]


@pytest.fixture(scope="module", autouse=True)
def core_alone():
    """Hide ONNX, ONNX Runtime and our plugins."""
    with core_alone_with():
        yield
