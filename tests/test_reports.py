"""Reports of whole runs: every format at once, what CI is told, which model it was, and pictures."""

from __future__ import annotations

import hashlib
import json
import re
from xml.etree import ElementTree as ET

import numpy as np
import onnx
import pytest
from sarif_check import wrong_in

SUFFIXES = ("json", "html", "xml", "md", "sarif")
BOTH = "model.onnx and other.onnx"
PAIR = ("-b", "onnx", "-b", "onnx:model=OTHER,name=old")


def test_every_format_tells_the_same(polycmp, model, other, tmp_path):
    reports = [word for suffix in ("json", "html", "xml") for word in ("--report", f"r.{suffix}")]
    done = polycmp("run", model, "-b", f"onnxrt:model={other}", "-b", "onnxrt:threads=1", "-b", "onnx", *reports)
    assert done.status == 1
    found = json.loads((tmp_path / "r.json").read_text())
    assert set(found["environment"]) >= {"python", "polycmp", "numpy", "platform", "cpu"}
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    for pair in found["comparison_results"]:
        for output in pair["outputs"].values():
            assert output["reason"].split(";")[0] in page
    root = ET.parse(tmp_path / "r.xml").getroot()
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("2", "1", "0")
    assert found["environment"]["cpu"] in page


def test_outputs_that_hold_nan_are_failures_of_their_own(polycmp, tmp_path):
    from small_models import unary_model

    onnx.save(unary_model("Log"), tmp_path / "log.onnx")
    words = ("--val-range", "[-2,-1]", "--nan", "equal", "--validate")
    done = polycmp("run", "log.onnx", "-b", "onnxrt", "-b", "onnx", *words, "--report", "r.xml", "--report", "r.html")
    assert done.status == 1
    root = ET.parse(tmp_path / "r.xml").getroot()
    assert [item.get("message") for item in root.iter("failure")] == [
        "4 NaN and 0 infinite values, the first at [0]"
    ] * 2
    assert (tmp_path / "r.html").read_text(encoding="utf-8").count("y is not finite") == 2


def test_github_gets_annotations_and_a_summary(polycmp, model, other, tmp_path, monkeypatch):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    done = polycmp("run", model, "-b", "onnxrt", "-b", f"onnxrt:model={other},name=old")
    assert done.status == 1
    [line] = [line for line in done.out.splitlines() if line.startswith("::error")]
    assert line.startswith(
        "::error title=model.onnx and other.onnx%3A onnxrt against old%3A y::an element is off by 0.0"
    )
    assert "; 8 of 8 elements are beyond it" in line
    assert "| ❌ | y | float32" in (tmp_path / "summary.md").read_text(encoding="utf-8")


