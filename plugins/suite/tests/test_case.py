"""The page of a case: versions, its log, and what the search found."""

from __future__ import annotations

import json

import pytest
from suite_pages import Page
from suite_texts import HEAD


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


def test_the_log_of_a_case_is_on_its_page(suite):
    (suite.folder / "empty.onnx").write_bytes(b"")
    suite.write(HEAD + '[[case]]\nmodel = "empty.onnx"\n')
    suite("suite.toml", status=3)
    page = Page(next(suite.latest.glob("cases/*/index.html")).read_text())
    assert any("ERROR" in text or "polycmp: " in text for text in page.texts)
