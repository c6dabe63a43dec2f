"""Comparing outputs made of text: equal or not."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp.compare.verdicts import DetailedVerdict
from polycmp.errors import ComparisonError


def _text(value: Any) -> str:
    # By the base classes' own methods: a subclass may say anything.
    if isinstance(value, bytes):
        return bytes.decode(value, "utf-8", "surrogateescape")
    if isinstance(value, str):
        return str.__str__(value)
    raise ComparisonError(
        f"an output holds objects of type {type(value).__name__}, which are neither numbers nor text",
        hint="return arrays of numbers, or of str",
    )


def compare_strings(candidate: NDArray[Any], reference: NDArray[Any]) -> DetailedVerdict:
    """Return whether two arrays of text, of one shape, are equal; bytes are taken as UTF-8.

    Raises:
        ComparisonError: An element is no text.
    """
    failed, first = 0, -1
    for position, (a, b) in enumerate(zip(candidate.flat, reference.flat, strict=True)):
        if _text(a) != _text(b):
            first = position if first < 0 else first
            failed += 1
    metrics = {"differing": float(failed)}
    if not failed:
        return DetailedVerdict(True, metrics=metrics)
    index = tuple(int(i) for i in np.unravel_index(first, candidate.shape)) if candidate.shape else ()
    a, b = _text(candidate[index]), _text(reference[index])
    reason = f"{failed} of {candidate.size} texts differ, the first at {list(index)}: {a!r} instead of {b!r}"
    return DetailedVerdict(False, reason, metrics)
