"""The batch of a model: which axis of which tensor it is, and feeds with other rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from polycmp.errors import UsageError, did_you_mean
from polycmp.tensors import TensorMetadata, format_shape, is_size, to_numpy

Arrays = dict[str, Any]
#: Words with one of which, or a longer form, the name of a dimension of time is made (choice).
_TIME = ("seq", "time", "frame", "step", "token", "len")


class DoesNotApplyError(Exception):
    """A check does not apply; the message is the reason."""


@dataclass(frozen=True)
class Batch:
    """Batch axes of the inputs.

    Attributes:
        axes: Axis by input; inputs that are missing have no batch.
        size: Rows, where the model fixes them; None where any number may be given.
        words: Description of the batch, for reports.
    """

    axes: Mapping[str, int]
    size: int | None
    words: str

    def sized(self, inputs: TensorMetadata, rows: int) -> TensorMetadata:
        """Return the inputs with a batch of that many rows."""
        changed = {}
        for name, entry in inputs.items():
            changed[name] = entry
            if name in self.axes and entry.shape is not None:
                shape = list(entry.shape)
                shape[self.axes[name]] = rows
                changed[name] = replace(entry, shape=tuple(shape))
        return TensorMetadata(changed)

    def require_free_rows(self) -> None:
        """Refuse a batch whose number of rows the model fixes.

        Raises:
            DoesNotApplyError: It does.
        """
        if self.size is not None:
            raise DoesNotApplyError(f"the model fixes the batch at {self.size}")

    def rows(self, feed: Mapping[str, Any]) -> int:
        """Count the rows of a feed.

        Raises:
            DoesNotApplyError: The inputs disagree.
        """
        counts = {name: int(feed[name].shape[axis]) for name, axis in self.axes.items()}
        if len(set(counts.values())) != 1:
            raise DoesNotApplyError(f"the inputs have different numbers of rows: {counts}")
        return next(iter(counts.values()))

    def take(self, feed: Mapping[str, Any], rows: Sequence[int]) -> Arrays:
        """Return the feed with these rows; inputs without a batch stay."""
        return {
            name: take(array, self.axes[name], rows) if name in self.axes else array for name, array in feed.items()
        }


def take(array: Any, axis: int, rows: Sequence[int]) -> Any:
    """Copy some rows of an array, in that order."""
    return np.ascontiguousarray(np.take(to_numpy(array), list(rows), axis=axis))


def find_batch(inputs: TensorMetadata, axis: int | None = None, dim: str = "") -> Batch:
    """Return the batch of a model's inputs.

    Without `axis` and `dim` it is the name that the first dimension of all inputs shares, as far as they name it, also
    where another input has it further on; or where dimensions have no names, the first that is open.

    Args:
        inputs: The inputs.
        axis: The axis, for all inputs that have so many dimensions.
        dim: The name of the batch dimension.

    Raises:
        UsageError: No input has that axis or name.
        DoesNotApplyError: The model has no batch that could be recognised.
    """
    shapes = {name: entry.shape for name, entry in inputs.items() if entry.shape and entry.values is None}
    if dim:
        return _by_name(shapes, dim)
    if axis is not None:
        return _by_axis(shapes, axis)
    names = {str(shape[0]) for shape in shapes.values() if isinstance(shape[0], str) and shape[0]}
    if len(names) > 1:
        raise DoesNotApplyError(f"the first dimensions have several names: {', '.join(sorted(names))}; see --batch-dim")
    if names:
        name = names.pop()
        if _is_time(name):
            raise DoesNotApplyError(f"the first dimension is {name!r}, by its name no batch; see --batch-dim")
        return _by_name(shapes, name)
    axes = {name: _open_axis(shape) for name, shape in shapes.items()}
    batch_axes = {name: axis for name, axis in axes.items() if axis is not None}
    if batch_axes and len(batch_axes) == len(shapes) and 0 in batch_axes.values():
        return Batch(batch_axes, None, "; ".join(_places(batch_axes)))
    shown = ", ".join(f"{name}{format_shape(shape)}" for name, shape in shapes.items()) or "none with dimensions"
    raise DoesNotApplyError(
        f"it cannot be told which dimension of the inputs is the batch ({shown}); --batch-axis says which axis it is"
    )


def _is_time(name: str) -> bool:
    """Return whether a dimension is one of time by its name: its rows are no samples, and depend on each other."""
    return any(part.startswith(_TIME) for part in re.split(r"[^a-z]+", name.lower()))


def _open_axis(shape: tuple[int | str, ...]) -> int | None:
    """Return the axis of an input that may be the batch: the first one if it is open, or else the only one that is."""
    is_open = [axis for axis, dim in enumerate(shape) if not is_size(dim)]
    return is_open[0] if is_open and (is_open[0] == 0 or len(is_open) == 1) else None


def _places(axes: Mapping[str, int]) -> Iterator[str]:
    for axis in dict.fromkeys(axes.values()):
        yield f"axis {axis} of {', '.join(name for name, at in axes.items() if at == axis)}"


def _by_name(shapes: Mapping[str, tuple[int | str, ...]], dim: str) -> Batch:
    axes = {name: shape.index(dim) for name, shape in shapes.items() if dim in shape}
    if not axes:
        known = {item for shape in shapes.values() for item in shape if isinstance(item, str)}
        raise UsageError(f"--batch-dim: no input has a dimension {dim!r}", why=did_you_mean(dim, known))
    return Batch(axes, None, f"dimension {dim!r} of {', '.join(axes)}")


def _by_axis(shapes: Mapping[str, tuple[int | str, ...]], axis: int) -> Batch:
    axes = {name: axis for name, shape in shapes.items() if 0 <= axis < len(shape)}
    if not axes:
        raise UsageError(f"--batch-axis: no input has an axis {axis}")
    fixed = {dim for name in axes if isinstance(dim := shapes[name][axis], int) and dim >= 0}
    if len(fixed) > 1:
        raise UsageError(f"--batch-axis: the inputs have different sizes on axis {axis}: {sorted(fixed)}")
    size = fixed.pop() if fixed else None
    return Batch(axes, size, f"axis {axis} of {', '.join(axes)}" + (f", fixed at {size}" if size is not None else ""))
