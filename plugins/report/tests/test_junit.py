"""The JUnit report, as parsers read it."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest
from report_outcomes import SPITEFUL, erroneous, failing, passing

from polycmp.report import Result, Row, Table
from polycmp.report.run_result import result_of
from polycmp.results.outcome import Outcome
from polycmp_report.junit import to_xml, write


def parse(outcome):
    root = ET.fromstring(to_xml(result_of(outcome)))
    assert root.tag == "testsuites"
    for suite in root:
        assert suite.tag == "testsuite"
        cases = suite.findall("testcase")
        assert int(suite.get("tests")) == len(cases)
        assert int(suite.get("failures")) == sum(case.find("failure") is not None for case in cases)
        assert int(suite.get("errors")) == sum(case.find("error") is not None for case in cases)
        assert all(case.get("name") and case.get("classname") for case in cases)
    for key in ("tests", "failures", "errors"):
        assert int(root.get(key)) == sum(int(suite.get(key)) for suite in root)
    return root


def test_passing_outcome_has_a_case_per_output_and_no_failure():
    root = parse(passing())
    assert [suite.get("name") for suite in root] == ["candidate against reference"]
    assert [(case.get("classname"), case.get("name")) for case in root.iter("testcase")] == [("candidate", "y")]
    assert (root.get("failures"), root.get("errors")) == ("0", "0")


def test_failure_carries_the_reason():
    root = parse(failing())
    [failure] = root.iter("failure")
    assert "1 of 50 elements differ" in failure.get("message")
    assert "float32[5,10]" in failure.text


def test_failed_backends_are_errors_and_invalid_outputs_failures():
    root = parse(erroneous("it fell over"))
    [error] = root.iter("error")
    assert error.get("message") == "it fell over"
    assert "try it fell over" in error.text
    assert any("3 NaN and 1 infinite" in item.get("message") for item in root.iter("failure"))


def test_nothing_compared_is_an_error():
    root = parse(Outcome(expected=True))
    assert root.get("errors") == "1"


@pytest.mark.parametrize("make", [failing, erroneous])
def test_any_name_makes_valid_xml(make, tmp_path):
    root = parse(make(SPITEFUL))
    assert any("<img src=x onerror=alert(1)>" in case.get("name") for case in root.iter("testcase"))
    write(result_of(make(SPITEFUL)), str(tmp_path / "r.xml"))
    assert ET.parse(tmp_path / "r.xml").getroot().tag == "testsuites"


def test_no_name_changes_the_direction_of_the_text_around_it():
    name = "a\u202egnp.exe\u2066"
    table = Table(name, (Row(name, "failed", reason=name),), subject=name, suite=name, about=name)
    xml = to_xml(Result("suite", "failed", "FAILED", name, content=(table,))).decode("utf-8")
    assert "gnp.exe" in xml
    assert not set(xml) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
    assert not re.search("&#x?20(2[a-e]|6[6-9]);|&#82[0-9]{2};", xml, re.IGNORECASE)


def test_names_stay_when_a_model_is_trained_again():
    def xml(digest):
        table = Table(f"a.onnx ({digest})", (Row("fp16", "passed"),), subject="a.onnx", suite="a.onnx", about=digest)
        return ET.fromstring(to_xml(Result("suite", "passed", "PASSED", "1 case: 1 passed", content=(table,))))

    (before, after) = (xml(digest)[0] for digest in ("sha256 01", "sha256 02"))
    for suite, digest in ((before, "sha256 01"), (after, "sha256 02")):
        assert suite.get("name") == "a.onnx"
        assert [(case.get("classname"), case.get("name")) for case in suite.iter("testcase")] == [("a.onnx", "fp16")]
        assert suite[0].tag == "properties"
        assert [(item.get("name"), item.get("value")) for item in suite[0]] == [("model", digest)]
