"""Reading the tensors of a dump: from numbers in a file to a tensor as the model has it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polycmp.errors import FileError, UsageError
from polycmp.tensors import TensorEntry, as_dtype, dtype_class, dtype_name, format_shape, is_floating, is_size
from polycmp_dump.dump_files import DumpFile, DumpFolder, FilePattern
from polycmp_dump.dump_map import DumpMap, Numbers, TensorRule
from polycmp_dump.layouts import file_shape, last_channel_order, order_of, same_but_ones, transposed

Array = NDArray[Any]
Shape = tuple[int, ...]


@dataclass(frozen=True)
class RecordedTensor:
    """One tensor of the model in a dump.

    Attributes:
        name: Its name in the model.
        rule: How it lies in its files.
        files: Its files by iteration; under None the one that is the same in all.
    """

    name: str
    rule: TensorRule
    files: Mapping[int | None, DumpFile]

    def file_of(self, iteration: int) -> DumpFile | None:
        """Return the file of an iteration; None if there is none."""
        return self.files.get(iteration, self.files.get(None))


class InFile(NamedTuple):
    """A tensor as it lies in its file.

    Attributes:
        array: Its numbers, or codes, in the file's order of axes.
        order: For each axis in the model the one in the file; None for the model's own order.
        shape: Its shape in the model.
    """

    array: Array
    order: Shape | None
    shape: Shape


class TensorReader:
    """Reads tensors as the model has them.

    Args:
        dump_map: What is known of the files.
        folder: The files.
    """

    def __init__(self, dump_map: DumpMap, folder: DumpFolder) -> None:
        self._map, self._folder = dump_map, folder

    def read(self, recorded: RecordedTensor, iteration: int, entry: TensorEntry, *, channels_last: bool) -> Array:
        """Return a tensor as the model has it; arguments and errors as of `look`."""
        array, order, shape = self.look(recorded, iteration, entry, channels_last=channels_last)
        if recorded.rule.scale is not None:
            scale, zero = self._steps(array, recorded.rule, recorded.file_of(iteration))
            array = ((array.astype(np.float64) - zero) * scale).astype(np.float32)
        return _as_model(array.reshape(shape) if order is None else transposed(array, order), entry)

    def look(self, recorded: RecordedTensor, iteration: int, entry: TensorEntry, *, channels_last: bool) -> InFile:
        """Return a tensor as it lies in its file, once it is known to fit.

        Args:
            recorded: The tensor.
            iteration: The iteration.
            entry: Its type and shape in the model.
            channels_last: Whether files that do not say it have the channels last.

        Raises:
            FileError: The file is damaged, or holds another number of elements.
            UsageError: The map says what does not fit the tensor.
        """
        rule, file = recorded.rule, recorded.file_of(iteration)
        assert file is not None
        kind = rule.dtype or ("float32" if entry.dtype is None or is_floating(entry.dtype) else dtype_name(entry.dtype))
        array = self._folder.read(file, kind, rule.byte_order or "little")
        told = rule.shape or (array.shape if file.tells_shape else None)
        shape = self._shape(entry, array, told, recorded, file)
        if array.size != math.prod(shape):
            raise self._wrong_size(array, shape, recorded, file)
        order = self._given_order(shape, told, recorded, file)
        if order is None and rule.layout is None:
            order = self._seen_order(shape, told, channels_last=channels_last)
        if order is None and told is not None and not same_but_ones(told, shape):
            raise FileError(
                f"{file} has the shape {format_shape(told)}, and {recorded.name!r} is {format_shape(shape)} in the "
                "model",
                whose=self._map.path,
                hint=f'say how its axes lie: [tensors."{recorded.name}"] layout = "NHWC", or [0, 3, 1, 2]',
            )
        array = array.reshape(shape if order is None else file_shape(order, shape))
        if rule.scale is not None:
            self._steps(array, rule, file)
        return InFile(array, order, shape)

    def _given_order(self, shape: Shape, told: Shape | None, recorded: RecordedTensor, file: DumpFile) -> Shape | None:
        """Return the order of axes that the map gives; None where it gives none for tensors of so many axes."""
        rule, name = recorded.rule, recorded.name
        order = order_of(rule.layout, shape) if rule.layout is not None else None
        if order is None and rule.layout is not None and rule.layout is not self._map.common.layout:
            raise UsageError(
                f"layout {rule.layout} does not fit {name!r}, which is {format_shape(shape)}",
                whose=f"{self._map.path}, line {rule.line}",
            )
        if order is not None and told is not None and not same_but_ones(told, file_shape(order, shape)):
            raise FileError(
                f"layout {rule.layout} does not fit {file}: it has the shape {format_shape(told)}, and {name!r}, which "
                f"is {format_shape(shape)} in the model, would be {format_shape(file_shape(order, shape))} there",
                whose=self._map.path,
            )
        return order

    @staticmethod
    def _seen_order(shape: Shape, told: Shape | None, *, channels_last: bool) -> Shape | None:
        """Return the order of axes that the shape in a file shows, or else those of other files."""
        if len(shape) < 3 or (told is not None and len(told) != len(shape)):
            return None
        last = last_channel_order(len(shape))
        if told is None:
            return last if channels_last else None
        return last if told == file_shape(last, shape) and (told != shape or channels_last) else None

    def _shape(
        self, entry: TensorEntry, array: Array, told: Shape | None, recorded: RecordedTensor, file: DumpFile
    ) -> Shape:
        """Return the shape of a tensor in the model, its open dimensions as the file has them.

        Raises:
            FileError: The file has another number of elements, or does not tell the open dimensions.
        """
        if entry.shape is None:
            return told or array.shape
        if not entry.is_dynamic():
            return tuple(int(size) for size in entry.shape)
        fixed = list(filter(is_size, entry.shape))
        is_open = [not is_size(size) for size in entry.shape]
        product = math.prod(fixed)
        if told is not None and len(told) == len(entry.shape):
            layout = recorded.rule.layout
            order = order_of(layout, told) if layout is not None else None
            sizes = [told[place] for place in order] if order is not None else list(told)
            if all(free or size == want for free, size, want in zip(is_open, sizes, entry.shape, strict=True)):
                return tuple(sizes)
        if sum(is_open) == 1 and product and array.size % product == 0:
            return tuple(
                array.size // product if free else int(size) for free, size in zip(is_open, entry.shape, strict=True)
            )
        raise FileError(
            f"{file} does not tell the shape of {recorded.name!r}, which the model leaves open: "
            f"{format_shape(entry.shape)}",
            whose=self._map.path,
            hint=f'[tensors."{recorded.name}"] shape = [ … ]',
        )

    def _wrong_size(self, array: Array, shape: Shape, recorded: RecordedTensor, file: DumpFile) -> FileError:
        count = math.prod(shape)
        bits = array.nbytes * 8 / count if count else 0
        others = [kind for kind in ("float32", "float16", "uint8", "float64") if as_dtype(kind).itemsize * 8 == bits]
        return FileError(
            f"{file} holds {array.size} numbers of {dtype_name(array.dtype)}, and {recorded.name!r} has {count}: "
            f"{format_shape(shape)}",
            whose=self._map.path,
            hint=f'as {others[0]} it would fit: dtype = "{others[0]}"'
            if others and not file.tells_shape and others[0] != dtype_name(array.dtype)
            else "another file, another type, or other shapes of inputs? say it in the map",
        )

    def _steps(self, array: Array, rule: TensorRule, file: DumpFile | None) -> tuple[Array, Array]:
        """Return scale and zero point of codes, in shapes that can be broadcast to theirs."""
        if is_floating(array.dtype):
            raise UsageError(
                f"{file} holds {dtype_name(array.dtype)}, and the map gives a scale, as for codes",
                whose=self._map.path,
                hint=f'[tensors."{rule.name}"] dtype = "uint8", or leave the scale out',
            )
        scale = self._along(self._values(rule.scale), rule, array, "scale")
        return scale, self._along(self._values(rule.zero_point or 0.0), rule, array, "zero_point")

    def _values(self, numbers: Numbers | None) -> Array:
        if isinstance(numbers, str):
            files = self._folder.find_named(FilePattern(numbers, self._map.path), numbers)
            if len(files) != 1:
                raise FileError(f"no file {numbers} in {self._map.folder}", whose=self._map.path)
            return self._folder.read(files[0], "float32", "little").astype(np.float64).reshape(-1)
        return np.asarray(numbers, np.float64).reshape(-1)

    def _along(self, values: Array, rule: TensorRule, array: Array, key: str) -> Array:
        if values.size == 1:
            return values.reshape(())
        axis = rule.axis if rule.axis is not None else array.ndim - 1
        if not -array.ndim <= axis < array.ndim or array.shape[axis] != values.size:
            raise UsageError(
                f"{key} has {values.size} numbers, and axis {axis} of {rule.name!r} has the shape "
                f"{format_shape(array.shape)} in the file",
                whose=self._map.path,
                hint="axis = the axis, in the file, along which they differ",
            )
        sizes = [1] * array.ndim
        sizes[axis] = values.size
        return values.reshape(sizes)


def _as_model(array: Array, entry: TensorEntry) -> Array:
    """Return an array in the model's type where that is of the same kind."""
    if entry.dtype is None or array.dtype == entry.dtype:
        return array
    kinds = dtype_class(array.dtype), dtype_class(entry.dtype)
    if kinds[0] == kinds[1] or kinds in (("integer", "float"), ("integer", "bool")):
        with np.errstate(over="ignore"):
            return array.astype(entry.dtype)
    if kinds[0] == "float" and kinds[1] in ("integer", "bool") and np.array_equal(array, np.rint(array)):
        return array.astype(entry.dtype)
    return array
