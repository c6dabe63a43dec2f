"""Says what is here of what these tests ask: Node, onnxruntime-web, Chromium."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from polycmp.errors import PluginError
from polycmp_web.library import library, node, program


def _reason() -> str:
    try:
        node("web")
        library("", "web")
    except PluginError as error:
        return f"{error.what}: make test-web"
    return ""


_REASON = _reason()
needs_web = pytest.mark.skipif(bool(_REASON), reason=_REASON)
needs_chromium = pytest.mark.skipif(
    find_spec("playwright") is None or not any(map(program, ("chromium", "chromium-browser", "google-chrome"))),
    reason="needs Playwright, and chromium on PATH",
)
