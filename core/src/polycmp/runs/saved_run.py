"""Saved runs taking part in a session beside live ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from polycmp.errors import FileError
from polycmp.options.values import unique_label
from polycmp.results.outcome import BackendResult
from polycmp.tensors import TensorMetadata

if TYPE_CHECKING:
    from polycmp.plugins import Registry
    from polycmp.results.files import SavedRun


class SavedBackendRun:
    """One saved run, read one iteration at a time.

    Args:
        run: The run.
        label: Label of the run in this session.

    Attributes:
        result: Result of the run, as for a live one.
    """

    def __init__(self, run: SavedRun, label: str) -> None:
        self.result: BackendResult = BackendResult(label=label, backend="saved", model=str(run.path))
        self._iterations: Iterator[Mapping[str, Any]] = iter(run.iterations)

    def next(self) -> Mapping[str, Any] | None:
        """Return the outputs of the next iteration; None at the end.

        Raises:
            FileError: The file is damaged.
        """
        outputs = next(self._iterations, None)
        if outputs is None:
            return None
        if not self.result.iterations:
            self.result.environment = getattr(outputs, "environment", {})
        self.result.iterations += 1
        self.result.outputs = TensorMetadata.from_feed_dict(outputs)
        return outputs


def open_saved(paths: Iterable[str], taken: Iterable[str], registry: Registry) -> list[SavedBackendRun]:
    """Open every run in the files, labels made unique.

    Raises:
        FileError: A file is missing, damaged, or holds no runs.
    """
    used = set(taken)
    saved = []
    for path in paths:
        from polycmp.results.files import open_runs  # not needed without files

        runs = open_runs(path, registry)
        if not runs or any(run.count == 0 for run in runs):
            raise FileError(
                "holds no runs" if not runs else "holds a run without iterations",
                whose=path,
                why="the run that was to be saved there failed, or had no inputs",
                hint="make it again: polycmp run … --save-outputs FILE",
            )
        for run in runs:
            label = unique_label(run.label, used)
            used.add(label)
            saved.append(SavedBackendRun(run, label))
    return saved


def next_outputs(saved: Iterable[SavedBackendRun]) -> dict[str, Mapping[str, Any]]:
    """Return the outputs of the next iteration by label; those that have no more are absent.

    Raises:
        FileError: A file is damaged.
    """
    iterations = {run.result.label: run.next() for run in saved}
    return {label: outputs for label, outputs in iterations.items() if outputs is not None}
