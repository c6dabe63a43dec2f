"""The words that users read most, in one place: verdicts, closing sentences, reasons and notes.

Every command ends with one line, `WORD: sentence`. The word is one of the seven in `MEANINGS`; the sentence says what
happened and, where the word leaves that open, whether it is good or bad. Reasons stand beside an output or below it.
Functions here take plain values and decide nothing. What only one plugin says stands where the plugin decides it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from polycmp.errors import EXIT_DIFFERENT, EXIT_FAILED, EXIT_OK

__all__ = [
    "BLIND",
    "ERROR",
    "FAILED",
    "FOUND",
    "INCONCLUSIVE",
    "INFINITIES",
    "MARKS",
    "MEANINGS",
    "NOTHING_IN_COMMON",
    "NOTHING_RAN",
    "NOT_FINITE",
    "NO_ELEMENTS",
    "NO_FAULT",
    "ONE_NUMBER",
    "ONE_RUN",
    "PASSED",
    "UNDECIDED",
    "UNMOVED",
    "Meaning",
    "backends_failed",
    "channels_lost",
    "counted",
    "cut",
    "elements_differ",
    "explained",
    "finished",
    "heading_of",
    "listed",
    "made_up",
    "most_too_small",
    "nan_differs",
    "nan_everywhere",
    "no_elements",
    "outputs_differ",
    "outputs_inconclusive",
    "outputs_passed",
    "rounded_up",
    "shortened",
    "signs_differ",
    "statistic_too_large",
    "too_small",
    "unmoved",
    "unmoved_by_inputs",
    "unreached",
    "untried",
    "whole_numbers_differ",
    "would_have_passed",
]

PASSED: Final = "PASSED"
NO_FAULT: Final = "NO FAULT"
FOUND: Final = "FOUND"
FAILED: Final = "FAILED"
BLIND: Final = "BLIND"
UNDECIDED: Final = "UNDECIDED"
ERROR: Final = "ERROR"

#: What a report prints beside a row, by its state; a suite has `known` for a case that is known to fail.
MARKS: Mapping[str, str] = {
    "passed": "ok",
    "failed": "FAIL",
    "blind": BLIND,
    "undecided": UNDECIDED,
    "error": ERROR,
    "skipped": "-",
    "known": "known",
    "info": "",
}


class Meaning(NamedTuple):
    """The meaning of a word at the beginning of a closing line."""

    statuses: tuple[int, ...]
    text: str


MEANINGS: Mapping[str, Meaning] = {
    PASSED: Meaning((EXIT_OK,), "everything that was compared or checked is as it should be"),
    NO_FAULT: Meaning((EXIT_OK,), "the search found nothing to blame"),
    FOUND: Meaning(
        (EXIT_DIFFERENT, EXIT_OK),
        "the search found what it looked for; the status is 1 if that means that something differs",
    ),
    FAILED: Meaning((EXIT_DIFFERENT,), "something differs, or a check does not hold"),
    BLIND: Meaning((EXIT_FAILED,), "the comparison could not have failed, so it proves nothing"),
    UNDECIDED: Meaning((EXIT_FAILED,), "the difference may be rounding or a fault; this comparison cannot tell which"),
    ERROR: Meaning((EXIT_FAILED,), "something could not be run, read, compared or written"),
}


def heading_of(verdict: str) -> str:
    """Return the word for a verdict: `passed`, `failed`, `blind`, `undecided`, `error`."""
    return verdict.upper()


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: `1 output`, `2 outputs`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def rounded_up(number: float, most: int) -> int:
    """Return how many are needed, rounded up to two digits; 0 where that is more than can be taken."""
    if not number <= most:
        return 0
    unit: int = 10 ** max(len(str(math.ceil(number))) - 2, 0)
    return math.ceil(number / unit) * unit


def listed(names: Sequence[str], shown: int) -> str:
    """Return the first names, quoted, and the number of the others."""
    return shortened([repr(name) for name in names], shown)


def shortened(texts: Sequence[str], shown: int) -> str:
    """Return the first texts and the number of the others."""
    return ", ".join(texts[:shown]) + (f" and {len(texts) - shown} more" if len(texts) > shown else "")


def cut(text: str, length: int) -> str:
    """Return a text of at most so many characters; the last one says so where there are more."""
    return text if len(text) <= length else f"{text[: length - 1]}…"


# --- closing sentences

ONE_RUN: Final = "the model ran; there was no second run to compare it with"
NOT_FINITE: Final = "outputs hold NaN or infinity"
NOTHING_IN_COMMON: Final = "no output in common"
NOTHING_RAN: Final = "nothing ran"
#: By verdict, what outputs are that neither passed nor failed; after `1 of 2 outputs`.
INCONCLUSIVE: Mapping[str, str] = {
    "undecided": "could not be decided: the bound may explain anything",
    "blind": "compared blindly: nothing could have differed",
}


def outputs_passed(number: int, uncounted: Sequence[str]) -> str:
    """Count the outputs that passed.

    Args:
        number: Number of outputs.
        uncounted: Those that hold whole numbers that differ within the tolerance.
    """
    remark = f"; whole numbers that differ count as equal in {listed(uncounted, 3)}" if uncounted else ""
    return f"{counted(number, 'output')} within tolerance{remark}"


def outputs_differ(failed: int, number: int) -> str:
    """Count the outputs that differ."""
    return f"{failed} of {counted(number, 'output')} differ{'s' if failed == 1 else ''}"


def finished(iterations: int, wanted: int) -> str:
    """Count the iterations that were compared before an interruption."""
    of = f" of {wanted}" if wanted > iterations else ""
    return f"{iterations}{of} iterations were compared" if iterations > 1 or of else "1 iteration was compared"


def outputs_inconclusive(verdict: str, some: int, number: int) -> str:
    """Count the outputs that are blind or undecided."""
    return f"{some} of {counted(number, 'output')} {INCONCLUSIVE[verdict]}"


def backends_failed(labels: Sequence[str], differences: str = "") -> str:
    """Name the backends that failed, with the result of comparing the others."""
    return f"{', '.join(labels)} failed" + (f": {differences}" if differences else "")


# --- reasons of outputs


def elements_differ(failed: int, count: int, worst: str, enough: str) -> str:
    """Count the elements that differ.

    Args:
        failed: Elements outside the tolerance.
        count: All elements.
        worst: Place and values of the worst element, in words.
        enough: Tolerances that would pass; empty if none would.
    """
    text = f"{failed} of {counted(count, 'element')} differ{'s' * (failed == 1)} by more than both tolerances"
    return f"{text}{worst and ', '}{worst}; {f'{enough} would pass' if enough else 'no tolerance would do'}"


def statistic_too_large(statistic: str, of_abs: float, of_rel: float, atol: float, rtol: float) -> str:
    """Compare a statistic of the errors with its tolerances."""
    return f"the {statistic} error is {of_abs:.5g} absolute and {of_rel:.5g} relative (allowed: {atol:g} and {rtol:g})"


def whole_numbers_differ(differing: int, count: int, largest: float) -> str:
    """Count the whole numbers that differ within the tolerance."""
    some = f"{differing} of {counted(count, 'element')} differ{'s' * (differing == 1)}"
    return f"{some} within tolerance, by at most {largest:.9g}"


NO_ELEMENTS: Final = "there is nothing in it"
ONE_NUMBER: Final = "the candidate holds the same number everywhere, the reference does not"
INFINITIES: Final = "infinities on both sides differ (--infinities-compare-equal makes them equal)"


def nan_differs(candidate: int, reference: int) -> str:
    """Name the side that holds NaN."""
    if not reference:
        return f"NaN born: {candidate} in the candidate, none in the reference"
    if not candidate:
        return f"NaN lost: {reference} in the reference, none in the candidate"
    return f"NaN: {candidate} in the candidate, {reference} in the reference"


def channels_lost(lost: int, count: int, axis: int | None, value: str) -> str:
    """Count the channels that hold one number only."""
    return f"{lost} of {count} channels (axis {axis}) are {value} here and not in the reference"


def signs_differ(turned: int, count: int, axis: int) -> str:
    """Count the vectors of length 1 that agree but for their sign."""
    return (
        f"but for the sign of {turned} of {counted(count, 'vector')} of length 1 (axis {axis}) they agree: "
        "eigenvectors and singular vectors have no sign of their own"
    )


# --- reasons of what is blind or undecided

UNMOVED: Final = "no output depends on the inputs, so a fault inside the model need not show"


def unmoved(output: str) -> str:
    """Name an output that stays as it is where others move with the inputs."""
    return f"{output!r} does not depend on the inputs, so a fault inside the model need not show in it"


def unmoved_by_inputs(output: str) -> str:
    """Name an output that stays as it is, of a model that shows nothing of itself."""
    return f"{unmoved(output)} (weights were not changed: this kind of model shows none)"


def unreached(output: str) -> str:
    """Name an output that is the same for other weights, with inputs that could not be changed."""
    return f"with these inputs {output!r} is the same for other weights, so a fault in them need not show: give others"


def untried(output: str) -> str:
    """Name an output of which it is not known whether it moves."""
    return f"whether {output!r} depends on the inputs is not known: no backend runs the model once more"


def too_small(output: str, scale: float, atol: float) -> str:
    """Compare the largest value of an output with the absolute tolerance above it."""
    return f"the largest value of {output!r} is {scale:.2g}, below atol {atol:g}: nothing could differ"


def most_too_small(output: str, most: float, atol: float) -> str:
    """Compare all but few of an output's values with the absolute tolerance above them."""
    those = f"31 of 32 values of {output!r} other than 0"
    return f"{those} are at most {most:.2g}, below atol {atol:g}: they could not differ"


