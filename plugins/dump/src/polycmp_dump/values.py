"""Pairing of a dump's files with a model's tensors by value: in which order of axes, type and scale they lie there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polycmp.errors import BackendError, DataError
from polycmp.layerwise import open_partitioned_runs
from polycmp.runs import open_feeds
from polycmp.tensors import as_dtype, is_floating, to_numpy
from polycmp_dump.dump import Dump
from polycmp_dump.dump_files import DumpFile
from polycmp_dump.dump_map import DumpMap, TensorRule
from polycmp_dump.layouts import file_shape, last_channel_order, transposed

if TYPE_CHECKING:
    from polycmp.model import Model
    from polycmp.runs import Resolved

Array = NDArray[Any]
#: Types that a file of bare numbers may hold, by the bytes of a number.
_TYPES = {8: ("float64", "int64"), 4: ("float32", "int32"), 2: ("float16", "uint16", "int16"), 1: ("uint8", "int8")}
#: Correlation from which a tensor is taken for another one. A choice: rounding to 8 bits leaves 0.999, two different
#: tensors of one network, one before and one after an activation, rarely reach 0.95. Few numbers are alike by chance.
_ALIKE, _FEW, _FEW_ALIKE = 0.98, 32, 0.995
#: How inputs may lie that do not lie as the model has them.
_LAST = "NHWC"
#: Factors that real numbers may be off by, which are none of a scale.
_FACTORS = (0.8, 1.25)


@dataclass(frozen=True)
class FoundTensor:
    """A tensor of the model and its file.

    Attributes:
        name: Its name in the model.
        file: A file of it.
        how: How it was found, in words.
        reading: How it lies there.
    """

    name: str
    file: DumpFile
    how: str
    reading: Reading


@dataclass(frozen=True)
class Reading:
    """One way to read a file, and how much it is like a tensor then.

    Attributes:
        correlation: With the tensor as the backend makes it.
        dtype: Element type of a file that does not say it; empty where it says it, or holds float32.
        layout: Letters of the axes, where the file has the channels last.
        scale: Step that codes are multiplied by; 0 for real numbers.
        zero_point: Code of the number 0.
    """

    correlation: float
    dtype: str = ""
    layout: str | None = None
    scale: float = 0.0
    zero_point: int = 0


def find_tensors(dump_map: DumpMap, model: Model, resolved: Resolved) -> tuple[Dump, list[FoundTensor]]:
    """Return a dump, and its tensors in the order of the model.

    Bare numbers do not tell how an input lies: the order of axes is taken with which more tensors are found.

    Args:
        dump_map: The folder, with names alone to tell.
        model: The model.
        resolved: A backend to believe, and the inputs where the dump lacks them.

    Raises:
        DataError: There are no inputs.
        BackendError: The backend fails.
    """
    dump = Dump(dump_map, model)
    found = _find(dump, resolved)
    inputs = [dump.tensors[name] for name in dump.inputs if name in dump.tensors]
    bare = [item for item in inputs if not all(file.tells_shape for file in item.files.values())]
    if any(len(shape) == len(_LAST) for item in bare if (shape := dump.inputs[item.name].shape) is not None):
        other = Dump(replace(dump_map, common=TensorRule(layout=_LAST)), model)
        found_so = _find(other, resolved)
        if _count(found_so) > _count(found):
            return other, found_so
    return dump, found


def held_precision(dump: Dump, found: Sequence[FoundTensor]) -> str:
    """Return the coarsest type in which the program calculated, as the numbers of its tensors show it; empty if not so.

    Args:
        dump: The dump.
        found: Its tensors.
    """
    inner = [item for item in found if item.name not in dump.inputs]
    if any(item.reading.scale for item in inner):
        return "int8"
    arrays = [dump.read_file(item.file, item.reading.dtype or "float32") for item in inner]
    real = [array for array in arrays if is_floating(array.dtype)]
    with np.errstate(over="ignore"):
        for kind in ("bfloat16", "float16"):
            if real and all(np.array_equal(array.astype(as_dtype(kind)).astype(array.dtype), array) for array in real):
                return kind
    return ""


def _count(found: Sequence[FoundTensor]) -> int:
    """Return how many tensors are what the backend makes."""
    return sum(item.reading.correlation > 0 for item in found)


def _find(dump: Dump, resolved: Resolved) -> list[FoundTensor]:
    """Return the tensors that are found with the inputs as the dump's map has them."""
    tensors = _run(dump, resolved)
    first = {file.name: file for file in reversed(list(dump.files))}
    paired = {file.name: name for name, recorded in dump.tensors.items() for file in recorded.files.values()}
    found: dict[str, FoundTensor] = {}
    for file_name, name in paired.items():
        reading = max(_readings(dump, first[file_name], tensors[name]), key=_merit, default=Reading(0.0))
        how = "by its name" if file_name == name else f"called {file_name!r}"
        found[name] = FoundTensor(name, first[file_name], how, reading)
    left = [file for name, file in first.items() if name not in paired]
    rest = {name: array for name, array in tensors.items() if name not in found}
    for name, file, reading in _by_value(dump, left, rest):
        found[name] = FoundTensor(name, file, f"by value: correlation {reading.correlation:.5f}", reading)
    return [found[name] for name in tensors if name in found]


