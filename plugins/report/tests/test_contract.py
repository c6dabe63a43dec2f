"""The reports of this package keep the contract of reports."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from polycmp.testing import ReportContract
from polycmp.testing.reports import sample_results
from polycmp_report import html, junit, markdown, sarif


class TestHtml(ReportContract):
    capabilities = {"text", "drawings"}
    suffix = ".html"

    def make_report(self):
        return html.write


class TestJunit(ReportContract):
    capabilities = {"text"}
    suffix = ".xml"

    def make_report(self):
        return junit.write

    @pytest.mark.parametrize(("name", "result"), list(sample_results()), ids=[name for name, _ in sample_results()])
    def test_cases_say_what_the_verdict_says(self, name, result):
        root = ET.fromstring(junit.to_xml(result))
        assert int(root.get("tests")) > 0
        assert (int(root.get("errors")) > 0) == (result.verdict == "error"), name
        if result.verdict == "failed":
            assert int(root.get("failures")) > 0


class TestMarkdown(ReportContract):
    capabilities = {"text"}
    suffix = ".md"

    def make_report(self):
        return markdown.write


class TestSarif(ReportContract):
    capabilities = {"text"}
    suffix = ".sarif"

    def make_report(self):
        return sarif.write
