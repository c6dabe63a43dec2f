"""Results on the terminal: blocks in their order, short forms of tables, and one line that says it all."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from polycmp.report import (
    BAD,
    Cell,
    Column,
    Fact,
    Facts,
    Note,
    Point,
    Problem,
    Repeat,
    Result,
    Row,
    Series,
    Table,
    cell_text,
    duration,
    excerpt,
    figure,
)
from polycmp.report.console import print_result
from polycmp.report.screen import make_console


def shown(*content, verbose=False, width=100, **changes):
    """Return the lines that a terminal shows, without blanks around them."""
    console = Console(width=width, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    fields = {"command": "run", "verdict": "passed", "heading": "PASSED", "sentence": "all is well", **changes}
    print_result(Result(content=content, **fields), verbose=verbose, console=console)
    console.file.close()
    return [" ".join(line.split()) for line in console.export_text().splitlines() if line.strip(" ─")]


def test_the_last_line_says_it_all():
    assert shown()[-1] == "PASSED: all is well"
    assert shown(seconds=1.234, timed=True)[-1] == "PASSED: all is well (1.2 s)"


def test_blocks_come_in_their_order_and_background_stays_away():
    lines = shown(
        Problem("a failed", "it fell over", "try b"),
        Note("something", "c"),
        Note("something", "c"),  # said once
        Note("measured", label="probe check"),
        Note("a detail", label=""),
        Note("only on pages", terminal=False),
        Facts("Inputs", (Fact("x", "float32"),), background=True),
        Facts("Operator", (Fact("kind", "Conv"),)),
        Facts("Operator", (Fact("kind", "Conv"),), lines=("operator: Conv",)),
        Series("Drift", (Point("x", 1.0),)),
        Repeat(3, "seed 7", "polycmp run " + "x" * 150, "output 'y'"),
    )
    assert lines == [
        "a failed: it fell over",
        "next: try b",
        "probe check: measured",
        "a detail",
        "Operator",
        "kind: Conv",
        "operator: Conv",
        "iteration 3 (seed 7): output 'y'",
        "repeat: polycmp run " + "x" * 150,  # not broken, so that it can be copied
        "notes:",
        "- c: something",
        "PASSED: all is well",
    ]


COLUMNS = (Column("Max abs", "number"), Column("Mean abs", "number", wide=True), Column("Time", "duration"))


def test_a_table_shows_marks_cells_and_reasons_but_no_wide_columns():
    rows = (
        Row("y", "failed", (0.5, 0.25, 2e-3), "too far", type="float32[2]"),
        Row("z", "passed", (None, 0.0, 1.5), "equal", tags=("reference",)),
    )
    problem = Problem("all", "one is missing", "look again", state="failed")
    table = Table("a against b", rows, COLUMNS, "Output", "Type", "Verdict", problem=problem)
    assert shown(table)[:-1] == [
        "a against b",
        "Output Type Max abs Time Verdict",
        "FAIL y float32[2] 0.5 2 ms too far",
        "ok z (reference) - 1.5 s equal",
        "FAIL one is missing",
        "next: look again",
    ]
    plain = Table("", rows, COLUMNS, "Run", judged=False)
    assert shown(plain)[:-1] == ["Run Max abs Time", "y 0.5 2 ms", "z (reference) - 1.5 s"]


def outputs(failed, passed):
    rows = [Row(f"p{index}", "passed") for index in range(passed)] + [
        Row(f"f{index}", "failed") for index in range(failed)
    ]
    return Table("t", tuple(rows), reason_title="Verdict", failures_first=True)


def test_failures_come_first_and_the_rest_is_counted():
    part = excerpt(outputs(30, 30))
    assert [row.name for row in part.rows] == [*(f"f{i}" for i in range(20)), *(f"p{i}" for i in range(8))]
    assert (part.before, part.behind, part.failed) == (0, 32, 10)
    assert "… 32 more: p*, f* 10 of them failed; -v shows all" in shown(outputs(30, 30))
    assert [line for line in shown(outputs(1, 1)) if "more" in line] == []
    everything = shown(outputs(30, 30), verbose=True)
    assert sum(line.startswith(("ok", "FAIL")) for line in everything) == 60
    assert everything[2] == "ok p0"  # in the order of the model


def test_the_worst_failures_come_first():
    rows = [Row(f"t{at}", "failed", severity=severity) for at, severity in enumerate((0.1, 0.5, float("inf"), 0.5))]
    assert [row.name for row in excerpt(Table("t", tuple(rows), failures_first=True)).rows] == ["t2", "t1", "t3", "t0"]


@pytest.mark.parametrize(("passed", "left"), [(8, 0), (9, 0), (10, 0), (11, 3), (20, 12)])
def test_no_line_tells_of_fewer_rows_than_it_saves(passed, left):
    assert excerpt(outputs(0, passed)).behind == left


def test_the_tensors_of_a_cache_are_folded_and_the_logits_are_not():
    cache = [Row(f"present.{layer}.{kind}", "passed") for layer in range(8) for kind in ("key", "value")]
    table = Table("t", (*cache, Row("logits", "passed")), failures_first=True, reason_title="Verdict")
    assert [row.name for row in excerpt(table).rows] == [*(row.name for row in cache[:7]), "logits"]
    assert "… 9 more: present.*.value, present.*.key -v shows all" in shown(table)
    assert len(excerpt(Table("t", (*cache[:9], Row("logits", "passed")), failures_first=True)).rows) == 10


def test_a_narrow_terminal_keeps_the_columns_that_matter_most():
    columns = (Column("Operator"), Column("Max abs", "number"), Column("Own", "number", wanted=1))
    table = Table("t", (Row("a" * 60, "failed", ("BatchNormalization" * 2, 0.5, 0.25)),), columns)
    narrow = shown(table, width=60)
    assert narrow[1] == "Name Own"
    assert shown(table, width=200)[1] == "Name Operator Max abs Own"


def test_the_row_that_the_verdict_names_is_told_again_at_the_end():
    columns = (Column("Operator"), Column("Max abs", "number"), Column("Jump", "number"), Column("Own", "number"))
    rows = [Row(f"t{at}", "failed", ("Conv", 0.5, None, 0.25), mark="FIRST", chosen=at == 3) for at in range(9)]
    lines = shown(Table("t", tuple(rows), columns, causal=True), Note("last"))
    assert lines[-2:] == ["FIRST: t3: max abs 0.5, own 0.25", "PASSED: all is well"]


def chain(length, chosen=None):
    bad = length if chosen is None else chosen
    rows = [Row(f"t{index}", "failed" if index >= bad else "passed", chosen=index == chosen) for index in range(length)]
    return Table("t", tuple(rows), causal=True)


@pytest.mark.parametrize(
    ("chosen", "first", "last", "before", "behind"), [(10, 7, 16, 7, 3), (0, 0, 6, 0, 13), (19, 16, 19, 16, 0)]
)
def test_a_causal_table_shows_what_is_around_the_chosen_row(chosen, first, last, before, behind):
    part = excerpt(chain(20, chosen))
    assert (part.rows[0].name, part.rows[-1].name) == (f"t{first}", f"t{last}")
    assert (part.before, part.behind, part.failed) == (before, behind, behind)


def test_a_causal_table_without_a_chosen_row_shows_its_end():
    lines = shown(chain(20))
    assert lines[2] == "… 16 before"
    assert lines[-2] == "ok t19"


def test_only_the_chosen_row_of_a_causal_table_is_a_failure():
    assert [row.name for row in chain(9, 4).failures] == ["t4"]
    assert [row.name for row in outputs(2, 2).failures] == ["f0", "f1"]
    assert {"failed", "undecided", "blind", "error"} == BAD


@pytest.mark.parametrize(
    ("column", "value", "text"),
    [
        (Column("x", "number"), 0.123456, "0.123"),
        (Column("x", "number", digits=2), 0.123456, "0.12"),
        (Column("x", "number"), 1234567, "1234567"),
        (Column("x", "number"), float("nan"), "nan"),
        (Column("x", "duration"), 0.0025, "2.5 ms"),
        (Column("x", "number"), Cell("new", float("inf")), "new"),
        (Column("x"), "as it is", "as it is"),
        (Column("x"), None, "-"),
    ],
)
def test_cells_as_text(column, value, text):
    assert cell_text(column, value) == text


def test_numbers_in_words():
    assert [duration(value) for value in (1234.4, 2.0, 0.5, 3.2e-5)] == ["1234 s", "2 s", "500 ms", "32 us"]
    assert [figure(value) for value in (None, float("nan"), float("inf"), -float("inf"), 0.0, 0.12345)] == [
        "–", "NaN", "∞", "−∞", "0", "0.123",
    ]  # fmt: skip


def test_tables_of_one_kind_are_one_with_failures_last():
    def cases(model, *rows):
        made = tuple(Row(name, state, reason="because" if state == "failed" else "") for name, state in rows)
        return Table(f"{model} (digest)", made, name_title="Case", subject=model, subject_title="Model",
                     failures_first=True, reason_title="Reason")  # fmt: skip

    tables = (cases("a.onnx", ("one", "failed"), ("two", "passed")), cases("b.onnx", ("three", "passed")))
    result = Result("suite", "failed", "FAILED", "1 of 3", content=tables, title="nightly")
    stream = io.StringIO()
    print_result(result, console=make_console(100, stream))
    lines = [line.split() for line in stream.getvalue().splitlines() if line.strip()]
    assert lines[0] == ["nightly"]
    assert lines[1] == ["Case", "Model", "Reason"]
    assert [line[:3] for line in lines[3:6]] == [
        ["ok", "two", "a.onnx"], ["ok", "three", "b.onnx"], ["FAIL", "one", "a.onnx"],
    ]  # fmt: skip
    assert "digest" not in stream.getvalue()
