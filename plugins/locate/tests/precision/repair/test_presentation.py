"""The result of a repair, in words."""

from __future__ import annotations

import pytest

from polycmp.report import NextStep
from polycmp_locate.precision.rank.result import MixedTrial
from polycmp_locate.precision.repair.presentation import result_of
from polycmp_locate.precision.repair.result import Correction, Repair, Suspect

WEIGHT = Correction("parameter", "Conv 'c'", "a weight")


def trial(ratio=20.0, passed=False, error=""):
    return MixedTrial(frozenset(), passed, ratio, error=error)


@pytest.mark.parametrize(
    ("changes", "heading", "sentence", "status"),
    [
        ({"before": trial(passed=True)}, "PASSED", "new meets the tolerance as it is", 0),
        ({"before": trial()}, "FAILED", "no change was found that brings new within tolerance; nothing was written", 1),
        (
            {"before": trial(), "after": trial(60.0), "changes": [WEIGHT]},
            "FOUND",
            "1 change from the source brings new within tolerance: an error of 0.1 before, an error of 0.001 after",
            1,
        ),
        (
            {"before": trial(error="died"), "after": trial(float("inf")), "changes": [WEIGHT, WEIGHT]},
            "FOUND",
            "2 changes from the source bring new within tolerance: it did not run before, no error after",
            1,
        ),
        (
            {"before": trial(float("-inf")), "after": trial(), "changes": [WEIGHT]},
            "FOUND",
            "1 change from the source brings new within tolerance: an error without bounds before, "
            "an error of 0.1 after",
            1,
        ),
    ],
)
def test_what_was_mended_is_said(changes, heading, sentence, status):
    shown = result_of(Repair("new", "old", **changes))
    assert (shown.heading, shown.sentence, shown.exit_code) == (heading, sentence, status)


@pytest.mark.parametrize(
    ("changes", "files", "offered"), [([WEIGHT], [], True), ([WEIGHT], ["f.onnx"], False), ([], [], False)]
)
def test_the_command_that_writes_the_model_is_offered_where_none_was(changes, files, offered):
    shown = result_of(
        Repair("new", "old", changes=changes, files=files, after=trial(), command="polycmp locate m.onnx")
    )
    steps = [block.command for block in shown.content if isinstance(block, NextStep)]
    assert steps == (["polycmp locate m.onnx --save-fixed fixed.onnx"] if offered else [])


def test_the_document_has_a_layer_that_is_wrong_and_no_figure_of_what_did_not_run():
    repair = Repair("new", "old", [Suspect("c", float("-inf"), ("conv", "relu"))], [WEIGHT], trial(error="died"))
    document = result_of(repair).document
    assert document["suspects"] == [{"layer": "c", "operators": ["conv", "relu"], "own_snr_db": float("-inf")}]
    assert document["changes"] == [{"kind": "parameter", "where": "Conv 'c'", "text": "a weight"}]
    assert (document["before"]["snr_db"], document["before"]["error"], document["after"]) == (None, "died", None)