def _run(dump: Dump, resolved: Resolved) -> dict[str, Array]:
    """Return all tensors of the model, the inputs first."""
    data = resolved.plan.data
    recorded = None if data.files or data.script else dump.feeds
    feed = next(iter(open_feeds(resolved.source, dump.inputs) if recorded is None else recorded), None)
    if feed is None:
        raise DataError("there are no inputs to run the model on", hint="--load-inputs PATH")
    run = open_partitioned_runs(resolved)[-1]
    outputs = run.run_whole(feed, [name for name in dump.computed if name not in feed])
    if outputs is None:
        raise BackendError(run.result.error or "failed", whose=run.label, hint=run.result.hint)
    arrays = {**feed, **outputs}
    order = [*dump.inputs, *dump.computed]
    return {name: to_numpy(arrays[name]) for name in order if name in arrays}


def _by_value(
    dump: Dump, files: Sequence[DumpFile], tensors: Mapping[str, Array]
) -> Iterator[tuple[str, DumpFile, Reading]]:
    """Yield pairs of a tensor and the file that is most like it, the most alike first, each once."""
    readings = [
        (reading, name, file)
        for file in files
        for name, array in tensors.items()
        for reading in _readings(dump, file, array)
    ]
    taken: set[str] = set()
    for reading, name, file in sorted(readings, key=lambda item: _merit(item[0]), reverse=True):
        if name not in taken and file.name not in taken:
            taken |= {name, file.name}
            yield name, file, reading


def _merit(reading: Reading) -> tuple[float, bool]:
    """Return a key for the best reading: of two that are as good, the one without a layout of its own."""
    return round(reading.correlation, 9), reading.layout is None


def _readings(dump: Dump, file: DumpFile, expected: Array) -> Iterator[Reading]:
    """Yield the ways to read a file in which it is like a tensor."""
    if expected.size < 2 or not (is_floating(expected.dtype) or expected.dtype.kind in "iu"):
        return
    size = file.path.stat().st_size
    kinds = ("",) if file.tells_shape else _TYPES.get(size // expected.size, ()) if size % expected.size == 0 else ()
    for kind in kinds:
        values = dump.read_file(file, kind or "float32")
        if values.size != expected.size:
            continue
        is_code = not is_floating(values.dtype) and is_floating(expected.dtype)
        rank = expected.ndim
        orders: list[tuple[int, ...] | None] = [None]
        if rank > 2 and values.shape in ((values.size,), file_shape(last_channel_order(rank), expected.shape)):
            orders.append(last_channel_order(rank))
        for order in orders:
            if order is None:
                array = values.reshape(expected.shape) if values.shape in ((values.size,), expected.shape) else None
            else:
                array = transposed(values.reshape(file_shape(order, expected.shape)), order)
            if array is None:
                continue
            correlation, slope, offset = _fit(array, expected)
            dtype = "" if kind in ("", "float32") else kind
            layout = None if order is None else f"N{'DHW'[5 - rank :]}C"
            if correlation < (_ALIKE if expected.size >= _FEW else _FEW_ALIKE):
                continue
            if is_code and slope > 0:
                yield Reading(correlation, dtype, layout, slope, round(-offset / slope))
            elif not is_code and _FACTORS[0] < slope < _FACTORS[1]:
                yield Reading(correlation, dtype, layout)


def _fit(array: Array, expected: Array) -> tuple[float, float, float]:
    """Return the correlation of two tensors, and the line through their numbers: its slope and where it starts."""
    with np.errstate(all="ignore"):
        x, y = (item.astype(np.float64).reshape(-1) for item in (array, expected))
        if not np.isfinite(x).all() or not np.isfinite(y).all() or not x.std() or not y.std():
            return (1.0, 1.0, 0.0) if np.array_equal(x, y) else (0.0, 0.0, 0.0)
        covariance = float(np.mean((x - x.mean()) * (y - y.mean())))
        slope = covariance / float(x.var())
        return covariance / float(x.std() * y.std()), slope, float(y.mean() - slope * x.mean())
