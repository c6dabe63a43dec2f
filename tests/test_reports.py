"""Reports of whole runs: every format at once, and what CI is told."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

import numpy as np
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
    import onnx
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
