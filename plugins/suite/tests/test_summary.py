"""The sentence over all cases, and what reports say of each."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest
from suite_texts import DIFFER, HEAD, case


def test_all_passed_is_0(suite):
    suite.write(HEAD + '[[case]]\nmodel = "*.onnx"\n')
    done = suite.process("suite.toml", "-j", 2, status=0)
    assert "PASSED: 2 cases: 2 passed" in done.stdout
    assert "[2/2] ok" in done.stderr
    assert {name: item["state"] for name, item in suite.results().items()} == {"one": "passed", "two": "passed"}
    assert suite.results()["one"]["command_line"] == "polycmp run one.onnx -b onnxrt -b onnx"


def test_only_skipped_cases_are_no_success(suite):
    suite.write(HEAD + case("gpu", 'needs = ["trt86"]'))
    suite("suite.toml", status=3)


def test_github_is_told_once_by_the_suite(suite):
    suite.write(HEAD + case("good") + case("bad", DIFFER))
    done = suite.driven("suite.toml", GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY=suite.folder / "summary.md")
    assert done.stdout.count("::error ") == 1
    assert re.search(r"::error file=[^,]*\.toml,line=\d+,title=[^:]*one\.onnx%3A ", done.stdout)
    summary = (suite.folder / "summary.md").read_text()
    assert summary.count("### polycmp") == 1
    assert "opset 17" in summary


def test_junit_has_the_time_of_each_case(suite):
    suite.write(HEAD + '[[case]]\nmodel = "one.onnx"\n[[case]]\nmodel = "two.onnx"\n')
    done = suite("suite.toml", "--report", "j.xml", status=0)
    root = ET.parse(suite.folder / "j.xml").getroot()
    times = {case.get("name"): float(case.get("time")) for case in root.iter("testcase")}
    assert times == pytest.approx({name: item["seconds"] for name, item in suite.results().items()}, abs=1e-3)
    assert [float(item.get("time")) for item in root] == pytest.approx(list(times.values()), abs=1e-3)
    assert "(0 us)" not in done.stderr


def test_what_is_skipped_took_no_time(suite):
    suite.write(HEAD + '[[case]]\nmodel = "one.onnx"\nneeds = ["no_such_module"]\n')
    assert "skipped one: needs" in suite("suite.toml").stderr
    assert suite("suite.toml", "--list").stderr.strip() == "1 case"
