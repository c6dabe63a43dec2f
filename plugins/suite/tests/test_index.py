"""The pages of a run."""

from __future__ import annotations

import re

import pytest
from browser import needs_browser, opened
from suite_pages import Page

from polycmp_suite.page.index import index_page
from polycmp_suite.result import CaseResult
from polycmp_suite.summary import summarize


def test_the_index_leads_to_a_page_of_every_case(ran):
    page = Page((ran.latest / "index.html").read_text())
    assert [row["data-mark"] for row in page.rows] == ["failed", "passed", "passed"]
    for link in page.links:
        assert (ran.latest / link).is_file()
        case = Page((ran.latest / link).read_text())
        for inner in case.links:
            assert ((ran.latest / link).parent / inner).is_file()
    assert "<b>bad</b>" in page.texts
    assert any("opset 17" in text and "sha256" in text for text in page.texts)


def test_pages_fetch_nothing_and_run_nothing_of_others(ran):
    for path in ran.latest.rglob("index.html"):
        text = path.read_text()
        assert "default-src 'none'" in re.search(r'Policy" content="([^"]*)"', text)[1].replace("&#x27;", "'")
        assert "<b>bad" not in text
        assert "http" not in re.sub(r"http-equiv", "", text)


def test_an_index_of_500_cases_is_small():
    cases = [
        CaseResult(
            f"model-{number}/a-rather-long-name[onnxrt+onnx]",
            ("passed", "failed")[number % 2],
            "passed",
            reason="output: 3 of 10 elements differ by more than 1e-05; the largest difference is 0.3",
            model=f"models/model-{number}.onnx",
            backends=("onnxrt", "onnx"),
            seconds=1.0,
            max_error=1e-3,
        )
        for number in range(500)
    ]
    past = {case.case: [case] * 20 for case in cases}
    text = index_page(summarize("big", cases, {}), cases, {}, past)
    assert len(text.encode()) < 2_000_000
    assert len(index_page(summarize("big", cases, {}), cases, {}, {}).encode()) < 500_000


@pytest.mark.slow
@needs_browser
class TestInBrowser:
    """In headless Chromium, which runs the script of the index."""

    def browse(self, path, tmp_path, script="", width=1400):
        text = path.read_text()
        if script:
            text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
            text = text.replace("</body>", f"<script>{script}</script></body>")
        copy = tmp_path / "copy.html"
        copy.write_text(text)
        return opened(copy, "--dump-dom", f"--window-size={width},900", timeout=100)

    def test_the_script_runs_as_the_policy_allows(self, ran, tmp_path):
        done = self.browse(ran.latest / "index.html", tmp_path)
        assert "CONSOLE" not in done.stderr, done.stderr

    def test_cases_are_filtered_and_found(self, ran, tmp_path):
        script = (
            "const s = document.querySelector('select[data-filter=model]'); s.value = 'one.onnx';"
            "s.dispatchEvent(new Event('change'));"
            "const f = document.getElementById('search'); f.value = 'BAD'; f.dispatchEvent(new Event('input'));"
        )
        done = self.browse(ran.latest / "index.html", tmp_path, script)
        rows = re.findall(r'<tr data-mark="(\w+)" data-model="([\w.]+)"[^>]*?( hidden="")?>', done.stdout)
        assert rows == [
            ("failed", "one.onnx", ""),
            ("passed", "one.onnx", ' hidden=""'),
            ("passed", "two.onnx", ' hidden=""'),
        ]
        assert "1 of 3 shown" in done.stdout

    @pytest.mark.parametrize("width", [400, pytest.param(1400, marks=pytest.mark.corpus)])
    def test_nothing_is_wider_than_the_window(self, ran, tmp_path, width):
        script = "document.title = document.documentElement.scrollWidth + ' in ' + innerWidth"
        for page in (ran.latest / "index.html", *ran.latest.glob("cases/b-bad*/*.html")):
            done = self.browse(page, tmp_path, script, width)
            inside, window = map(int, re.search(r"<title>(\d+) in (\d+)</title>", done.stdout).groups())
            assert inside <= window, page
