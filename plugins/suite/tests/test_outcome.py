"""What a case's process leaves behind, as a result: verdict, reason, and a search where it failed."""

from __future__ import annotations

import datetime
import json
import xml.etree.ElementTree as ET

import pytest
from suite_texts import DIFFER, HEAD, case


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
    suite.driven("suite.toml", "-x", status=1)
    [result] = suite.results().values()
    assert result["located"] == "it took longer than 0.05 s"
    assert (result["state"], result["attempts"]) == ("failed", 1)
    assert result["reason"].startswith("y: an element is off by 0.7")
    assert "; 4 of 4 elements are beyond it" in result["reason"]


def test_a_difference_is_1_and_names_the_case_and_the_output(suite):
    suite.write(HEAD + case("good") + case("bad", DIFFER))
    done = suite("suite.toml", "--report", "r.json", "r.xml", "r.md", status=1)
    assert "FAILED: 2 cases: 1 passed, 1 failed" in done.stdout
    assert "bad" in done.stdout
    assert "y:" in suite.results()["bad"]["reason"]
    report = json.loads((suite.folder / "r.json").read_text())
    assert (report["verdict"], report["counts"]["failed"], len(report["cases"])) == ("failed", 1, 2)
    root = ET.parse(suite.folder / "r.xml").getroot()
    assert (root.get("tests"), root.get("failures")) == ("2", "1")
    assert root.find("testsuite").get("name") == "one.onnx"
    assert root.find("testsuite/properties/property").get("value").startswith("sha256 ")
    assert "opset 17" in root.find("testsuite/properties/property").get("value")
    assert root.find("testsuite/testcase").get("classname") == "one.onnx"
    assert "| ❌ | bad |" in (suite.folder / "r.md").read_text()


def test_what_cannot_be_compared_is_3_and_the_others_go_on(suite):
    (suite.folder / "broken.onnx").write_bytes(b"this is no model")
    suite.write(HEAD + case("broken", model="broken.onnx") + case("bad", DIFFER) + case("good"))
    done = suite("suite.toml", status=3)
    assert "ERROR" in done.stdout
    states = {name: item["state"] for name, item in suite.results().items()}
    assert states == {"broken": "error", "bad": "failed", "good": "passed"}
    assert "broken.onnx" in suite.results()["broken"]["reason"]


def test_known_failures_are_strict(suite):
    suite.write(HEAD + case("bad", DIFFER + 'expected-failure = { reason = "bug 7" }'))
    done = suite("suite.toml", status=0)
    assert "1 known to fail" in done.stdout
    assert suite.results()["bad"]["known"] == "bug 7"

    suite.write(HEAD + case("good", 'expected-failure = { reason = "bug 7" }'))
    done = suite("suite.toml", status=1)
    assert "it passes, and a failure was expected" in done.stderr


def test_a_known_failure_is_one_until_its_day_and_of_its_kind(suite):
    yesterday, tomorrow = (datetime.date.today() + datetime.timedelta(days=days) for days in (-1, 1))
    suite.write(
        HEAD
        + case("over", DIFFER + f'expected-failure = {{ reason = "bug 7", until = {yesterday} }}')
        + case("still", DIFFER + f'expected-failure = {{ reason = "bug 8", until = {tomorrow} }}')
        + case("other", DIFFER + 'expected-failure = { reason = "bug 9", verdict = "error" }')
    )
    suite("suite.toml", status=1)
    results = suite.results()
    assert {name: item["state"] for name, item in results.items()} == {
        "over": "failed",
        "still": "passed",
        "other": "failed",
    }
    assert f"expected until {yesterday}, which has passed: bug 7" in results["over"]["reason"]