def nan_everywhere(output: str) -> str:
    """Name an output that holds no number."""
    return f"{output!r} is NaN everywhere, on both sides: no number was compared"


def would_have_passed(what: str, why: str = "") -> str:
    """Name an impostor that would have passed, and the reason."""
    return f"{what} would have passed, too{why and ': '}{why}"


def made_up(numbers: Mapping[str, float]) -> str:
    """Name the numbers that were made up, where the reference gives NaN for them, and the option that gives them."""
    shown = " and ".join(f"{name} = {value:.3g}" for name, value in list(numbers.items())[:3])
    which = "this value was" if len(numbers) == 1 else "these values were"
    options = " ".join(f"{name}:[LOW,HIGH]" for name in list(numbers)[:3])
    return f"the reference holds NaN for {shown}, and {which} made up: give them with --val-range {options}"


def no_elements(output: str) -> str:
    """Name an output without elements."""
    return f"{output!r} has no elements: nothing was compared"


def explained(kind: str, bound: float, source: str, *, on_average: bool = False, where: str = "") -> str:
    """Give the error that rounding explains.

    Args:
        kind: The type that is rounded to.
        bound: The largest error that it explains.
        source: Origin of the bound, in words.
        on_average: Whether it is a root mean square.
        where: The part of an output that it is about, in words; empty for the whole.
    """
    about = f"{' on average' if on_average else ''}{f' {where}' if where else ''}"
    return f"rounding explains up to {bound:.2g}{about} ({source or kind})"
