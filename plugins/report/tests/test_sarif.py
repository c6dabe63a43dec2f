"""The SARIF report, as code hosts read it: valid, each failure at its line, and the same alert from run to run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from report_outcomes import SPITEFUL, erroneous, failing, passing
from sarif_check import wrong_in

from polycmp.report import Fact, Facts, Result, Row, Table
from polycmp.report.run_result import result_of
from polycmp.testing.reports import sample_results
from polycmp_report.sarif import to_sarif

SAMPLES = dict(sample_results())


def results_of(result):
    document = to_sarif(result)
    assert wrong_in(document) == []
    [run] = document["runs"]
    for item in run["results"]:
        rule = run["tool"]["driver"]["rules"][item["ruleIndex"]]
        assert (rule["id"], rule["defaultConfiguration"]["level"]) == (item["ruleId"], item["level"])
    return run["results"]


def fingerprints(result):
    return [item["partialFingerprints"]["primaryLocationLineHash"] for item in results_of(result)]


def suite(*rows, digest="01"):
    table = Table(f"a.onnx ({digest})", rows, subject="a.onnx", suite="a.onnx", about=digest)
    return Result("suite", "failed", "FAILED", "2 cases: 2 failed", content=(table,))


def test_the_check_notices_what_is_no_sarif():
    document = to_sarif(result_of(failing()))
    document["runs"][0]["results"][0]["level"] = "fatal"
    assert wrong_in(document) != []


@pytest.mark.parametrize("name", SAMPLES)
def test_there_are_results_where_the_verdict_is_bad(name):
    assert bool(results_of(SAMPLES[name])) == (SAMPLES[name].verdict != "passed")


def test_an_output_that_differs_is_an_error_at_its_model(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    named = {str(tmp_path / "models" / "my model.onnx"): "sha256 01", "/else/where/other.onnx": ""}
    result = replace(result_of(failing()), models=named)
    [found] = results_of(result)
    assert (found["ruleId"], found["level"]) == ("differs", "error")
    assert "candidate against reference: y: 1 of 50 elements differ" in found["message"]["text"]
    [place] = found["locations"]
    artifact = {"uri": "models/my%20model.onnx", "uriBaseId": "%SRCROOT%"}
    assert place["physicalLocation"] == {"artifactLocation": artifact, "region": {"startLine": 1}}
    assert place["logicalLocations"][0]["fullyQualifiedName"] == "y"
    [run] = to_sarif(result)["runs"]
    assert [item["location"]["uri"] for item in run["artifacts"]] == [artifact["uri"], "file:///else/where/other.onnx"]
    assert run["artifacts"][0]["description"]["text"] == "sha256 01"


def test_a_case_of_a_suite_stands_at_its_line():
    blind = Row("fp16", "blind", reason="nothing could fail", file="nightly.toml", line=21)
    [found] = results_of(suite(blind, Row("int8", "passed", file="nightly.toml", line=30)))
    assert (found["ruleId"], found["level"]) == ("blind", "warning")
    [place] = found["locations"]
    assert place["physicalLocation"]["artifactLocation"]["uri"] == "nightly.toml"
    assert place["physicalLocation"]["region"] == {"startLine": 21}


def test_an_alert_stays_the_same_when_a_model_is_trained_again_or_a_case_moves():
    rows = [Row(name, "failed", reason="0.1", file="nightly.toml", line=3) for name in ("fp16", "int8")]
    moved = [replace(row, reason="0.2", line=30) for row in rows]
    before, after = fingerprints(suite(*rows)), fingerprints(suite(*moved, digest="02"))
    assert before == after
    assert len(set(before)) == 2


def test_the_first_wrong_tensor_is_the_one_alert_of_a_search():
    rows = (Row("a", "passed"), Row("b", "failed", chosen=True), Row("c", "failed"))
    table = Table("in the order of the model", rows, causal=True)
    [found] = results_of(Result("locate", "failed", "FOUND", "Conv 'b' is wrong", content=(table,)))
    assert found["ruleId"] == "first-wrong-tensor"
    assert "Conv 'b' is wrong" in found["message"]["text"]


def test_what_failed_as_a_whole_is_an_alert_and_says_that_not_all_was_compared():
    found = results_of(result_of(erroneous("it fell over")))
    assert any(item["ruleId"] == "not-compared" and "it fell over" in item["message"]["text"] for item in found)
    worse = Facts("Worse than the baseline", (Fact("fp16", "slower", "failed"),))
    [alone] = results_of(Result("suite", "failed", "FAILED", "1 worse than the baseline", content=(worse,)))
    assert "1 worse than the baseline" in alone["message"]["text"]
    [run] = to_sarif(SAMPLES["error"])["runs"]
    assert run["invocations"][0]["executionSuccessful"] is False


def test_nothing_that_passes_is_an_alert():
    assert results_of(result_of(passing())) == []


@pytest.mark.parametrize("make", [failing, erroneous])
def test_any_name_makes_a_valid_file_without_links_or_placeholders(make):
    for item in results_of(replace(result_of(make(f"{SPITEFUL}[x](http://y){{0}}")), models={f"{SPITEFUL}.onnx": ""})):
        text = item["message"]["text"]
        assert "](" not in text
        assert "{0}" not in text.replace("{{", "").replace("}}", "")
        assert text.isprintable()


def test_the_words_are_those_of_the_current_folder(monkeypatch, tmp_path):
    (tmp_path / "sub").mkdir()
    result = suite(Row("fp16", "failed", file=str(tmp_path / "sub" / "s.toml"), line=1))
    monkeypatch.chdir(tmp_path / "sub")
    [found] = results_of(result)
    assert found["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "s.toml"
    monkeypatch.chdir(Path("/"))
    [found] = results_of(result)
    uri = found["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == (tmp_path / "sub" / "s.toml").relative_to("/").as_posix()
