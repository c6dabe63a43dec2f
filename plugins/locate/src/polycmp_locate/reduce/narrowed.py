"""A comparison narrowed to some of the outputs that it was made for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from polycmp.options import fields_of, unknown_names
from polycmp.plan import Choice, ComparePlan


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
