"""Reports of whole runs: every format at once, and what CI is told."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET


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
    from toys import unary_model

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
    assert line.startswith("::error title=onnxrt against old%3A y::8 of 8 elements differ")
    assert "| ❌ | y | float32" in (tmp_path / "summary.md").read_text(encoding="utf-8")
