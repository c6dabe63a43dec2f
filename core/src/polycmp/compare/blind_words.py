"""Explanations, in words, of why a comparison could not have failed, and of an output's content."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

from polycmp.compare.impostors import SCALED, Impostors
from polycmp.compare.verdicts import DetailedVerdict
from polycmp.sentences import too_small, would_have_passed
from polycmp.spec import Verdict


def why_passed(kind: str, output: str, asked: Impostors, verdicts: Collection[Verdict]) -> str:
    """Return in words what let an impostor pass.

    Args:
        kind: The impostor.
        output: The output's name.
        asked: The impostors of the iteration; this one was asked with last.
        verdicts: Verdicts of the functions on the candidate.
    """
    name = repr(output)
    tolerances = [item.tolerance for item in verdicts if isinstance(item, DetailedVerdict)]
    if kind == "constant" and not any("atol" in item for item in tolerances):
        return would_have_passed(f"{asked.value:.4g} everywhere in place of {name}")
    if kind == "constant":
        near = f"all values of {name} lie within {asked.apart:.2g} of {asked.value:.4g}"
        return f"{near}: {would_have_passed('that number everywhere')}"
    if kind == "row":
        return f"each row of {name} would have passed for the next one: they differ by at most {asked.apart:.2g}"
    if kind == "iteration":
        return f"{name} of one iteration would have passed for the next: they differ by at most {asked.apart:.2g}"
    return why_scaled(kind, output, asked.scale, tolerances_of(verdicts))


def tolerances_of(verdicts: Collection[Verdict]) -> dict[str, float]:
    """Return the largest of the absolute and of the relative tolerances of verdicts; NaN where one has none."""
    tolerances = [item.tolerance for item in verdicts if isinstance(item, DetailedVerdict)]
    return {key: max(item.get(key, math.nan) for item in tolerances) for key in ("atol", "rtol") if tolerances}


def why_scaled(kind: str, output: str, scale: float, tolerance: Mapping[str, float]) -> str:
    """Return in words what lets the reference times a number pass.

    Args:
        kind: The impostor.
        output: The output's name.
        scale: The largest magnitude of the reference.
        tolerance: The tolerances, as far as there are any.
    """
    share, atol, rtol = SCALED[kind][0], tolerance.get("atol", math.nan), tolerance.get("rtol", math.nan)
    name, by_atol = repr(output), share * scale <= atol
    if kind == "zeros" and by_atol:
        return too_small(output, scale, atol)
    what = {
        "zeros": f"zeros in place of {name}",
        "negated": f"{name} with every sign flipped",
        "halved": f"half of every value of {name}",
        "larger": f"every value of {name} made 10 % larger",
    }[kind]
    why = f"atol {atol:g} is {atol / scale:.0%} of the largest value, {scale:.3g}" if by_atol else ""
    return would_have_passed(what, f"rtol is {rtol:g}" if not by_atol and share <= rtol else why)


def holds_one(value: Any, *, size: int, is_bool: bool) -> str:
    """Return in words that an output holds one number, or one text."""
    shown = str(bool(value)) if is_bool else repr(value) if isinstance(value, (str, bytes)) else f"{value:.4g}"
    return f"its only element is {shown}" if size == 1 else f"the reference holds {shown} everywhere"
