"""A vote among runs: the one that disagrees with all others, which agree with each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations


def odd_one_out(labels: Sequence[str], agree: Callable[[str, str], bool]) -> tuple[str, str]:
    """Return the run that is alone, and a remark.

    Args:
        labels: The runs.
        agree: Whether two of them agree, asked once of each pair.

    Returns:
        The run's label, empty if there is none, and a remark, empty if all agree.
    """
    disagreeing = {frozenset(pair) for pair in combinations(labels, 2) if not agree(*pair)}
    if not disagreeing:
        return "", ""
    for label in labels:
        others = [other for other in labels if other != label]
        if len(others) > 1 and {frozenset((label, other)) for other in others} == disagreeing:
            return label, f"the odd one out is {label}: {' and '.join(others)} agree with each other"
    return "", "no single backend is the odd one out: several pairs disagree"
