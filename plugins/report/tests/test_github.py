"""Annotations and the summary under GitHub Actions."""

from __future__ import annotations

import pytest
from report_outcomes import SPITEFUL, erroneous, failing, passing

from polycmp.errors import FileError
from polycmp.report import Fact, Facts, Result, Row, Table
from polycmp.report.run_result import result_of
from polycmp.results.outcome import BackendResult
from polycmp_report import github
from polycmp_report.github import ANNOTATIONS
from polycmp_report.markdown import to_markdown


def annotate(outcome, environ):
    github.annotate(result_of(outcome), environ=environ)


def test_says_nothing_elsewhere(capsys, tmp_path):
    annotate(failing(), {"GITHUB_STEP_SUMMARY": str(tmp_path / "s.md")})
    assert capsys.readouterr().out == ""
    assert not list(tmp_path.iterdir())


def test_each_problem_is_one_line_that_cannot_break_out(capsys):
    annotate(erroneous(SPITEFUL), {"GITHUB_ACTIONS": "true"})
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert all(line.startswith("::error title=") for line in lines)
    for line in lines:
        title = line.removeprefix("::error title=").partition("::")[0]
        assert ":" not in title
        assert "," not in title
    assert any("%0A" in line and "%25" in line for line in lines)


def test_passing_outcome_annotates_nothing_and_appends_a_summary(capsys, tmp_path):
    path = tmp_path / "summary.md"
    path.write_text("before\n")
    annotate(passing(), {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(path)})
    assert capsys.readouterr().out == ""
    text = path.read_text()
    assert text.startswith("before\n### polycmp: PASSED")
    assert "| ✅ | y |" in text


def test_summary_escapes_markup_and_keeps_its_table():
    text = to_markdown(result_of(failing(SPITEFUL)))
    assert "<script>" not in text
    rows = [line for line in text.splitlines() if line.startswith("| ❌")]
    assert len(rows) == 1
    assert rows[0].replace("\\|", "").count("|") == 8


def test_only_as_many_annotations_as_are_shown(capsys):
    outcome = passing()
    outcome.backends += [BackendResult(f"b{i}", "toy", error="no") for i in range(30)]
    annotate(outcome, {"GITHUB_ACTIONS": "true"})
    assert len(capsys.readouterr().out.splitlines()) == ANNOTATIONS


def test_summary_that_cannot_be_written_is_an_error_of_ours(tmp_path):
    with pytest.raises(FileError, match="summary"):
        annotate(passing(), {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(tmp_path)})


def test_a_verdict_of_which_no_row_tells_is_annotated(capsys):
    worse = Facts("Worse than the baseline", (Fact("fp16", "1.4 times slower", "failed"),))
    result = Result("suite", "failed", "FAILED", "1 case: 1 passed, 1 worse than the baseline", content=(worse,))
    github.annotate(result, environ={"GITHUB_ACTIONS": "true"})
    assert capsys.readouterr().out == "::error title=suite::1 case: 1 passed, 1 worse than the baseline\n"


def test_a_case_of_a_suite_is_annotated_at_its_line(capsys):
    row = Row("fp16", "failed", reason="1 of 2 outputs differs", file="models,nightly.toml", line=21)
    table = Table("a.onnx (sha256 0123456789ab, 2 KiB)", (row,), subject="a.onnx", about="sha256 0123456789ab, 2 KiB")
    result = Result("suite", "failed", "FAILED", "1 case: 1 failed", content=(table,))
    github.annotate(result, environ={"GITHUB_ACTIONS": "true"})
    told = "::error file=models%2Cnightly.toml,line=21,title=a.onnx%3A fp16::1 of 2 outputs differs\n"
    assert capsys.readouterr().out == told
