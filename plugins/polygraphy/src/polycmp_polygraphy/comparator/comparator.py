"""The comparator under the names of `polygraphy.comparator`."""

from __future__ import annotations

import logging
from typing import Any

from polycmp.comparator import Comparator as _Comparator

_LOG = logging.getLogger("polycmp.polygraphy")


class Comparator(_Comparator):
    """Runs runners on the same data and compares what they return, and warns of comparisons that could not fail."""

    @staticmethod
    def compare_accuracy(*args: Any, **kwargs: Any) -> Any:
        """Compare runs as `polycmp.comparator.Comparator` does; a program that does not expect it is told why not."""
        found = _Comparator.compare_accuracy(*args, **kwargs)
        for result in found if isinstance(found, list) else [found]:
            if result.verdict == "blind":
                _LOG.warning("%s\n  next: tighter tolerances, or compare_accuracy(allow_blind=True)", result.describe())
        return found
