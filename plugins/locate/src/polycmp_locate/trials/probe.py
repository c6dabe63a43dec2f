"""Effect of probes on the result: the outputs with and without probes, further outputs of the model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from polycmp.tensors import Outputs, dtype_class, dtype_of, to_numpy
from polycmp_locate.rounding.difference import distance, relative_to
from polycmp_locate.rounding.figures import figures
from polycmp_locate.trials.probing import is_evidence
from polycmp_locate.values.judged import Probe


def check_probe(plain: Outputs, probed: Outputs, reference: Outputs, passes: Callable[[Outputs], bool]) -> Probe:
    """Compare the candidate's final outputs with and without probes.

    Args:
        plain: Without.
        probed: With; what is missing in it was not computed.
        reference: The reference's, without probes.
        passes: Predicate over final outputs: whether they are within the tolerances.
    """
    names = [name for name in plain if name in probed]
    moved = max((_largest_gap(probed[name], plain[name]) for name in names), default=0.0)
    relative = max((_moved(probed[name], plain[name], reference.get(name)) for name in names), default=0.0)
    error = max((distance(plain[name], reference[name]) for name in plain if name in reference), default=0.0)
    probe = Probe(moved, relative, error, plain_passed=passes(plain), probed_passed=passes({**plain, **probed}))
    trusted = is_evidence(relative, error, plain_passed=probe.plain_passed, probed_passed=probe.probed_passed)
    probe = replace(probe, trusted=trusted)
    return replace(probe, sentence=_sentence(probe))


def _moved(probed: Any, plain: Any, reference: Any) -> float:
    """Return the change of an output, relative to the scale of its error."""
    gap = distance(probed, plain)
    if reference is None or not np.isfinite(gap):
        return gap
    of_candidate, of_reference = figures(plain), figures(reference)
    if of_candidate is None or of_reference is None:
        return gap
    return relative_to(gap * of_candidate.scale, of_reference.scale)


def _largest_gap(one: Any, two: Any) -> float:
    a, b = to_numpy(one), to_numpy(two)
    if a.shape != b.shape or dtype_class(dtype_of(a)) == "string" or not a.size:
        return 0.0
    with np.errstate(all="ignore"):
        gap = np.abs(a.astype(np.float64) - b.astype(np.float64))
    return float(np.nanmax(gap)) if not np.isnan(gap).all() else 0.0


def moved_text(probe: Probe) -> str:
    """Describe by how much probing moved the outputs."""
    return f"probing moved the candidate's final outputs by {probe.moved:.3g} ({probe.relative:.2g} relative)"


def _sentence(probe: Probe) -> str:
    if probe.relative == 0.0:
        return "probing did not move the candidate's final outputs"
    text = moved_text(probe)
    if probe.trusted:
        return f"{text}, too little to change the verdict"
    if not probe.plain_passed and probe.probed_passed:
        return f"{text}: the fault is gone when one looks inside"
    return (
        f"{text}, beside an error of {probe.error:.2g} relative: the accumulated errors are those of another "
        "computation, so the verdict rests on operators run alone on the reference's tensors"
    )
