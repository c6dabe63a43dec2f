"""The result of a ranking, in words and figures."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from polycmp.report import NextStep
from polycmp_locate.precision.rank.presentation import result_of
from polycmp_locate.precision.rank.result import Codes, LayerFigures, MixedTrial, Ranking

INF = float("inf")


def figures(name, share=0.0, ratio=30.0, **values):
    layer = SimpleNamespace(
        name=name, label=f"Conv {name!r}", op_type="Conv", nodes=(0,), inputs=("x",), outputs=(name,)
    )
    return LayerFigures(layer, ratio, share=share, **values)


def trial(*kept, ratio=20.0, **values):
    return MixedTrial(frozenset(kept), False, ratio, **{"verdict": "failed", **values})


def ranking(**values):
    layers = [figures("a", 0.2), figures("b", 0.75), figures("c", 0.05)]
    return Ranking("new", "old", "guided", **{"layers": layers, "search_runs": 5, "trials": [trial()], **values})


@pytest.mark.parametrize(
    ("values", "heading", "sentence"),
    [
        ({"float_layers": []}, "PASSED", "new meets the tolerance as it is"),
        (
            {"float_layers": [0, 1]},
            "FOUND",
            "keep 2 of 3 layers in float to meet the tolerance: Conv 'b', Conv 'a'; found in 5 runs of a whole model",
        ),
        (
            {"float_layers": [1], "fewest": False, "search_runs": 1},
            "FOUND",
            "keep 1 of 3 layers in float to meet the tolerance: Conv 'b'; "
            "stopped after 1 run; a smaller set may exist (--max-runs)",
        ),
        (
            {"trials": [trial(), trial(0, 1, reason="y differs")]},
            "FAILED",
            "no mixed model meets the tolerance, after 5 runs of a whole model; with 2 layers in float: y differs",
        ),
        ({"trials": [trial(error="died")]}, "ERROR", "new cannot run the model: died"),
        ({"trials": [trial(0, error="died")]}, "ERROR", "new cannot run the mixed models: died"),
        (
            {"searched": False},
            "FOUND",
            "Conv 'b' causes 75% of the error, the most of 3 layers",
        ),
        (
            {"searched": False, "layers": [figures("a", 0.9), figures("b", ratio=-INF), figures("c", ratio=-INF)]},
            "FOUND",
            "Conv 'b' is ruined: numbers become infinite or NaN; 1 more is ruined, too",
        ),
        (
            {"searched": False, "layers": []},
            "FOUND",
            "new does not meet the tolerance, and has no layer in a smaller type",
        ),
        (
            {"searched": False, "trials": [trial(verdict="undecided", reason="rounding may explain it")]},
            "UNDECIDED",
            "rounding may explain it",
        ),
    ],
)  # fmt: skip
def test_what_was_found_is_said(values, heading, sentence):
    shown = result_of(ranking(**values), "locate")
    assert (shown.heading, shown.sentence) == (heading, sentence)


@pytest.mark.parametrize(
    ("command", "float_layers", "status"),
    [("locate", [1], 1), ("debug precision", [1], 0), ("locate", [], 0), ("debug precision", None, 1)],
)
def test_layers_to_keep_are_a_finding_of_locate_and_what_debug_precision_looks_for(command, float_layers, status):
    assert result_of(ranking(float_layers=float_layers), command).exit_code == status


@pytest.mark.parametrize(
    ("command", "values", "then"),
    [
        ("locate", {"float_layers": [1]}, ["polycmp x --save-mixed mixed.onnx"]),
        ("debug precision", {"float_layers": [1]}, ["polycmp x -o mixed.onnx"]),
        ("locate", {"float_layers": [1], "files": ["mixed.onnx"]}, []),
        ("locate", {"float_layers": []}, []),
        ("locate", {"searched": False, "command": "polycmp x --rank"}, ["polycmp x --save-mixed mixed.onnx"]),
        ("locate", {"searched": False, "float_layers": []}, []),
    ],
)
def test_the_next_command_writes_the_model_that_none_was_written_of(command, values, then):
    shown = result_of(ranking(**{"command": "polycmp x", **values}), command)
    assert [block.command for block in shown.content if isinstance(block, NextStep)] == then


def test_layers_that_stay_come_first_and_then_those_that_are_ruined_and_cause_most():
    layers = [
        figures("a", 0.2), figures("b", 0.7), figures("c", 0.1, in_float=True),
        figures("d", codes=[Codes("float16", "t", underflow=0.96)]), figures("e", codes=[Codes("int8", "t", 0, 0.95)]),
    ]  # fmt: skip
    shown = result_of(ranking(layers=layers, float_layers=[2]), "locate")
    (table,) = (block for block in shown.content if getattr(block, "rows", None))
    assert [row.name for row in table.rows] == ["c", "d", "b", "a", "e"]
    assert [row.mark for row in table.rows] == ["keep", "", "", "", ""]


def test_a_ratio_without_end_is_a_word():
    layers = [figures("a", ratio=INF, accumulated=-INF), figures("b")]
    shown = result_of(ranking(layers=layers, float_layers=[]), "locate")
    (table,) = (block for block in shown.content if getattr(block, "rows", None))
    cells = {row.name: row.cells[:2] for row in table.rows}
    assert [cell.text for cell in cells["a"]] == ["exact", "broken"]
    assert cells["b"][0] == 30.0
