"""An outcome as reports render it: closing sentence, tables of runs and outputs, facts, and what they say of NaN."""

from __future__ import annotations

import math

import numpy as np
import pytest
from judges import simple

from polycmp.builtin.functions.norms import CosineSimilarity
from polycmp.builtin.functions.options import CosineOptions
from polycmp.compare.pair import PairComparer
from polycmp.report import Cell, Facts, Note, Problem, Table
from polycmp.report.run_result import result_of
from polycmp.results.outcome import BackendResult, Invalid, Outcome, Timing
from polycmp.tensors import TensorMetadata

X = np.linspace(-1.0, 1.0, 10, dtype=np.float32)


def outcome(*iterations, functions=None, map_output=None, **more):
    """Return the outcome of two runs with these outputs of both sides, by iteration."""
    judges = functions or {"simple": simple(atol=0.01, rtol=0.0)}
    comparer = PairComparer("new", "old", judges, map_output=map_output or {})
    for candidate, reference in iterations:
        comparer.add(candidate, reference)
    count = len(iterations)
    timing = Timing.of([0.5] * count)
    backends = [BackendResult(label, "toy", iterations=count, timing=timing) for label in ("new", "old")]
    return Outcome("old", backends, [comparer.result()] if iterations else [], expected=True, **more)


def outputs_of(result):
    [table] = [block for block in result.blocks(Table) if block.judged]
    return table


def sentence_of(made):
    result = result_of(made)
    return f"{result.heading}: {result.sentence}"


# --- the closing sentence


@pytest.mark.parametrize(
    ("candidate", "reference", "sentence"),
    [
        ({"y": X}, {"y": X}, "PASSED: 1 output within tolerance"),
        ({"y": X + 1}, {"y": X}, "FAILED: 1 of 1 output differs"),
        ({"y": X + 1, "z": X}, {"y": X, "z": X}, "FAILED: 1 of 2 outputs differs"),
        ({"y": X}, {"z": X}, "ERROR: no output in common"),
    ],
)
def test_the_verdict_is_said_in_one_sentence(candidate, reference, sentence):
    assert sentence_of(outcome((candidate, reference))) == sentence


def test_whole_numbers_that_a_tolerance_covers_are_named():
    ids = np.array([7, 200_000])
    covering = simple(rtol={"ids": 1e-5}, atol=0.0)
    made = outcome(({"ids": ids}, {"ids": np.array([7, 200_001])}), functions={"simple": covering})
    assert sentence_of(made) == ("PASSED: 1 output within tolerance; whole numbers that differ count as equal in 'ids'")


def test_one_run_and_none_have_sentences_of_their_own():
    alone = Outcome("", [BackendResult("new", "toy", iterations=1)])
    assert sentence_of(alone) == "PASSED: the model ran; there was no second run to compare it with"
    assert sentence_of(Outcome("", [], expected=True)) == "ERROR: nothing ran"


def test_a_backend_that_fails_comes_before_what_the_others_differ_by():
    made = outcome(({"y": X + 1}, {"y": X}))
    made.backends.append(BackendResult("third", "toy", error="has had enough", hint="give it a rest"))
    result = result_of(made)
    assert (result.verdict, result.exit_code) == ("error", 3)
    assert result.sentence == "third failed: 1 of 1 output differs"
    [problem] = result.blocks(Problem)
    assert (problem.subject, problem.hint) == ("third", "give it a rest")


def test_outputs_that_are_not_finite_fail_where_nothing_else_does():
    made = outcome(({"y": X}, {"y": X}), invalid=[Invalid("new", "y", 2, 3, 1, (0, 4))])
    result = result_of(made)
    assert (result.verdict, result.sentence) == ("failed", "outputs hold NaN or infinity")
    [problem] = result.blocks(Problem)
    assert problem.line == "new: output 'y' holds 3 NaN and 1 infinite values in iteration 2, the first at [0, 4]"


# --- outputs


def test_an_output_has_its_figures_and_what_would_pass():
    table = outputs_of(result_of(outcome(({"y": X + np.float32(0.5)}, {"y": X}))))
    [row] = table.rows
    assert (table.title, table.subject, table.against) == ("new against old", "new", "old")
    assert table.summary == "1 differ of 1 · 1 iteration"
    assert (row.name, row.state, row.type) == ("y", "failed", "float32[10]")
    assert row.cells[0] == pytest.approx(0.5)
    assert row.cells[1] == Cell("0.5", pytest.approx(0.5), "of 1")
    assert row.cells[4] == Cell("10 (100.0%)", 10, "of 10 elements")
    [worst, statistics, functions] = row.details
    assert [block.title for block in row.details] == ["Worst element", "Statistics", "Compare functions"]
    assert {item.name: item.value for item in statistics.items}["atol that would pass"] == "0.5"
    assert worst.items[0].name == "index"
    assert functions.items[0].value == "atol 0.01, rtol 0"
    assert row.severity == pytest.approx(0.5)


