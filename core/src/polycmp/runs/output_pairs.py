"""Outputs that two models call otherwise: under which names their values agree, for the command to type next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from polycmp.tensors import Outputs, dtype_class, dtype_of, to_numpy

#: Above this many on either side it is not outputs that differ but whole models, and nothing is suggested.
_MOST = 32
#: Up to this part of the reference's largest value, two outputs are more alike than unrelated ones ever are.
_ALIKE = 0.1


def suggest_output_names(candidate: Outputs, reference: Outputs, known: Mapping[str, str]) -> dict[str, str]:
    """Suggest names in the reference for those outputs of a candidate that it does not have.

    It is only ever suggested: nothing is compared under these names before a user asks for it. Outputs of the same
    kind and shape belong together whose values are closest to each other; where none are close, those that alone
    have their shape.

    Args:
        candidate: The candidate's outputs in one iteration.
        reference: The reference's, on the same inputs.
        known: Names in the candidate to names in the reference that the user gave.
    """
    taken = {known.get(name, name) for name in candidate}
    unpaired = {name: to_numpy(array) for name, array in candidate.items() if known.get(name, name) not in reference}
    unpaired_reference = {name: to_numpy(array) for name, array in reference.items() if name not in taken}
    if not unpaired or not unpaired_reference or max(len(unpaired), len(unpaired_reference)) > _MOST:
        return {}
    errors = sorted(_errors(unpaired, unpaired_reference), key=lambda item: item[0])
    suggested: dict[str, str] = {}
    for error, one, two in errors:
        if error <= _ALIKE and one not in suggested and two not in suggested.values():
            suggested[one] = two
    left = [(one, two) for _, one, two in errors if one not in suggested and two not in suggested.values()]
    ones, twos = ([pair[side] for pair in left] for side in (0, 1))
    suggested.update({one: two for one, two in left if ones.count(one) == twos.count(two) == 1})
    return {name: suggested[name] for name in unpaired if name in suggested}


def _errors(candidate: Outputs, reference: Outputs) -> Iterator[tuple[float, str, str]]:
    """Yield for each two outputs of the same kind and shape the largest error as a part of the largest value."""
    for one, left in candidate.items():
        for two, right in reference.items():
            if left.shape == right.shape and dtype_class(dtype_of(left)) == dtype_class(dtype_of(right)):
                yield _error(left, right), one, two


def _error(left: Any, right: Any) -> float:
    if dtype_class(dtype_of(left)) not in {"float", "integer", "bool"}:
        return 0.0 if np.array_equal(left, right) else 1.0
    with np.errstate(all="ignore"):
        one, two = left.astype(np.float64), right.astype(np.float64)
        largest = float(np.max(np.abs(two), initial=0.0, where=np.isfinite(two)))
        same = (one == two) | (np.isnan(one) & np.isnan(two))
        difference = np.where(same, 0.0, np.abs(one - two))
        error = float(np.max(difference, initial=0.0))
    if not largest or np.isnan(error):
        return 0.0 if error == 0.0 else 1.0
    return error / largest
