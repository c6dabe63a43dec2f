"""The sentences that several searches of `bisect` share, in one place to edit.

Functions take plain values and decide nothing. The words that all commands share are in `polycmp.sentences`.
"""

from __future__ import annotations

from typing import Final

SHOWN_BY_RUN: Final = "polycmp run shows what is compared"
WHICH_PASSES: Final = "one run alone does not tell which passes matter"
NO_DIFFERENCE: Final = "nothing could have differed"
EQUAL_TO_ITSELF: Final = (
    "--nan equal --infinities-compare-equal where it computes such numbers; else make the reference deterministic"
)
REDUCING: Final = "making the model smaller"


def not_the_same_twice(judged: str, once: str, again: str) -> str:
    """Compare the two judgements of something that was judged twice.

    Args:
        judged: A candidate, a backend or the file.
        once: The first judgement, in words.
        again: The second.
    """
    return f"{judged} is not the same twice: {once}, then {again}"


def itself(what: str, name: str) -> str:
    """Describe that the reference is the candidate.

    Args:
        what: Noun for the candidate: `release of onnxruntime`.
        name: Name of the candidate.
    """
    shown = f"{what.removeprefix('release of ')} {name}" if what.startswith("release of ") else f"{what} {name}"
    return f"{shown} would be compared with itself: the reference is the same, so nothing could have differed"


def only_together(operators: str) -> str:
    """Name the operators that a setting keeps apart."""
    return f"it runs {operators} one by one, but not together"


def no_run_shows_which(others: str) -> str:
    """Name what helps as well as what was found."""
    return f"without {others} it is right as well, and no run shows which of the two is wrong"


def issue_at(page: str) -> str:
    """Name the file with the text of an issue."""
    return f"the text of an issue: {page}"
