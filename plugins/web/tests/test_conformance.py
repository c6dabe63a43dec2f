"""ONNX Runtime Web keeps the contract of runners."""

from __future__ import annotations

from web_marks import needs_web

from polycmp.testing import OnnxRunnerContract
from polycmp_web import WebRunner

pytestmark = needs_web


class TestWebRunner(OnnxRunnerContract):
    def make_runner(self, load):
        return WebRunner(load, name="web")