def test_saved_outputs_are_named_in_reports_as_models_are(polycmp, tmp_path):
    np.savez(tmp_path / "new.npz", y=np.float32([1, 2]))
    np.savez(tmp_path / "old.npz", y=np.float32([1, 3]))
    done = polycmp("compare", "new.npz", "old.npz", "--report", "r.sarif", "r.xml", "r.md")
    assert done.status == 1
    [alert] = json.loads((tmp_path / "r.sarif").read_text(encoding="utf-8"))["runs"][0]["results"]
    assert alert["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "new.npz"
    assert ET.parse(tmp_path / "r.xml").getroot()[0].get("name").startswith("new.npz and old.npz: ")
    assert "old.npz (sha256 " in (tmp_path / "r.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "status", "suite", "case"),
    [
        (("run", "MODEL", *PAIR), 1, f"{BOTH}: onnx against old", "y"),
        (("locate", "MODEL", *PAIR), 1, f"{BOTH}: locate onnx against old", "h"),
        (
            ("invariants", "MODEL", "-b", "onnx", "--checks", "repeat", "permute"),
            0,
            "model.onnx: invariants onnx",
            "repeat",
        ),
        (
            ("selftest", "-b", "onnx", "--faults", "fp16", "saturate", "--atol", "0.01"),
            1,
            "selftest.textproto: selftest onnx",
            "fp16",
        ),
        (("check", "accuracy", "metrics.json"), 1, "onnx against old", "y"),
    ],
    ids=["run", "locate", "invariants", "selftest", "check"],
)
def test_every_command_has_every_report(polycmp, model, other, tmp_path, words, status, suite, case):
    pair = ("-b", "onnx", "-b", f"onnx:model={other},name=old")
    polycmp("run", model, *pair, "--save-accuracy-results", "metrics.json")
    words = [word.replace("MODEL", str(model)).replace("OTHER", str(other)) for word in words]
    done = polycmp(*words, *(word for suffix in SUFFIXES for word in ("--report", f"r.{suffix}")))
    assert done.status == status, done.err
    document = json.loads((tmp_path / "r.json").read_text())
    heading = (
        done.out.splitlines()[-1].partition(":")[0] if status == 0 else {"locate": "FOUND"}.get(words[0], "FAILED")
    )
    assert document["verdict"] == {0: "passed", 1: "failed"}[status]
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    named = {"selftest": "selftest.textproto", "check": ""}.get(words[0], "model.onnx")  # saved metrics have no model
    link = " in " if heading == "FOUND" else ": "
    assert f"<h1>{heading.capitalize()}{f'{link}{named}' if named else '</h1>'}" in page
    root = ET.parse(tmp_path / "r.xml").getroot()
    [found] = [item for item in root if item.get("name") == suite]
    assert case in [item.get("name") for item in found]
    assert (int(root.get("failures")) > 0, root.get("errors")) == (status == 1, "0")
    text = (tmp_path / "r.md").read_text(encoding="utf-8")
    first = text.splitlines()[0]
    assert first.startswith(f"### polycmp: {named or heading}")
    assert f" {heading}: " in first
    assert f" {case} |" in text
    log = json.loads((tmp_path / "r.sarif").read_text(encoding="utf-8"))
    assert wrong_in(log) == []
    told = " ".join(item["message"]["text"] for item in log["runs"][0]["results"])
    assert (case in told) == (status == 1)


# --- which model it was


@pytest.fixture
def model_in_words(model):
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


def test_a_page_has_the_model_in_title_and_heading(polycmp, model_in_words, tmp_path):
    assert polycmp("run", "model.onnx", "-b", "onnxrt", "-b", "onnx", "--report", "r.html").status == 0
    title, heading, header = page_of(tmp_path / "r.html")
    assert model_in_words in title
    assert heading == "Passed: model.onnx"
    assert model_in_words in header


def test_junit_has_the_model_in_suites_and_classes(polycmp, model_in_words, tmp_path):
    assert polycmp("run", "model.onnx", "-b", "onnxrt", "-b", "onnx", "--report", "r.xml").status == 0
    root = ET.parse(tmp_path / "r.xml").getroot()
    assert [suite.get("name") for suite in root] == ["model.onnx: onnxrt against onnx"]
    assert {case.get("classname") for case in root.iter("testcase")} == {"model.onnx: onnxrt"}
    (told,) = root.iter("property")
    assert f"model.onnx ({told.get('value')})" == model_in_words
    assert told.get("name") == "model model.onnx"


def test_annotations_and_the_step_summary_have_both_models(polycmp, model_in_words, other, tmp_path, monkeypatch):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    done = polycmp("run", "other.onnx", "model.onnx", "-b", "onnxrt")
    assert done.status == 1, done.err
    [annotation, *_] = [line for line in done.out.splitlines() if line.startswith("::error ")]
    title = annotation.partition("title=")[2].partition("::")[0].replace("%3A", ":").replace("%2C", ",")
    assert title.startswith("other.onnx and model.onnx: ")
    heading, _, line = (tmp_path / "summary.md").read_text().splitlines()[:3]
    assert heading.startswith("### polycmp: other.onnx and model.onnx: FAILED")
    assert model_in_words in line


def test_locate_names_the_model_as_run_does(polycmp, model_in_words, tmp_path):
    polycmp("locate", "model.onnx", "-b", "onnxrt", "-b", "onnx", "--report", "r.html", "r.md")
    title, heading, _ = page_of(tmp_path / "r.html")
    assert model_in_words in title
    assert heading.endswith(": model.onnx")
    assert model_in_words in (tmp_path / "r.md").read_text()


def test_no_report_fails_for_a_file_that_breaks_off(polycmp, model, tmp_path):
    (tmp_path / "part.onnx").write_bytes(model.read_bytes()[:-50])
    done = polycmp("run", "part.onnx", "-b", "onnxrt", "-b", "onnx", "--report", "r.html")
    assert done.status == 3


# --- pictures of the error, drawn while a run compares


def test_one_picture_per_iteration_pair_output_and_kind(polycmp, model, tmp_path):
    backends = ("-b", "onnxrt", "-b", "onnxrt:threads=1,name=one", "-b", "onnx")
    done = polycmp("run", model, *backends, "--iterations", 2, "--save-heatmaps", "h", "--save-error-metrics-plot", "h")
    assert done.status == 0
    names = [path.name for path in (tmp_path / "h").iterdir()]
    assert len(names) == 2 * 2 * 3
    assert "iteration-000001-one-vs-onnx-y-absolute-error.png" in names


def test_outputs_of_matched_names_are_drawn(polycmp, tmp_path):
    from small_models import small_model

    onnx.save(small_model(), tmp_path / "a.onnx")
    onnx.save(small_model(output="z"), tmp_path / "b.onnx")
    words = ("run", "a.onnx", "-b", "onnxrt", "-b", "onnxrt:model=b.onnx", "--map-output", "y=z")
    assert polycmp(*words, "--save-heatmaps", "h").status == 0
    assert len(list((tmp_path / "h").iterdir())) == 2


def test_without_matplotlib_no_run_begins(polycmp, model, monkeypatch):
    monkeypatch.setattr("polycmp_report.pictures.draw.find_spec", lambda _: None)
    done = polycmp("run", model, "-b", "onnxrt", "-b", "onnx", "--save-heatmaps", "h")
    assert done.status == 3
    assert "pip install 'polycmp-report[plot]'" in done.err
    assert done.out == ""


def test_a_folder_of_pictures_that_cannot_be_made_is_an_error(polycmp, model, tmp_path):
    (tmp_path / "taken").write_text("")
    done = polycmp("run", model, "-b", "onnxrt", "-b", "onnx", "--save-heatmaps", "taken/h")
    assert done.status == 3
    assert "taken" in done.err
