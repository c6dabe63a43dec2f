"""Single numbers that were made up for a model: where its reference makes NaN of them, no backend is accused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from polycmp.compare.verdicts import OutputComparison, PairComparison
from polycmp.plan import DataPlan
from polycmp.plan.defaults import DEFAULT_DATA_LOADER
from polycmp.sentences import made_up
from polycmp.tensors import Feed, dtype_class, to_numpy

#: Kinds of numbers that are drawn.
_NUMBERS = frozenset({"float", "integer"})


def invented_numbers(feed: Feed, data: DataPlan) -> dict[str, float]:
    """Return the inputs of a single number that the default data loader made up, by name.

    Args:
        feed: The inputs.
        data: The part of the plan on inputs, which may give them.
    """
    if data.files or data.script or data.followers or data.loader.name != DEFAULT_DATA_LOADER:
        return {}
    ranges: Mapping[str, object] = getattr(data.loader.options, "val_range", {})
    if "" in ranges:
        return {}
    arrays = {name: to_numpy(value) for name, value in feed.items() if name not in ranges}
    return {
        name: float(array.reshape(-1)[0])
        for name, array in arrays.items()
        if array.size == 1 and dtype_class(array.dtype) in _NUMBERS
    }


def without_invented_nan(pair: PairComparison, invented: Mapping[str, float]) -> PairComparison:
    """Return the verdict on a pair, undecided where the reference holds NaN for numbers that were made up.

    Args:
        pair: The verdict so far.
        invented: The numbers, by input.
    """
    if not invented or not any(_has_nan(item) for item in pair.outputs.values()):
        return pair
    why = made_up(invented)
    outputs = {
        name: replace(item, passed=False, inconclusive="undecided", reason=f"{item.reason}; {why}")
        if _has_nan(item)
        else item
        for name, item in pair.outputs.items()
    }
    return pair.with_outputs(outputs)


def _has_nan(item: OutputComparison) -> bool:
    return item.verdict == "failed" and item.stats is not None and item.stats.nan_reference > 0
