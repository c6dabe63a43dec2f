"""The functions of plugins that a plan takes: compare functions, and watchers of what is compared."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from polycmp.errors import OthersCode, PluginError
from polycmp.plan import ComparePlan, Plan
from polycmp.spec import Compared

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


def open_watchers(options: Mapping[str, Any], registry: Registry) -> list[Callable[[Compared], None]]:
    """Return what watches the arrays that are compared.

    Args:
        options: An options instance for each report that was given any, by name.
        registry: The plugins.

    Raises:
        PluginError: A report asked for is not there, its plugin is broken, or it lacks a module.
        UsageError: Its options cannot be right.
    """
    watchers = []
    for name, chosen in options.items():
        contribution = registry.find_report(name)
        if contribution.spec.watch:
            registry.require(contribution)
            watchers.append(registry.load(contribution, contribution.spec.watch)(chosen))
    return [watcher for watcher in watchers if watcher is not None]


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
