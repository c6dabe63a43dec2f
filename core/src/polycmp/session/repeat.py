"""How to repeat a failure alone, where the data loader's feeds say what they are."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Any

from polycmp.compare.verdicts import OutputComparison
from polycmp.plan import Plan
from polycmp.results.outcome import BackendResult, Invalid, Repeat
from polycmp.tensors import Feed

#: Options that write files: repeating a run must not overwrite what the run left behind.
WRITING = ("--report", "--save-", "--write-config", "--log-file")

#: Outputs named in one line.
SHOWN = 4


class Repeats:
    """Collects the feeds on which something failed.

    A feed takes part if it has the attributes `label`, what it is in words, and `repeat`, the options that make it
    alone.

    Args:
        plan: The plan of the run.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._feeds: dict[int, tuple[str, str]] = {}
        self._failed: dict[int, list[str]] = {}
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

    def _note(self, iteration: int, feed: Feed, failed: list[str]) -> None:
        label = getattr(feed, "label", "")
        if failed and label and hasattr(feed, "repeat"):
            self._feeds[iteration] = label, repeat_command(self._plan, feed)
            self._failed.setdefault(iteration, []).extend(failed)


def repeat_command(plan: Plan, feed: Feed) -> str:
    """Return the command line of the run, changed so that it makes this feed and no other.

    Args:
        plan: The run's plan; without a command line in it, only the options are returned.
        feed: A feed with the attribute `repeat`.
    """
    added: list[str] = list(getattr(feed, "repeat", ()))
    asked = _shapes_asked_for(plan, feed)
    if asked:
        added += asked if "--input-shapes" in added else ["--input-shapes", *asked]
    try:
        words = shlex.split(plan.command)
    except ValueError:
        words = []
    own = {word for word in added if word.startswith("--")}
    aliases = {flag.removesuffix("s") for flag in own if flag.startswith("--stress-")}
    kept = _without(words, {*own, *aliases}, plan.model)
    return shlex.join([*kept, *added])


def _shapes_asked_for(plan: Plan, feed: Feed) -> list[str]:
    """Return the shapes that this feed has where several were asked for and take turns, or nothing."""
    data = plan.data
    for shapes in (data.input_shapes, *data.further_shapes) if data.further_shapes else ():
        if all(any(_has(feed[name], shape) for name in feed if fnmatchcase(name, at)) for at, shape in shapes.items()):
            return [f"{at}:[{','.join(map(str, shape))}]" for at, shape in shapes.items()]
    return []


def _has(array: Any, shape: tuple[int, ...]) -> bool:
    """Return whether an array has a shape, or as a shape tensor holds it."""
    return tuple(array.shape) == shape or (array.shape == (len(shape),) and tuple(array.tolist()) == shape)


def _without(words: Sequence[str], flags: Iterable[str], model: str) -> list[str]:
    """Return the words without some options and their values, and without those that write files."""
    gone = set(flags)
    if "--input-shapes" in gone:
        gone.add("--inputs")
    kept: list[str] = []
    dropping = False
    for word in words:
        flag = word.partition("=")[0]
        if _is_flag(word):
            dropping = (flag in gone or flag.startswith(WRITING)) and "=" not in word
            if flag in gone or flag.startswith(WRITING):
                continue
        if dropping and word != model:
            continue
        if word == model:
            dropping = False
        kept.append(word)
    return kept


def _is_flag(word: str) -> bool:
    return len(word) > 1 and word[0] == "-" and not (word[1].isdigit() or word[1] in ".[")
