"""ONNX Runtime Web keeps the contract of runners, in Node and in a page."""

from __future__ import annotations

import pytest
from web_marks import needs_chromium, needs_web

from polycmp.testing import OnnxRunnerContract
from polycmp_web import WebRunner
from polycmp_web.plugin import Options


@needs_web
class TestWebRunner(OnnxRunnerContract):
    def make_runner(self, load):
        return WebRunner(load, name="web")


@needs_web
@needs_chromium
@pytest.mark.corpus
class TestInAPage(OnnxRunnerContract):
    def make_runner(self, load):
        return WebRunner(load, name="web", options=Options(browser="chromium"))
