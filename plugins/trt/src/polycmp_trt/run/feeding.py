"""Feeds: what an engine's profile takes, and turning what users pass into arrays and device views."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from polycmp.errors import BackendError, DataError
from polycmp.tensors import TensorEntry, TensorMetadata, check_feed, format_shape, to_numpy
from polycmp_trt.features import supports
from polycmp_trt.run.buffers import Binding, TensorInfo
from polycmp_trt.run.views import DeviceView, device_view

if TYPE_CHECKING:
    import tensorrt as trt


def profile_metadata(engine: trt.ICudaEngine, profile: int, infos: Iterable[TensorInfo]) -> dict[str, TensorEntry]:
    """Return the inputs of an engine as one of its profiles takes them.

    A shape tensor carries the values the profile was optimised for, because few others are valid as data.

    Args:
        engine: The engine.
        profile: The profile's index.
        infos: The inputs of the engine.
    """
    entries = {}
    for info in infos:
        if info.on_host:
            values = profile_values(engine, profile, info.name)
            whole = len(values) == 3 and len(values[1]) == np.prod(info.shape, dtype=int)
            entries[info.name] = TensorEntry(info.dtype, info.shape, values=values[1] if whole else None)
            continue
        low, high = None, None
        if any(dim < 0 for dim in info.shape):
            shapes = [tuple(int(dim) for dim in shape) for shape in engine.get_tensor_profile_shape(info.name, profile)]
            low, high = (shapes[0], shapes[2]) if len(shapes) == 3 else (None, None)
        entries[info.name] = TensorEntry(info.dtype, info.shape, low, high)
    return entries


def profile_values(engine: trt.ICudaEngine, profile: int, name: str) -> list[tuple[int, ...]]:
    """Return the smallest, best and largest values of a shape tensor in a profile; nothing if none were given.

    TensorRT 8.6 reports only the first values of a longer tensor.
    """
    if supports("profile_values"):
        # The bindings declare the two arguments with each other's type but take them in this order.
        values = engine.get_tensor_profile_values(profile, name)
    else:
        values = engine.get_profile_shape_input(profile, name)
    return [tuple(int(value) for value in row) for row in values or ()]


def take_in(feed: Mapping[str, Any], bindings: Mapping[str, Binding], stream: int, device: int) -> dict[str, Any]:
    """Return a feed as NumPy arrays and device views.

    Args:
        feed: Inputs by name, as they were passed to `infer`.
        bindings: The inputs by name.
        stream: The stream that will read them.
        device: The device of that stream.

    Raises:
        DataError: Something is neither, or does not fit.
    """
    return {name: _take(name, value, bindings.get(name), stream, device) for name, value in feed.items()}


def check_inputs(arrays: Mapping[str, Any], bindings: Mapping[str, Binding], metadata: TensorMetadata | None) -> None:
    """Check that there is an array for each input, and its name, type and shape where metadata is given.

    Raises:
        DataError: Something is missing or does not fit.
    """
    if metadata is not None:
        check_feed(arrays, metadata)
    missing = [name for name in bindings if name not in arrays]
    if missing:
        raise DataError(f"no data for input {missing[0]!r}")


def _take(name: str, value: Any, binding: Binding | None, stream: int, device: int) -> Any:
    if isinstance(value, (int, np.integer)) and binding is not None and binding.info.shape:
        return _pointer(name, int(value), binding.info)
    view = device_view(value, stream, device)
    if view is None:
        array = to_numpy(value)
        return _narrow(name, array, binding.info.dtype) if binding is not None else array
    if binding is None or not (binding.info.on_host or _narrows(view.dtype, binding.info.dtype)):
        return view
    return _narrow(name, view.numpy(), binding.info.dtype)  # TensorRT reads shape tensors on the host


def _pointer(name: str, address: int, info: TensorInfo) -> DeviceView:
    if any(dim < 0 for dim in info.shape):
        raise DataError(
            f"input {name!r} has dynamic shape {format_shape(info.shape)}, so an address alone is not enough",
            hint="pass polycmp_trt.DeviceView(address, shape, dtype)",
        )
    return DeviceView(address, info.shape, info.dtype)


def _narrows(dtype: np.dtype[Any], target: np.dtype[Any]) -> bool:
    return dtype == np.int64 and target == np.int32


def _narrow(name: str, array: np.ndarray[Any, Any], target: np.dtype[Any]) -> np.ndarray[Any, Any]:
    if not _narrows(array.dtype, target):
        return array
    narrow = array.astype(np.int32)
    if not np.array_equal(narrow, array):
        raise DataError(
            f"input {name!r} holds 64-bit integers that do not fit the engine's int32",
            why=f"the largest in size is {int(np.abs(array).max())}",
        )
    return narrow


def _check_values(name: str, array: np.ndarray[Any, Any], bounds: list[tuple[int, ...]], profile: int) -> None:
    # TensorRT does not notice: it goes on with the profile's values and gives a wrong result.
    values = [int(value) for value in array.reshape(-1)]
    if len(bounds) == 3 and not all(
        low <= value <= high for value, low, high in zip(values, bounds[0], bounds[2], strict=False)
    ):
        raise DataError(
            f"the values of shape tensor {name!r}, {values}, are outside optimization profile {profile}",
            why=f"the profile takes {list(bounds[0])} to {list(bounds[2])}",
            hint=f"build for it: --trt-min-shapes / --trt-max-shapes {name}:{format_shape(values)}",
        )


def check_shapes(
    arrays: Mapping[str, Any],
    bindings: Mapping[str, Binding],
    metadata: TensorMetadata,
    engine: trt.ICudaEngine,
    context: trt.IExecutionContext,
    whose: str,
) -> None:
    """Check that the shapes of a feed, and the values of its shape tensors, lie inside the active profile.

    Raises:
        DataError: One does not; the text shows the range and the profiles that would take it.
        BackendError: No profile is active.
    """
    profile = context.active_optimization_profile
    if profile < 0:
        raise BackendError("no optimization profile is active", whose=whose, hint="call set_profile()")
    for name, binding in bindings.items():
        if binding.info.on_host:
            _check_values(name, arrays[name], profile_values(engine, profile, name), profile)
    for name, entry in metadata.items():
        if entry.min_shape is None or entry.max_shape is None:
            continue
        shape = tuple(arrays[name].shape)
        if _inside(shape, entry.min_shape, entry.max_shape):
            continue
        others = [
            index for index in range(engine.num_optimization_profiles) if _inside(shape, *_range(engine, index, name))
        ]
        hint = (
            f"choose a profile that takes it: --optimization-profile {others[0]}"
            if others
            else f"build for it: --trt-min-shapes / --trt-max-shapes {name}:{format_shape(shape)}"
        )
        raise DataError(
            f"input {name!r} of shape {format_shape(shape)} is outside optimization profile {profile}",
            whose=whose,
            why=f"the profile takes {format_shape(entry.min_shape)} to {format_shape(entry.max_shape)}",
            hint=hint,
        )


def _range(engine: trt.ICudaEngine, profile: int, name: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    shapes = engine.get_tensor_profile_shape(name, profile)
    return tuple(shapes[0]), tuple(shapes[2])


def _inside(shape: tuple[int, ...], low: tuple[int, ...], high: tuple[int, ...]) -> bool:
    return len(shape) == len(low) and all(a <= dim <= b for dim, a, b in zip(shape, low, high, strict=True))
