"""Command lines that begin with a run's own, changed: for one feed alone, or for another command."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from polycmp.errors import PolycmpError
from polycmp.plan import DataPlan, Plan, to_command, to_words, without_written_files
from polycmp.report import NextStep
from polycmp.tensors import Feed, LabelledFeed

if TYPE_CHECKING:
    from polycmp.plugins import Registry


class Commands:
    """Writes a run's plan down with changes; what is written never writes the run's files again.

    Args:
        plan: The run's plan.
        registry: The plugins.
    """

    def __init__(self, plan: Plan, registry: Registry) -> None:
        self._plan = plan
        self._registry = registry

    def with_feed(self, feed: LabelledFeed) -> str:
        """Return the command line of the run that makes this feed and no other.

        Where an option has a value that cannot be written down, it is the command line of the whole run.
        """
        data = replace(self._plan.data, input_shapes=_shapes_asked_for(self._plan.data, feed), further_shapes=())
        try:
            return to_command(without_written_files(replace(self._plan, data=data)), self._registry, feed.repeat)
        except PolycmpError:
            return self._plan.command

    def with_output_names(self, names: Mapping[str, str]) -> Iterator[NextStep]:
        """Yield the command line of the run in which outputs of other names are compared; nothing if there are none.

        Args:
            names: Names in the candidate to names in the reference.
        """
        if not names:
            return
        compare = replace(self._plan.compare, map_output={**self._plan.compare.map_output, **names})
        with suppress(PolycmpError):  # a value that no text means: there is no command to type
            command = to_command(without_written_files(replace(self._plan, compare=compare)), self._registry)
            yield NextStep(command, "Compare outputs that have other names and the same shape, the closest ones.")

    def looking_further(self, instead: Mapping[str, Any] | Sequence[str] = ()) -> Iterator[NextStep]:
        """Yield the commands of plugins that ask to be named after a failed run.

        Args:
            instead: The options that make the feed which failed, and no other.
        """
        recorded = self._plan.files.load_outputs if len(self._plan.backends) == 1 else ()  # the reference of one
        files = replace(self._plan.files, load_outputs=recorded)
        alone = without_written_files(replace(self._plan, files=files))
        for item in self._registry.commands.values():
            if not item.spec.after_difference:
                continue
            try:
                table = self._registry.load(item).table_of(self._registry)
                words = to_words(alone, self._registry, instead, command=item.spec.path, table=table)
            except PolycmpError:  # a value that no text means, or a broken plugin: there is no command to type
                continue
            yield NextStep(shlex.join(["polycmp", *words]), item.spec.summary)


def _shapes_asked_for(data: DataPlan, feed: Feed) -> Mapping[str, tuple[int, ...]]:
    """Return the shapes that were asked for, those of this feed where several take turns."""
    for shapes in (data.input_shapes, *data.further_shapes) if data.further_shapes else ():
        if all(any(_has(feed[name], shape) for name in feed if fnmatchcase(name, at)) for at, shape in shapes.items()):
            return shapes
    return data.input_shapes


def _has(array: Any, shape: tuple[int, ...]) -> bool:
    """Return whether an array has a shape, or as a shape tensor holds it."""
    return tuple(array.shape) == shape or (array.shape == (len(shape),) and tuple(array.tolist()) == shape)
