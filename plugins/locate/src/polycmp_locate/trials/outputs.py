"""Verdict of `--tolerance auto` on a model's outputs: rounding explains them, also with errors inside, or not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polycmp.compare import SimpleOptions, is_too_far
from polycmp.runs import Resolved, Tolerances, open_tolerances
from polycmp.tensors import Feed, is_floating, to_numpy

#: Name of the tolerances that measure rounding.
_MEASURED = "auto"


class OutputRounding:
    """Judge of outputs by measured rounding.

    Args:
        resolved: The backends.
        candidate: Label of the run to judge.
        reference: Label of the run to believe.
        own: Names in the reference's model of tensors and inputs that have others here.
    """

    def __init__(
        self, resolved: Resolved, candidate: str, reference: str, own: Mapping[str, str] | None = None
    ) -> None:
        self._resolved, self._candidate, self._reference = resolved, candidate, reference
        self._own = own or {}

    def explains(self, feed: Feed, made: Mapping[str, Any], expected: Mapping[str, Any]) -> bool:
        """Return whether rounding explains what outputs differ by; False where nothing measures it.

        Args:
            feed: The inputs.
            made: The candidate's outputs.
            expected: The reference's.
        """
        pairs = {name: (to_numpy(made[name]), to_numpy(expected[name])) for name in made if name in expected}
        if any(own.shape != other.shape or _is_far(own, other) for own, other in pairs.values()):
            return False  # which spares many runs of the model
        tolerances = self._open()
        if tolerances is None:
            return False
        tolerances.begin({self._own.get(name, name): array for name, array in feed.items()})
        judge = tolerances.judge(SimpleOptions(), self._candidate, self._reference, detail=False)
        passed = all(judge(own, other, output=self._own.get(name, name)).passed for name, (own, other) in pairs.items())
        tolerances.close()
        return passed

    def _open(self) -> Tolerances | None:
        if _MEASURED not in self._resolved.registry.tolerances:
            return None
        return open_tolerances(self._resolved, self._reference, _MEASURED)


def _is_far(own: Any, other: Any) -> bool:
    return is_floating(other.dtype) and is_too_far(own, other)
