"""How to repeat a failure alone, where the data loader's feeds say what they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from polycmp.compare.verdicts import OutputComparison
from polycmp.errors import PolycmpError
from polycmp.plan import Plan
from polycmp.plan.build import without_written_files
from polycmp.plan.text import to_command
from polycmp.results.outcome import BackendResult, Invalid, Repeat
from polycmp.tensors import Feed, LabelledFeed

if TYPE_CHECKING:
    from polycmp.plugins import Registry

#: Outputs named in one line.
SHOWN = 4


class Repeats:
    """Collects the feeds on which something failed.

    A `LabelledFeed` takes part: it says what it is, and which options make it alone.

    Args:
        plan: The plan of the run.
        registry: The plugins.
    """

    def __init__(self, plan: Plan, registry: Registry) -> None:
        self._plan = plan
        self._registry = registry
        self._feeds: dict[int, tuple[str, str]] = {}
        self._failed: dict[int, list[str]] = {}
        self._options: dict[int, Mapping[str, Any]] = {}
        self._broken: set[str] = set()

    def add(self, iteration: int, feed: Feed, candidate: str, outputs: Iterable[OutputComparison]) -> None:
        """Note the outputs of a candidate that failed in this iteration."""
        names = [repr(item.output) for item in outputs if not item.passed]
        if names:
            more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
            noun = "output" if len(names) == 1 else "outputs"
            self._note(iteration, feed, [f"{candidate}: {noun} {', '.join(names[:SHOWN])}{more}"])

    def add_invalid(self, iteration: int, feed: Feed, found: Iterable[Invalid]) -> None:
        """Note the outputs that hold NaN or infinity in this iteration."""
        self._note(iteration, feed, [f"{item.label}: output {item.output!r} is not finite" for item in found])

    def add_errors(self, iteration: int, feed: Feed, backends: Iterable[BackendResult]) -> None:
        """Note the backends that failed in this iteration."""
        fresh = [item.label for item in backends if item.error and item.label not in self._broken]
        self._broken.update(fresh)
        self._note(iteration, feed, [f"{label} could not run it" for label in fresh])

    def found(self) -> list[Repeat]:
        """Return what failed, in the order of the iterations."""
        return [
            Repeat(iteration, label, command, "; ".join(self._failed[iteration]))
            for iteration, (label, command) in self._feeds.items()
        ]

    def first_options(self) -> Mapping[str, Any]:
        """Return the options that make the first feed on which something failed alone; empty if none are known."""
        return next(iter(self._options.values()), {})

    def _note(self, iteration: int, feed: Feed, failed: list[str]) -> None:
        if failed and isinstance(feed, LabelledFeed) and feed.label:
            self._feeds[iteration] = feed.label, repeat_command(self._plan, feed, self._registry)
            self._options.setdefault(iteration, feed.repeat)
            self._failed.setdefault(iteration, []).extend(failed)


def repeat_command(plan: Plan, feed: LabelledFeed, registry: Registry) -> str:
    """Return the command line of the run, changed so that it makes this feed and no other, and writes no file.

    Args:
        plan: The run's plan.
        feed: The feed.
        registry: The plugins.

    Returns:
        The command line; the whole run's where an option has a value that cannot be written down.
    """
    data = replace(plan.data, input_shapes=_shapes_asked_for(plan, feed), further_shapes=())
    alone = without_written_files(replace(plan, data=data))
    try:
        return to_command(alone, registry, feed.repeat)
    except PolycmpError:
        return plan.command


def _shapes_asked_for(plan: Plan, feed: Feed) -> Mapping[str, tuple[int, ...]]:
    """Return the shapes that were asked for, those of this feed where several take turns."""
    data = plan.data
    for shapes in (data.input_shapes, *data.further_shapes) if data.further_shapes else ():
        if all(any(_has(feed[name], shape) for name in feed if fnmatchcase(name, at)) for at, shape in shapes.items()):
            return shapes
    return data.input_shapes


def _has(array: Any, shape: tuple[int, ...]) -> bool:
    """Return whether an array has a shape, or as a shape tensor holds it."""
    return tuple(array.shape) == shape or (array.shape == (len(shape),) and tuple(array.tolist()) == shape)
