"""Saved inputs and outputs as text: names, types, statistics, and values if asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from polycmp.errors import FileError
from polycmp.results.files import open_inputs, open_runs
from polycmp.sentences import counted
from polycmp.tensors import dtype_class, dtype_name, format_shape, is_low_bit, to_numpy
from polycmp.terminal import visible

if TYPE_CHECKING:
    from polycmp.plugins import Registry

BAR = 40
BINS = 10


@dataclass(frozen=True)
class DataView:
    """Amount of detail to show.

    Attributes:
        every: Every iteration, not only the first.
        values: The values.
        histogram: A histogram of the values.
        items: Values at each end of a dimension; -1 for all.
        width: Columns for values; -1 for no limit.
    """

    every: bool = False
    values: bool = False
    histogram: bool = False
    items: int = 3
    width: int = 75


def describe_data(path: str, view: DataView, registry: Registry) -> Iterator[str]:
    """Yield lines about a file or folder of inputs or outputs.

    Args:
        path: The file or folder.
        view: Amount of detail to show.
        registry: The plugins, which bring formats.

    Raises:
        FileError: It is missing, damaged, or neither.
    """
    try:
        runs = open_runs(path, registry)
    except FileError as not_outputs:
        try:
            feeds = open_inputs([path], registry)
        except FileError:
            raise not_outputs from None
        yield "==== Inputs ===="
        yield from _iterations(iter(feeds), view)
        return
    yield f"==== Outputs of {counted(len(runs), 'run')} ===="
    for run in runs:
        count = "" if run.count is None else f" ({counted(run.count, 'iteration')})"
        yield ""
        yield f"---- {visible(run.label)}{count} ----"
        yield from _iterations(iter(run.iterations), view)


def _iterations(iterations: Iterator[Mapping[str, Any]], view: DataView) -> Iterator[str]:
    for index, tensors in enumerate(iterations):
        if index and not view.every:
            return
        if view.every:
            yield f"iteration {index}"
        for name, array in tensors.items():
            yield from _tensor(name, to_numpy(array), view)


def _tensor(name: str, array: Any, view: DataView) -> Iterator[str]:
    yield f"{visible(name)} [{dtype_name(array.dtype)}{format_shape(array.shape)}] {statistics(array)}"
    if view.values:
        edge = array.size if view.items < 0 else view.items
        width = 10**9 if view.width < 0 else view.width
        text = np.array2string(
            array, edgeitems=edge, threshold=0 if view.items >= 0 else array.size + 1, max_line_width=width
        )
        yield from (f"    {line}" for line in text.splitlines())
    if view.histogram and array.size and dtype_class(array.dtype) in {"float", "integer", "bool"}:
        yield from _histogram(_widened(array))


def _widened(array: Any) -> Any:
    return array.astype(np.float64) if is_low_bit(array.dtype) or array.dtype.kind in "fb" else array


def statistics(array: Any) -> str:
    """Return mean, standard deviation, extremes with their places, and the mean magnitude, as one line."""
    kind = dtype_class(array.dtype)
    if not array.size or kind not in {"float", "integer", "bool"}:
        return "empty" if not array.size else f"{array.size} {kind} values"
    values = _widened(array)
    low, high = (np.unravel_index(int(pick(values)), array.shape) for pick in (np.argmin, np.argmax))
    with np.errstate(all="ignore"):
        figures = {
            "mean": np.mean(values, dtype=np.float64),
            "std-dev": np.std(values, dtype=np.float64),
            "median": np.median(values),
        }
        magnitude = np.mean(np.abs(values.astype(np.float64)))
    parts = [f"{name}={value:.5g}" for name, value in figures.items()]
    parts += [f"{name}={values[at]:.5g} at {_place(at)}" for name, at in (("min", low), ("max", high))]
    return ", ".join([*parts, f"avg-magnitude={magnitude:.5g}"])


def _place(index: Any) -> str:
    return "(" + ", ".join(str(int(item)) for item in index) + ")"


def _histogram(values: Any) -> Iterator[str]:
    finite = values[np.isfinite(values)]
    counts, edges = np.histogram(finite, BINS)
    most = max(1, int(counts.max()))
    for count, low, high in zip(counts, edges, edges[1:], strict=False):
        yield f"    {low:>12.5g} .. {high:<12.5g} | {count:>10} | {'#' * round(BAR * int(count) / most)}"
