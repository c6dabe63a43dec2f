"""The functions of plugins that a plan takes: compare functions, and watchers of what is compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from polycmp.errors import OthersCode, PluginError
from polycmp.plan import ComparePlan, Plan
from polycmp.spec import Compared, CompareFunction

if TYPE_CHECKING:
    from polycmp.plugins import Registry


def make_functions(plan: ComparePlan, registry: Registry) -> dict[str, CompareFunction]:
    """Return the compare functions by name.

    Raises:
        PluginError: A function asked for is not there, or its plugin is broken.
        UsageError: Its options cannot be right.
    """
    functions: dict[str, CompareFunction] = {}
    for choice in plan.functions:
        contribution = registry.find_compare_func(choice.name)
        registry.require(contribution)
        factory = registry.load(contribution)
        extra = {"detail": plan.detail} if contribution.spec.detail else {}
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


def lenience(plan: Plan, registry: Registry) -> list[str]:
    """Return notes on what counts as equal with the plan's data loader and would not otherwise."""
    spec = registry.find_data_loader(plan.data.loader.name).spec
    notes = [
        note
        for choice in (() if plan.compare.script else plan.compare.functions)
        for field, note in spec.compare_notes.get(choice.name, {}).items()
        if vars(choice.options)[field] == spec.compare_defaults[choice.name][field]
    ]
    return [f"with the data loader {spec.name} {' and '.join(notes)}"] if notes else []
