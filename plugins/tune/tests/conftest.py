"""What these tests share: the toy box, whose backends say themselves how long a call takes, and little else."""

from __future__ import annotations

import pytest
from commandline import core_alone_with, polycmp, toybox

__all__ = ["polycmp", "toybox"]


@pytest.fixture(scope="module", autouse=True)
def core_alone():
    """Hide ONNX, ONNX Runtime and our other plugins."""
    with core_alone_with("polycmp_tune", beside=("polycmp_report",)):
        yield
