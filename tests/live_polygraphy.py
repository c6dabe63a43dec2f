"""Tests that hold polycmp beside an installed Polygraphy: `make test-polygraphy` names its interpreter."""

from __future__ import annotations

import os

import pytest

POLYGRAPHY_PYTHON = os.environ.get("POLYGRAPHY_PYTHON", "")


def live(test):
    """Mark a test that needs the environment variable POLYGRAPHY_PYTHON."""
    needs = pytest.mark.skipif(
        not POLYGRAPHY_PYTHON, reason="POLYGRAPHY_PYTHON names no interpreter with Polygraphy, ONNX and ONNX Runtime"
    )
    return pytest.mark.polygraphy(needs(test))
