"""A compare function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from polycmp.spec import Verdict
from toybox.plugin import SignsOptions


def make_signs(options: SignsOptions) -> Callable[..., Verdict]:
    """Return the compare function that looks at signs alone."""

    def compare(candidate: Any, reference: Any, *, output: str) -> Verdict:
        wrong = int(np.count_nonzero(np.sign(candidate) != np.sign(reference)))
        passed = wrong <= options.allowed
        return Verdict(passed, "" if passed else f"{wrong} signs of {output} differ", {"signs": wrong})

    return compare
