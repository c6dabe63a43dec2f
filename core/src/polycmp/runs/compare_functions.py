"""The functions of plugins that a plan takes: compare functions, watchers and recorders of what is compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polycmp.compare.verdicts import OutputComparison
from polycmp.errors import OthersCode, PluginError
from polycmp.plan import ComparePlan
from polycmp.results.outcome import Outcome
from polycmp.spec import Compared, CompareFunction, Recorder

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


def takes_any_shape(plan: ComparePlan, registry: Registry) -> bool:
    """Return whether all functions of a plan judge arrays of different shapes."""
    chosen = () if plan.script else plan.functions
    return bool(chosen) and all(registry.find_compare_func(choice.name).spec.any_shape for choice in chosen)


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


def open_lookers(reports: Iterable[str], registry: Registry) -> dict[str, Any]:
    """Return what looks at the arrays that are compared, by the name of the report that it does so for.

    Args:
        reports: The files of the reports.
        registry: The plugins.

    Raises:
        PluginError: A report's plugin is broken, or it lacks a module.
    """
    found = (registry.find_report(Path(path).suffix.lower()) for path in reports)
    return {item.name: registry.load(item, item.spec.look)() for item in found if item.spec.look}


class Recorders:
    """What reports keep of a run, each behind a fence: whatever one raises is an error of its plugin.

    Args:
        options: An options instance for each report that was given any, by name.
        compare: How the run compares.
        registry: The plugins.

    Raises:
        PluginError: A report asked for is not there, its plugin is broken, or it lacks a module.
    """

    def __init__(self, options: Mapping[str, Any], compare: ComparePlan, registry: Registry) -> None:
        self._recorders: list[tuple[str, Recorder]] = []
        for name, chosen in options.items():
            contribution = registry.find_report(name)
            if contribution.spec.record:
                registry.require(contribution)
                factory = registry.load(contribution, contribution.spec.record)
                with OthersCode(PluginError, "cannot record this run", whose=contribution.label):
                    self._recorders.append((contribution.label, factory(chosen, compare)))

    def join(self, label: str, recorder: Recorder) -> None:
        """Let another recorder take part, whose errors name `label`."""
        self._recorders.append((label, recorder))

    def add(self, iteration: int, candidate: str, reference: str, found: Iterable[OutputComparison]) -> None:
        """Hand on the verdicts of one iteration."""
        for label, recorder in self._recorders:
            with OthersCode(PluginError, "cannot record this run", whose=label):
                recorder.add(iteration, candidate, reference, found)

    def finish(self, outcome: Outcome) -> None:
        """Hand on the outcome, when everything was compared.

        Raises:
            PolycmpError: What a recorder raises: a file cannot be written.
        """
        for label, recorder in self._recorders:
            with OthersCode(PluginError, "cannot record this run", whose=label):
                recorder.finish(outcome)


def relaxed_tolerances(data_loader: str, compare: ComparePlan, registry: Registry) -> list[str]:
    """Return notes on what counts as equal with a data loader and would not otherwise."""
    spec = registry.find_data_loader(data_loader).spec
    notes = [
        note
        for choice in (() if compare.script else compare.functions)
        for field, note in spec.compare_notes.get(choice.name, {}).items()
        if vars(choice.options)[field] == spec.compare_defaults[choice.name][field]
    ]
    return [f"with the data loader {spec.name} {' and '.join(notes)}"] if notes else []
