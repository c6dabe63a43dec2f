"""What is noted beside the verdict, and where a part of the model was not judged."""

from __future__ import annotations

import pytest

from polycmp.compare import OutputComparison
from polycmp.graph import GraphNode
from polycmp_locate.report.report import report
from polycmp_locate.values.judged import FAILS, NOT_JUDGED, WITHIN_ROUNDING, Judged, Reason

FINALS = (OutputComparison("y", "y", True),)
BORROWED = (GraphNode("Fancy", "f"), GraphNode("Odd", "o"))


def test_of_a_backend_that_did_not_run_nothing_more_is_said(setting):
    found = report(Judged(FAILS, is_whole=False, unseen=("a",)), setting)
    assert (found.sentence, found.notes, found.explain) == ("", [], [])


@pytest.mark.parametrize(
    ("values", "notes"),
    [
        ({}, []),
        ({"is_whole": False}, ["with --bisect nothing tells whether looking inside changes the result"]),
        (
            {"is_whole": False, "unseen": ("a", "b")},
            [
                "with --bisect nothing tells whether looking inside changes the result",
                "not seen: 'a', 'b'; if the error begins there, a later tensor is named",
            ],
        ),
        ({"reasons": (Reason("it saturates"), Reason("it may", False))}, ["cause: it saturates", "it may"]),
    ],
)
def test_what_was_not_seen_and_the_reasons_are_noted(setting, values, notes):
    assert report(Judged(WITHIN_ROUNDING, finals=FINALS, **values), setting).notes == notes


def test_what_the_backends_say_of_themselves_is_noted_with_their_names(setting):
    setting.reference.result.notes.append("left a pass out")
    notes = report(Judged(WITHIN_ROUNDING, finals=FINALS), setting).notes
    assert notes == ["ref left a pass out"]


@pytest.mark.parametrize(
    ("count", "words"),
    [(1, "Fancy 'f' is not judged: ref cannot run it; of the rest: within rounding"),
     (2, "2 operators (Fancy, Odd) are not judged: ref cannot run them; of the rest: within rounding")],
)  # fmt: skip
def test_operators_that_the_reference_lacks_are_not_judged(setting, count, words):
    found = report(Judged(WITHIN_ROUNDING, finals=FINALS, borrowed=BORROWED[:count]), setting)
    assert (found.judged.verdict, found.exit_code) == (NOT_JUDGED, 3)
    assert found.sentence.startswith(words)
