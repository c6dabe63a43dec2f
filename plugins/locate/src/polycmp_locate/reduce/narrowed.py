"""A comparison narrowed to some of the outputs that it was made for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from polycmp.options import fields_of, unknown_names
from polycmp.plan import DEFAULT_COMPARE, Choice, ComparePlan
from polycmp.runs import is_measured

#: The tolerance of `simple` where none is given and nothing is measured.
_DEFAULT_TOLERANCE = 1e-5


def for_outputs(compare: ComparePlan, outputs: Iterable[str]) -> ComparePlan:
    """Return the options of comparing without those for other outputs than these."""
    names = list(outputs)
    return replace(compare, functions=tuple(_for_outputs(choice, names) for choice in compare.functions))


def _for_outputs(choice: Choice, outputs: list[str]) -> Choice:
    if choice.options is None:
        return choice
    changed = {}
    for field in fields_of(choice.options):
        if field.kind == "mapping":
            values = getattr(choice.options, field.name)
            gone = unknown_names(values, outputs)
            changed[field.name] = {name: value for name, value in values.items() if name not in gone}
    return replace(choice, options=replace(choice.options, **changed))


def with_numbers(compare: ComparePlan) -> ComparePlan:
    """Return options of comparing with a tolerance in numbers where rounding would be measured.

    What a saved file expects was judged by numbers, and rounding is not to be measured on the model with the fault.

    Args:
        compare: The part of the plan on comparing.
    """
    if not is_measured(compare):
        return compare
    functions = (
        Choice(
            choice.name,
            replace(
                choice.options,
                atol={"": _DEFAULT_TOLERANCE, **choice.options.atol},
                rtol={"": _DEFAULT_TOLERANCE, **choice.options.rtol},
            ),
        )
        if choice.name == DEFAULT_COMPARE
        else choice
        for choice in compare.functions
    )
    return replace(compare, tolerance="", functions=tuple(functions))
