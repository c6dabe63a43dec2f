"""The compare functions of a plan."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from polycmp.errors import OthersCode, PluginError
from polycmp.plan import ComparePlan, Plan

if TYPE_CHECKING:
    from polycmp.plugins import Registry


def make_functions(plan: ComparePlan, registry: Registry) -> dict[str, Callable[..., Any]]:
    """Return the compare functions by name.

    Raises:
        PluginError: A function asked for is not there, or its plugin is broken.
        UsageError: Its options cannot be right.
    """
    functions = {}
    for choice in plan.functions:
        contribution = registry.find_compare_func(choice.name)
        registry.require(contribution)
        factory = registry.load(contribution)
        # Only functions that can tell more for a report take `detail`; the contract does not ask for it.
        extra = {"detail": plan.detail} if "detail" in inspect.signature(factory).parameters else {}
        with OthersCode(PluginError, "the compare function cannot be made", whose=contribution.label):
            functions[choice.name] = factory(choice.options, **extra)
    return functions


def lenience(plan: Plan) -> list[str]:
    """Return notes on what counts as equal with the data loader `stress` and would not otherwise."""
    options = next((choice.options for choice in plan.compare.functions if choice.name == "simple"), None)
    if plan.data.loader.name != "stress" or options is None or plan.compare.script:
        return []
    notes = []
    if options.nan == "equal":
        notes.append("NaN at the same place on both sides is equal (--nan differ changes that)")
    if options.scale_atol:
        notes.append("the absolute tolerance is in units of an output's largest value (--atol X changes that)")
    return [f"with the data loader stress {' and '.join(notes)}"] if notes else []
