"""Running models window by window: the service of a plugin, and what a run does without it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from polycmp.errors import PolycmpError

if TYPE_CHECKING:
    from polycmp.runs.backend_run import BackendRun
    from polycmp.runs.loop import Schedule, Step
    from polycmp.runs.resolution import Resolved
    from polycmp.runs.tolerances import Tolerances
    from polycmp.tensors import Source

#: From this many outputs of a model on, its tensors may not fit the memory, and it is worth loading as a graph to see.
MANY_OUTPUTS = 8


class Windows(Protocol):
    """Runs the models of several backends window by window, so that few tensors are held at a time.

    Tensors that belong together have one name in its steps, those of `--map-output` the candidate's.

    Attributes:
        comparer_wrapper: Makes of a comparer one that uses what is known of the models, such as names of their tensors.
        rounding: Makes of what judges outputs by measured rounding what judges the tensors inside, too.
        to_reference: Names in the reference's model of tensors, by those in the steps, as far as they differ.
    """

    comparer_wrapper: Callable[[Any], Any]
    rounding: Callable[[Tolerances], Tolerances]
    to_reference: Mapping[str, str]

    def steps(self, source: Source, schedule: Schedule, /) -> Generator[Step, None, None]:
        """Yield steps in place of `polycmp.runs.loop.run_steps`, several per iteration, numbered by their window."""

    def visible(self, label: str, /) -> frozenset[str] | None:
        """Return the outputs that a backend can show, None if all."""


class MakeWindows(Protocol):
    """The factory of the service `windows`."""

    def __call__(
        self, resolved: Resolved, runs: Sequence[BackendRun], max_memory: int, reference: str, notes: list[str], /
    ) -> Windows | None:
        """Open windows over the models; arguments as of `open_windows`. None where they cannot be run so."""


def all_in_memory_note(option: str) -> str:
    """Return the note on an option that needs all tensors of an iteration at once."""
    return f"all tensors are held in memory at once, which {option} needs: memory grows with the model's tensors"


def open_windows(
    resolved: Resolved, runs: Sequence[BackendRun], max_memory: int, reference: str, notes: list[str]
) -> Windows | None:
    """Open windows over models; None where they cannot be run so, or no plugin does it.

    Args:
        resolved: The backends, all in this process.
        runs: Their runs of the whole model, in the same order.
        max_memory: Bytes that the process may take beside the weights, 0 for a share of what is free.
        reference: Label of the reference, or name of its backend; empty for the last run.
        notes: List that remarks for the reader are appended to: those of the service, or the package to install.
    """
    registry = resolved.registry
    try:
        make: MakeWindows = registry.load(registry.find_service("windows"))
    except PolycmpError as error:
        notes.append(f"all tensors are held in memory at once; a package compares them part by part: {error.hint}")
        return None
    return make(resolved, runs, max_memory, reference, notes)
