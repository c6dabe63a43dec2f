"""Choice of the run that the others are compared with: one rule for `--reference` in every command."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from polycmp.errors import UsageError, did_you_mean


class LabelledRun(Protocol):
    """Anything with a run's label and the name of its backend: its result, or its part of the plan."""

    @property
    def label(self) -> str:
        """Label of the run in reports."""

    @property
    def backend(self) -> str:
        """Name of the backend."""


def labels_called(name: str, runs: Sequence[LabelledRun]) -> list[str]:
    """Return the labels that a name may stand for: that label, or else those of all runs of the backend."""
    if any(run.label == name for run in runs):
        return [name]
    return [run.label for run in runs if run.backend == name]


def choose_reference(name: str, runs: Sequence[LabelledRun], *, kind: str = "run") -> str:
    """Return the label of the run that the others are compared with; empty if there is only one run and no name.

    Args:
        name: The value of `--reference`: a label, or the name of a backend that runs once; empty for the last run.
        runs: All runs, in the order given.
        kind: What the runs are, in messages.

    Raises:
        UsageError: No run is called so, or several are.
    """
    if not name:
        return runs[-1].label if len(runs) > 1 else ""
    labels = labels_called(name, runs)
    if len(labels) == 1:
        return labels[0]
    if labels:
        raise UsageError(
            f"--reference: {name!r} is the backend of {len(labels)} {kind}s",
            why=f"their labels are {' and '.join(map(repr, labels))}",
            hint=f"give it the label: --reference {labels[-1]}",
        )
    raise UsageError(
        f"--reference: no {kind} is called {name!r}",
        why=did_you_mean(name, [run.label for run in runs]),
        hint="give it the label, or the name of a backend that runs once",
    )
