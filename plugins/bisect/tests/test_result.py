"""The result of a search in one sentence, and in the JSON document beside it."""

from __future__ import annotations

import pytest

from polycmp.plan import BackendPlan, Plan
from polycmp_bisect.candidates.backwards import Backwards
from polycmp_bisect.candidates.files import Files
from polycmp_bisect.judging import TIME
from polycmp_bisect.locating import Operator
from polycmp_bisect.result import Answer, compared_with_itself, document_of, result_of, sentence_of
from polycmp_bisect.search import Judgement, TurningPoint

GOOD, BAD = Judgement("good", "", 0.0, 0.5, "y"), Judgement("bad", "y is off", 0.25, 0.5, "y")
SKIP = Judgement("skip", "cannot be installed")
LINE = Files(["a", "b", "c", "d"], Plan(model="d", backends=(BackendPlan("onnx", "onnx"),)), what="release of toyrt")
FUSED = Operator("wrong: Mul", {"fused": {"switch": {"words": "-b toy:off"}}})


def answer(judged, first_bad=None, last_good=None, between=(), operator=None, line=LINE):
    """Return the result of a search over four releases."""
    turn = TurningPoint(first_bad, last_good, judged, between)
    return Answer(line, turn, operator or Operator(), 2, "polycmp bisect", 1.5)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (answer({3: GOOD}), "release of toyrt d is right (y off by 0 of its range); --bad names one that is not"),
        (
            answer({3: SKIP, 2: GOOD}),
            "release of toyrt c is right (y off by 0 of its range); d could not be judged: "
            "--bad d searches for the first",
        ),
        (
            answer({2: BAD, 0: BAD}, 0),
            "a, the oldest release of toyrt that could be judged, is bad, too; --good d, if that is right, searches "
            "for the release of toyrt that mended it",
        ),
        (answer({3: BAD, 0: BAD}, 0), "a, the oldest release of toyrt that could be judged, is bad, too"),
        (
            answer({3: BAD, 0: GOOD, 1: SKIP, 2: BAD}, 2, 0, (1,)),
            "first bad release of toyrt c, last good a (b between them could not be judged); y is off (4 of 4 looked "
            "at)",
        ),
        (
            answer({1: BAD, 0: GOOD}, 1, 0, operator=Operator("wrong: Mul 'm'")),
            "first bad release of toyrt b, last good a; wrong: Mul 'm' (2 of 4 looked at)",
        ),
        (
            answer({1: BAD, 0: GOOD}, 1, 0, operator=FUSED),
            "first bad release of toyrt b, last good a; wrong: Mul; workaround: -b toy:off (2 of 4 looked at)",
        ),
        (
            answer({1: BAD, 0: GOOD}, 1, 0, line=Backwards(LINE)),
            "mended in release of toyrt d, last bad c; y is off (2 of 4 looked at)",
        ),
        (
            answer({1: Judgement("bad", "", 3.0, 3.0, TIME), 0: Judgement("good", "", 1.0, 1.0, TIME)}, 1, 0),
            "first bad release of toyrt b, last good a; it takes 3 times as long: 3 s instead of 1 s (2 of 4 looked "
            "at)",
        ),
        (
            answer({1: Judgement("bad", "slow", 3.0, 3.0, TIME), 0: Judgement("good", "", 1.0, 1.0, TIME)}, 1, 0),
            "first bad release of toyrt b, last good a; its results pass, but it takes 3 times as long: 3 s instead "
            "of 1 s (2 of 4 looked at)",
        ),
    ],
)
def test_one_sentence_says_where_it_turns_and_what_is_not_known(found, said):
    assert sentence_of(found) == said


@pytest.mark.parametrize(
    ("found", "verdict", "heading"),
    [
        (answer({3: GOOD}), "passed", "NO FAULT"),
        (answer({3: BAD}, 3), "failed", "FAILED"),
        (answer({3: BAD, 2: GOOD}, 3, 2), "failed", "FOUND"),
    ],
)
def test_what_was_found_is_in_verdict_heading_and_document_alike(found, verdict, heading):
    result, document = result_of(found), document_of(found)
    assert (result.verdict, result.heading, document["verdict"]) == (verdict, heading, verdict)
    names = dict(enumerate(LINE.names))
    assert document["first_bad"] == names.get(found.turning_point.first_bad)
    assert document["last_good"] == names.get(found.turning_point.last_good)
    assert {name: item["state"] for name, item in document["judged"].items()} == {
        names[place]: item.state for place, item in found.turning_point.judged.items()
    }
    assert (document["prepared"], document["command"], document["seconds"]) == (2, "polycmp bisect", 1.5)


def test_a_candidate_that_is_the_reference_is_blind():
    result = compared_with_itself(LINE, 1, "polycmp bisect", 0.5)
    assert result.verdict == "blind"
    assert result.sentence.startswith("toyrt b would be compared with itself")
    assert result.document["candidates"] == LINE.names
