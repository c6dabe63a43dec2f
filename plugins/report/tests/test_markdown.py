"""The Markdown report: short enough for a comment, failures first, and nothing in it but text."""

from __future__ import annotations

import re

from report_outcomes import SPITEFUL, erroneous, failing, passing

from polycmp.report import Column, Problem, Repeat, Result, Row, Table
from polycmp.report.run_result import result_of
from polycmp_report.markdown import to_markdown

FIGURES = (Column("Max abs", "number"), Column("Mean abs", "number", wide=True))


def rows_of(text):
    return [line for line in text.splitlines() if re.match(r"\| (✅|❌|⚠️|➖)", line)]


def test_it_begins_with_the_verdict_and_ends_with_the_table():
    lines = to_markdown(result_of(passing())).splitlines()
    assert lines[0].startswith("### polycmp: PASSED: 1 output within tolerance")
    assert "| | Output | Type | Max abs | Of range | Mean abs | Reason |" in [
        line.replace("|  |", "| |") for line in lines
    ]
    assert len(rows_of("\n".join(lines))) == 1


def test_failures_come_first_and_long_tables_are_cut():
    rows = [Row(f"p{index}", "passed", (0.0, 0.0), "equal") for index in range(50)]
    rows += [Row(f"f{index}", "failed", (1.0, 0.5), "too far") for index in range(50)]
    table = Table("a against b", tuple(rows), FIGURES, "Output", reason_title="Verdict", failures_first=True)
    text = to_markdown(Result("run", "failed", "FAILED", "50 of 100 outputs differ", content=(table,)))
    names = [row.split("|")[2].strip() for row in rows_of(text)]
    assert names == [*(f"f{index}" for index in range(20)), *(f"p{index}" for index in range(8))]
    assert "… and 72 more, 30 of them failed" in text


def test_tables_of_one_kind_are_one_with_the_failures_last():
    def model(name, *rows):
        headings = {"name_title": "Case", "reason_title": "Reason", "subject_title": "Model", "failures_first": True}
        return Table(f"{name} (sha256 01)", rows, FIGURES, subject=name, about="sha256 01", **headings)

    first = model("a.onnx", Row("a1", "failed", (1.0, 0.5), "too far"), Row("a2", "passed", (0.0, 0.0)))
    second = model("b.onnx", Row("b1", "error", (None, None), "it fell over"), Row("b2", "passed", (0.0, 0.0)))
    result = Result("suite", "error", "ERROR", "4 cases", title="nightly", content=(first, second))
    text = to_markdown(result)
    assert [row.split("|")[2:4] for row in rows_of(text)] == [
        [" a2 ", " a.onnx "],
        [" b2 ", " b.onnx "],
        [" a1 ", " a.onnx "],
        [" b1 ", " b.onnx "],
    ]
    assert text.count("| Case | Model |") == 1
    assert "- b.onnx: sha256 01" in text


def test_a_long_cell_shows_its_beginning_and_the_rest_on_demand():
    reason = "the first words of it, " + "then more and more | <b> of them, " * 9 + "and the last"
    row = Row("y", "failed", (1.0, 0.5), reason)
    table = Table("a against b", (row, Row("z", "passed", (0.0, 0.0), "short")), FIGURES, reason_title="Verdict")
    long, short = rows_of(to_markdown(Result("run", "failed", "FAILED", "1 of 2 differ", content=(table,))))
    shown, _, rest = long.partition("<details><summary>")[2].partition("</summary>")
    assert shown.startswith("the first words of it, ")
    assert len(shown.replace("\\", "").replace("&lt;b&gt;", "<b>")) <= 122
    assert rest.endswith("and the last</details> |")
    assert "details" not in short


def test_a_comment_stays_within_what_github_takes():
    row = Row("y" * 5000, "failed", (1.0, 0.5), "too far " * 5000)
    tables = [Table(f"t{index}", (row,) * 30, FIGURES, "Output", reason_title="Verdict") for index in range(40)]
    result = Result("run", "failed", "FAILED", "it differs " * 5000, content=tuple(tables))
    text = to_markdown(result)
    assert len(text) < 65_536
    assert re.search(r"… and \d+ more parts; a .json or .html report has all", text)
    assert "characters left out" in text


def test_what_failed_as_a_whole_says_what_to_do_and_how_to_see_it_again():
    again = Repeat(0, "seed 7", "polycmp run m --seed 7", "a: output 'y'")
    content = (Problem("b failed", "it fell over", "try c"), again)
    text = to_markdown(Result("run", "error", "ERROR", "b failed", content=content))
    assert "- **b failed**: it fell over; next: <code>try c</code>" in text
    assert "- to repeat seed 7: <code>polycmp run m --seed 7</code>" in text


def test_nothing_a_user_typed_becomes_markup():
    for make in (failing, erroneous):
        text = to_markdown(result_of(make(f"{SPITEFUL} @octocat #1 **bold** [x](http://y)")))
        assert "<script>" not in text
        assert "@octocat" not in text
        assert "**bold**" not in text
        assert "[x](http" not in text
        assert "\x00" not in text
        assert not any(line.startswith("::") for line in text.splitlines())
        width = {row.replace("\\|", "").count("|") for row in rows_of(text)}
        assert width == {8}
