"""The compare functions of a plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from polycmp.compare.scripted import load_compare_script
from polycmp.errors import OthersCode, PluginError
from polycmp.options.values import split_script
from polycmp.plan import ComparePlan
from polycmp.spec import CompareFunction, CompareFuncTools, DataLoaderSpec

if TYPE_CHECKING:
    from polycmp.plugins import Contributed, Registry


class PlannedFunctions:
    """The compare functions of a plan, each looked up and made once; a script takes their place.

    Args:
        plan: The part of the plan on comparing.
        registry: The plugins.

    Raises:
        PluginError: A function asked for is not there.
    """

    def __init__(self, plan: ComparePlan, registry: Registry) -> None:
        chosen = () if plan.script else plan.functions
        self._found = [(choice, registry.find_compare_func(choice.name)) for choice in chosen]
        self._plan, self._registry = plan, registry

    @property
    def tools(self) -> Mapping[str, CompareFuncTools]:
        """What is true of the functions by name, except those of scripts."""
        return {choice.name: self._registry.tools(item) for choice, item in self._found}

    @property
    def any_shape(self) -> bool:
        """Whether all of them judge arrays of different shapes."""
        return bool(self._found) and all(tools.any_shape for tools in self.tools.values())

    @cached_property
    def by_name(self) -> Mapping[str, CompareFunction]:
        """The functions by name, that of a script as `script`.

        Raises:
            PluginError: A plugin is broken, or lacks a module.
            UsageError: The options of one cannot be right.
            DataError: The script cannot be loaded.
        """
        if self._plan.script:
            return {"script": load_compare_script(*split_script(self._plan.script, "compare_outputs"))}
        functions: dict[str, CompareFunction] = {}
        for choice, contribution in self._found:
            self._registry.require(contribution)
            factory = self._registry.load(contribution)
            extra = {"detail": self._plan.detail} if self._registry.tools(contribution).detail else {}
            with OthersCode(PluginError, "the compare function cannot be made", whose=contribution.label):
                functions[choice.name] = factory(choice.options, **extra)
        return functions


def make_functions(plan: ComparePlan, registry: Registry) -> Mapping[str, CompareFunction]:
    """Return the compare functions of a plan by name; errors as in `PlannedFunctions`."""
    return PlannedFunctions(replace(plan, script=""), registry).by_name


def relaxed_tolerances(loader: Contributed[DataLoaderSpec], compare: ComparePlan, registry: Registry) -> list[str]:
    """Return notes on what counts as equal with a data loader and would not otherwise."""
    tools = registry.tools(loader)
    notes = [
        note
        for choice in (() if compare.script else compare.functions)
        for field, note in tools.compare_notes.get(choice.name, {}).items()
        if vars(choice.options)[field] == tools.compare_defaults[choice.name][field]
    ]
    return [f"with the data loader {loader.name} {' and '.join(notes)}"] if notes else []
