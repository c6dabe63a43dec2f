"""Impostors of parts of an array: of slices that have a scale of their own, as boxes and scores in one output have.

A tolerance, or a figure of the whole output, that fits the large part may let anything pass in the small one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp.compare.blind_words import tolerances_of, why_scaled
from polycmp.compare.blocks import wide
from polycmp.compare.impostors import MOST, SCALED, Functions, ignored_by, is_ours, same_but_rounding
from polycmp.compare.scales import Scales, scales_of
from polycmp.compare.simple import Simple
from polycmp.compare.verdicts import DetailedVerdict
from polycmp.sentences import most_too_small, would_have_passed
from polycmp.spec import Verdict
from polycmp.tensors import dtype_class

Array = NDArray[Any]
#: Elements that tell whether a part may be too small to be seen, and the share of them that it has at least: half of
#: the smallest part that `scales_of` knows.
_SAMPLE, _LEAST_OF_SAMPLE = 1 << 12, 1.0 / 32.0
#: By what share of their values impostors are off, the furthest off first.
_SHARES = {kind: SCALED[kind][0] for kind in ("zeros", "halved", "larger")}


def can_be_asked(functions: Functions) -> bool:
    """Return whether compare functions see all parts alike: none that others wrote, or that has a test of its own."""
    return all(is_ours(item) and "zeros" not in ignored_by(item) for item in functions.values())


def why_part_passes(functions: Functions, output: str, reference: Array, verdicts: Mapping[str, Verdict]) -> str:
    """Return in words which part of an output could not have failed; empty if each could.

    Args:
        functions: The compare functions, by name; see `can_be_asked`.
        output: The output's name.
        reference: The reference's array.
        verdicts: Verdicts of the functions on the candidate, by name.
    """
    if dtype_class(reference.dtype) not in {"float", "complex"} or reference.size < 2:
        return ""
    told = {name: item for name, item in functions.items() if isinstance(item, Simple) and item.by_element}
    others = {name: item for name, item in functions.items() if name not in told}
    if others and reference.size > MOST:
        return ""
    sample = np.sort(_some_magnitudes(reference)) if told else np.zeros(1)
    if not sample.size or not _all_told(told, output, verdicts, "larger", sample[int(_LEAST_OF_SAMPLE * sample.size)]):
        return ""  # elements of each size could have failed
    tolerance = tolerances_of(list(verdicts.values()))
    scales = scales_of(reference)
    for kind in _kinds(told, others) if scales.count > 1 else ():
        for index, part in enumerate(scales.parts(reference)):
            top = float(_magnitudes(part).max(initial=0.0))
            if _all_told(told, output, verdicts, kind, top) and all(
                _passes(others, kind, output, reference, scales, index)
            ):
                why = _WORDS[kind].format(repr(output)) if others else ""
                sentence = would_have_passed(why) if others else why_scaled(kind, output, top, tolerance)
                return f"{sentence} ({scales.where(index)})"
    most = float(sample[-1 - int(_LEAST_OF_SAMPLE * sample.size)])
    if others or not all(item.options.atol for item in told.values()):
        return ""
    if _all_told(told, output, verdicts, "zeros", most):
        return most_too_small(output, most, tolerance["atol"])
    return ""


def _kinds(told: Mapping[str, Simple], others: Functions) -> tuple[str, ...]:
    """Return the impostors of parts that functions are asked with."""
    if not others:
        return ("zeros", "halved", "larger")
    return ("zeros", "halved") if told else ("zeros", "halved", "row")


_WORDS = {
    "zeros": "zeros in a part of {}",
    "halved": "half of every value in a part of {}",
    "row": "each channel in a part of {} in place of the next",
}


def _all_told(
    told: Mapping[str, Simple], output: str, verdicts: Mapping[str, Verdict], kind: str, scale: float
) -> bool:
    """Return whether values up to a scale pass that are off by the share of an impostor, by figures alone."""
    for name, item in told.items():
        verdict = verdicts.get(name)
        if not isinstance(verdict, DetailedVerdict) or verdict.stats is None:
            return False
        of_scale = replace(verdict, stats=replace(verdict.stats, scale=scale))
        if not item.passes_scaled(_SHARES[kind], of_scale, output=output):
            return False
    return True


def _passes(
    functions: Functions, kind: str, output: str, reference: Array, scales: Scales, index: int
) -> Iterator[bool]:
    """Yield whether each function lets an impostor pass that differs from the reference in one part."""
    if not functions:
        return
    axis, positions = scales.axis or 0, list(scales.members[index])
    where = (slice(None),) * axis + (positions,)
    part = reference[where]
    altered = np.roll(part, 1, axis) if kind == "row" else part * np.asarray(SCALED[kind][1], part.dtype)
    if same_but_rounding(altered, part):
        yield False
        return
    judged = reference.copy()
    judged[where] = altered
    for item in functions.values():
        yield bool(item(judged, reference, output=output).passed)


def _magnitudes(array: Array) -> NDArray[np.float64]:
    """Return the magnitudes of the finite numbers of an array."""
    magnitudes: NDArray[np.float64] = np.abs(wide(array))
    return magnitudes[np.isfinite(magnitudes)]


def _some_magnitudes(array: Array) -> NDArray[np.float64]:
    """Return the magnitudes of elements other than 0 from all over an array; of all where there are few."""
    if array.size > _SAMPLE:
        places = np.unravel_index(np.random.default_rng(0).integers(0, array.size, _SAMPLE), array.shape)
        array = array[places]
    magnitudes = _magnitudes(array)
    return magnitudes[magnitudes > 0.0]
