"""The pages of a run."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest
from browser import needs_browser, opened

from polycmp_suite.page.index import index_page
from polycmp_suite.result import CaseResult
from polycmp_suite.summary import summarize

HEAD = '[defaults]\nbackend = ["onnxrt", "onnx"]\n'


class Page(HTMLParser):
    """What stands in a page: links, texts by element, and whether it is well formed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.rows: list[dict[str, str | None]] = []
        self.open: list[str] = []
        self.texts: list[str] = []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if tag == "a":
            self.links.append(given["href"])
        if tag == "tr" and "data-mark" in given:
            self.rows.append(given)
        if tag not in {"meta", "input"}:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def test_a_case_shows_the_version_of_each_backend_and_what_locate_found(suite):
    from importlib.metadata import version

    pytest.importorskip("polycmp_locate")
    suite.write(
        '[[case]]\nmodel = "one.onnx"\nbackend = ["onnxrt", "onnxrt:model=two.onnx"]\nlocate = 60\natol = 1e-4\n'
    )
    done = suite("suite.toml", "--report", "r.md", status=1)
    assert f"onnxrt {version('onnxruntime')} ·" in done.stdout
    [result] = suite.results().values()
    assert result["located"].startswith("wrong: Mul ")
    assert "y: 4 of 4 elements differ" in result["reason"]
    assert "locate: wrong: Mul " in done.stdout
    assert "| ❌ | one | one.onnx |" in (suite.folder / "r.md").read_text(encoding="utf-8")
    [page] = suite.latest.glob("cases/*/index.html")
    assert "locate/report.html" in Page(page.read_text(encoding="utf-8")).links
    assert any("locate: wrong: Mul " in text for text in Page((suite.latest / "index.html").read_text("utf-8")).texts)
    [report] = suite.latest.glob("cases/*/locate/report.json")
    assert json.loads(report.read_text())["command"].split()[:3] == ["polycmp", "locate", "one.onnx"]


def test_nothing_is_located_where_a_case_passes_or_is_known_to_fail(suite):
    pytest.importorskip("polycmp_locate")
    suite.write(
        '[defaults]\nlocate = 60\n[[case]]\nmodel = "one.onnx"\nbackend = ["onnxrt", "onnx"]\n'
        '[[case]]\nname = "known"\nmodel = "one.onnx"\nbackend = ["onnxrt", "onnxrt:model=two.onnx"]\n'
        'expected-failure = { reason = "other weights" }\n'
        '[[case]]\nname = "search"\nmodel = "one.onnx"\nbackend = ["onnxrt", "onnx"]\ncommand = "locate"\n'
    )
    suite("suite.toml", status=0)
    assert {name: item["located"] for name, item in suite.results().items()} == {"one": "", "known": "", "search": ""}


def test_a_search_that_takes_too_long_is_ended_and_the_case_stands(suite):
    pytest.importorskip("polycmp_locate")
    suite.write('[[case]]\nmodel = "one.onnx"\nbackend = ["onnxrt", "onnxrt:model=two.onnx"]\nlocate = 0.05\n')
    suite.process("suite.toml", "-x", status=1)
    [result] = suite.results().values()
    assert result["located"] == "it took longer than 0.05 s"
    assert (result["state"], result["attempts"]) == ("failed", 1)
    assert result["reason"].startswith("y: an element is off by 0.7")
    assert "; 4 of 4 elements are beyond it" in result["reason"]


@pytest.fixture
def ran(suite):
    suite.write(
        HEAD
        + '[[case]]\nmodel = "*.onnx"\n'
        + '[[case]]\nname = "<b>bad</b>"\nmodel = "one.onnx"\nbackend = ["onnxrt", "onnxrt:model=two.onnx"]\n'
    )
    suite("suite.toml", status=1)
    suite("suite.toml", status=1)
    return suite


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


def test_the_pages_draw_past_runs(ran):
    text = (ran.latest / "index.html").read_text()
    assert "2 runs, the last: failed" in text
    assert text.count('class="trend"') == 3


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


def test_the_log_of_a_case_is_on_its_page(suite):
    (suite.folder / "empty.onnx").write_bytes(b"")
    suite.write(HEAD + '[[case]]\nmodel = "empty.onnx"\n')
    suite("suite.toml", status=3)
    page = Page(next(suite.latest.glob("cases/*/index.html")).read_text())
    assert any("ERROR" in text or "polycmp: " in text for text in page.texts)


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
