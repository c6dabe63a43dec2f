"""The part that reports take in a run: what watches, looks at and records the arrays that are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polycmp.compare.verdicts import OutputComparison
from polycmp.errors import OthersCode, PluginError
from polycmp.plan import Plan
from polycmp.results.outcome import Outcome
from polycmp.spec import Compared, Recorder

if TYPE_CHECKING:
    from polycmp.plugins import Registry


class PlannedReports:
    """The reports of a plan, each looked up once: those that were given options, and those that write its files.

    Args:
        plan: The plan.
        registry: The plugins.

    Raises:
        PluginError: A report asked for is not there, or its plugin is broken.
        UsageError: No report writes files with the suffix of one.
    """

    def __init__(self, plan: Plan, registry: Registry) -> None:
        suffixes = [Path(path).suffix.lower().removeprefix(".") for path in plan.files.reports]
        found = {name: registry.find_report(name) for name in dict.fromkeys([*plan.report_options, *suffixes])}
        self._plan, self._registry = plan, registry
        self._with_options = [(found[name], options) for name, options in plan.report_options.items()]
        self._with_files = [found[suffix] for suffix in dict.fromkeys(suffixes)]

    def watchers(self) -> list[Callable[[Compared], None]]:
        """Return the reports' observers of the arrays that are compared.

        Raises:
            PluginError: A report's plugin is broken, or it lacks a module.
            UsageError: The options of one cannot be right.
        """
        watchers = []
        for contribution, options in self._with_options:
            if contribution.spec.watch:
                self._registry.require(contribution)
                watchers.append(self._registry.load(contribution, contribution.spec.watch)(options))
        return [watcher for watcher in watchers if watcher is not None]

    def lookers(self) -> dict[str, Any]:
        """Return the observers of the arrays that are compared, by the name of their report.

        Raises:
            PluginError: A report's plugin is broken, or it lacks a module.
        """
        return {item.name: self._registry.load(item, item.spec.look)() for item in self._with_files if item.spec.look}

    def recorders(self) -> Recorders:
        """Return the recorders of the run's verdicts.

        Raises:
            PluginError: A report's plugin is broken, or it lacks a module.
            UsageError: The options of one cannot be right.
        """
        recorders = []
        for contribution, options in self._with_options:
            if contribution.spec.record:
                self._registry.require(contribution)
                factory = self._registry.load(contribution, contribution.spec.record)
                with OthersCode(PluginError, "cannot record this run", whose=contribution.label):
                    recorders.append((contribution.label, factory(options, self._plan.compare)))
        return Recorders(recorders)


class Recorders:
    """Recorders of reports. Their errors are isolated: an exception in one is an error of its plugin.

    Args:
        recorders: The recorders, each with the label of its report.
    """

    def __init__(self, recorders: Iterable[tuple[str, Recorder]]) -> None:
        self._recorders = tuple(recorders)

    def __bool__(self) -> bool:
        return bool(self._recorders)

    def add(self, iteration: int, candidate: str, reference: str, found: Iterable[OutputComparison]) -> None:
        """Hand on the verdicts of one iteration."""
        for label, recorder in self._recorders:
            with OthersCode(PluginError, "cannot record this run", whose=label):
                recorder.add(iteration, candidate, reference, found)

    def finish(self, outcome: Outcome) -> None:
        """Hand on the outcome, when everything was compared.

        Raises:
            PolycmpError: A recorder failed: a file cannot be written.
        """
        for label, recorder in self._recorders:
            with OthersCode(PluginError, "cannot record this run", whose=label):
                recorder.finish(outcome)