def test_an_output_that_passes_says_whether_it_is_equal():
    table = outputs_of(result_of(outcome(({"y": X, "z": X + np.float32(1e-3)}, {"y": X, "z": X}))))
    assert [row.reason for row in table.rows] == ["equal", "within tolerance"]
    assert [row.severity for row in table.rows] == [0.0, 0.0]
    assert table.summary == "all 2 within tolerance · 1 iteration"


def test_where_nan_fails_it_stands_in_place_of_errors_over_numbers():
    wrong = X.copy()
    wrong[3] = math.nan
    [row] = outputs_of(result_of(outcome(({"y": wrong}, {"y": X})))).rows
    assert [cell.text for cell in row.cells[:4]] == ["NaN"] * 4
    assert row.severity == math.inf
    assert {item.name: item.value for item in row.details[1].items}["NaN"] == "1 in the candidate, 0 in the reference"


def test_of_several_iterations_the_worst_is_shown():
    made = outcome(*(({"y": X + np.float32(more)}, {"y": X}) for more in (0.0, 0.5, 0.2)))
    [row] = outputs_of(result_of(made)).rows
    assert row.reason.startswith("2 of 3 iterations: ")
    assert row.details[1].items[-1].value == "1 (the worst of 3)"
    assert "iterations: 3" in row.lines


def test_an_output_of_one_side_or_of_another_name_says_so():
    table = outputs_of(result_of(outcome(({"a": X, "c": X}, {"b": X, "d": X}), map_output={"a": "b"})))
    assert (table.rows[0].name, table.rows[0].state) == ("a = b", "passed")
    assert {row.name: row.cells[0] for row in table.rows if row.state == "failed"} == {"c": None, "d": None}
    assert all(row.severity == math.inf for row in table.rows if row.state == "failed")


def test_the_metric_of_a_function_that_was_asked_for_has_a_column():
    functions = {"simple": simple(atol=0.01), "cosine_similarity": CosineSimilarity(CosineOptions())}
    table = outputs_of(result_of(outcome(({"y": X}, {"y": X}), functions=functions)))
    assert [column.title for column in table.columns][-1] == "cosine similarity"
    assert table.rows[0].cells[-1] == pytest.approx(1.0)


# --- runs, facts and remarks


def test_runs_have_a_row_each_with_the_reference_marked():
    made = outcome(({"y": X}, {"y": X}))
    made.backends[0].version = "1.2.3+a-very-long-commit"
    made.backends.append(BackendResult("saved", "saved", iterations=1))
    runs = next(block for block in result_of(made).blocks(Table) if not block.judged)
    assert [(row.name, row.reason, row.tags) for row in runs.rows] == [
        ("new", "ran", ()),
        ("old", "ran", ("reference",)),
        ("saved", "read", ()),
    ]
    assert runs.rows[0].cells[0] == "1.2.3+a-very-lo…"
    assert runs.rows[2].drawing is None


def test_facts_say_how_many_passed_and_how_long_it_took():
    result = result_of(outcome(({"y": X + 1, "z": X}, {"y": X, "z": X}), seconds=1.5), "compare")
    facts = {item.name: item.value for item in result.facts}
    assert facts["outputs passed"] == "1 / 2"
    assert (facts["largest error"], facts["reference"], facts["iterations"]) == ("1", "old", "1")
    assert result.command == "compare"
    assert {item.name: item.value for item in result_of(Outcome()).facts}["outputs passed"] == "–"


def test_remarks_on_inputs_stand_with_them_and_inputs_at_the_end():
    made = outcome(({"y": X}, {"y": X}), notes=["inputs: x is drawn", "something else"])
    made.inputs = TensorMetadata().add("x", np.float32, (1, 8))
    made.backends[0].notes.append("only 8 threads are used")
    result = result_of(made)
    assert [(item.text, item.label, item.subject) for item in result.blocks(Note)] == [
        ("x is drawn", "inputs", ""),
        ("something else", "note", ""),
        ("only 8 threads are used", "note", "new"),
    ]
    [inputs] = result.blocks(Facts)
    assert inputs.background
    assert (inputs.items[0].name, inputs.items[0].value) == ("x", "float32[1,8]")
