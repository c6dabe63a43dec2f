"""Reports of `run` and of other commands alone say which model it was: name, digest, opset, size."""

from __future__ import annotations

import hashlib
import re
from xml.etree import ElementTree as ET

import onnx
import pytest


@pytest.fixture
def words(model):
    """The model as reports shall name it."""
    opset = next(item.version for item in onnx.load(model).opset_import if not item.domain)
    size = f"{model.stat().st_size} B"
    return f"model.onnx (sha256 {hashlib.sha256(model.read_bytes()).hexdigest()[:12]}, opset {opset}, {size})"


def page_of(path) -> tuple[str, str, str]:
    text = path.read_text()
    title = re.search("<title>(.*?)</title>", text)
    header = re.search("<header.*?</header>", text, re.S)
    assert title is not None and header is not None
    return title[1], re.search("<h1>(.*?)</h1>", header[0])[1], header[0]


def test_a_page_has_the_model_in_title_and_heading(polycmp, words, tmp_path):
    assert polycmp("run", "model.onnx", "-b", "onnxrt", "-b", "onnx", "--report", "r.html").status == 0
    title, heading, header = page_of(tmp_path / "r.html")
    assert words in title
    assert heading == "Passed: model.onnx"
    assert words in header


def test_junit_has_the_model_in_suites_and_classes(polycmp, words, tmp_path):
    assert polycmp("run", "model.onnx", "-b", "onnxrt", "-b", "onnx", "--report", "r.xml").status == 0
    root = ET.parse(tmp_path / "r.xml").getroot()
    assert [suite.get("name") for suite in root] == ["model.onnx: onnxrt against onnx"]
    assert {case.get("classname") for case in root.iter("testcase")} == {"model.onnx: onnxrt"}
    (told,) = root.iter("property")
    assert f"model.onnx ({told.get('value')})" == words
    assert told.get("name") == "model model.onnx"


def test_annotations_and_the_step_summary_have_both_models(polycmp, words, other, tmp_path, monkeypatch):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    done = polycmp("run", "other.onnx", "model.onnx", "-b", "onnxrt")
    assert done.status == 1, done.err
    [annotation, *_] = [line for line in done.out.splitlines() if line.startswith("::error ")]
    title = annotation.partition("title=")[2].partition("::")[0].replace("%3A", ":").replace("%2C", ",")
    assert title.startswith("other.onnx and model.onnx: ")
    heading, _, line = (tmp_path / "summary.md").read_text().splitlines()[:3]
    assert heading.startswith("### polycmp: other.onnx and model.onnx: FAILED")
    assert words in line


def test_locate_names_the_model_as_run_does(polycmp, words, tmp_path):
    polycmp("locate", "model.onnx", "-b", "onnxrt", "-b", "onnx", "--report", "r.html", "r.md")
    title, heading, _ = page_of(tmp_path / "r.html")
    assert words in title
    assert heading.endswith(": model.onnx")
    assert words in (tmp_path / "r.md").read_text()


def test_a_file_that_breaks_off_has_no_opset_and_no_report_fails_for_it(polycmp, model, tmp_path):
    from polycmp_onnx.facts import facts

    whole = model.read_bytes()
    for length in range(0, len(whole), 97):
        (tmp_path / "part.onnx").write_bytes(whole[:length])
        assert set(facts(str(tmp_path / "part.onnx"))) <= {"opset"}
    done = polycmp("run", "part.onnx", "-b", "onnxrt", "-b", "onnx", "--report", "r.html")
    assert done.status == 3
