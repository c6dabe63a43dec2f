"""Switches that a fault depends on: optimisations that a backend makes by default, and how to leave them out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from polycmp.layerwise import PartitionedRun, Variants
from polycmp.spec import Switch
from polycmp_locate.ddmin import ddmin, other_part
from polycmp_locate.values.judged import Cure

#: Predicate over a backend with other options: whether the fault is gone.
Cured = Callable[[PartitionedRun], bool]
#: Trials in one search; by count and not by time, so that a busy machine says the same. Seven halvings find one of a
#: hundred and fifty passes.
TRIALS = 32


def find_cure(partitioned_run: PartitionedRun, cured: Cured, confirmed: Cured | None = None) -> Cure | None:
    """Return the first switch of a backend that removes a fault, with its smallest change; None if none does.

    Args:
        partitioned_run: The backend with the fault.
        cured: Returns whether the fault is gone; called up to `TRIALS` times.
        confirmed: Confirms a change with a longer trial; without it `cured` decides.
    """
    variants = partitioned_run.variants
    if variants is None:
        return None
    for switch in variants.switches:
        value = _least(variants, switch, cured)
        if value is not None and confirmed is not None and not _helps(variants, switch, value, confirmed):
            value = _least(variants, switch, confirmed)  # the whole may take more than what was tried
        if value is not None:
            others = _others(variants, switch, value, confirmed or cured)
            return Cure(switch, value, variants.words(switch, value), others)
    return None


def _least(variants: Variants[PartitionedRun], switch: Switch, cured: Cured) -> Any:
    """Return the smallest change of a switch that helps; None if no change helps."""
    values = variants.values(switch)
    if not values:
        return None
    if not variants.takes_several(switch):
        helps = _helps(variants, switch, values[-1], cured)
        return next(value for value in values if _helps(variants, switch, value, cured)) if helps else None
    trials = _Trials(variants, switch, cured)
    return tuple(ddmin(values, trials, trials.may_continue)) if trials(values) else None


def _others(variants: Variants[PartitionedRun], switch: Switch, value: Any, cured: Cured) -> tuple[Any, ...]:
    """Return other values of a switch that help as well."""
    if not variants.takes_several(switch):
        return ()
    trials = _Trials(variants, switch, cured)
    return tuple(other_part(variants.values(switch), value, trials, trials.may_continue))


class _Trials:
    """A limited number of trials of several values of a switch at a time.

    Args:
        variants: The backend with other options.
        switch: The switch.
        cured: Returns whether the fault is gone.
    """

    def __init__(self, variants: Variants[PartitionedRun], switch: Switch, cured: Cured) -> None:
        self._variants, self._switch, self._cured, self._remaining = variants, switch, cured, TRIALS

    def __call__(self, some: Sequence[Any]) -> bool:
        self._remaining -= 1
        return _helps(self._variants, self._switch, tuple(some), self._cured)

    def may_continue(self) -> bool:
        """Return whether another trial is allowed."""
        return self._remaining > 0


def _helps(variants: Variants[PartitionedRun], switch: Switch, value: Any, cured: Cured) -> bool:
    turned = variants.turned(switch, value)
    return turned is not None and cured(turned)
