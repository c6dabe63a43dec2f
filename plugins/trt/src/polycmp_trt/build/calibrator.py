"""INT8 calibration: feeding TensorRT with representative data, and keeping the result in a cache."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from polycmp.errors import BackendError, DataError, FileError, describe_exception, did_you_mean
from polycmp.files import atomic_write
from polycmp.loader import Loader, immediate
from polycmp.tensors import DataSource, TensorMetadata, dtype_name, format_shape, is_floating, to_numpy
from polycmp_trt.build.callbacks import guarded, remember_errors
from polycmp_trt.features import import_tensorrt, require
from polycmp_trt.run.views import DeviceView, device_view

if TYPE_CHECKING:
    from types import ModuleType

    import tensorrt as trt

    from polycmp_trt.types import DataLoader, FileLike

__all__ = ["Calibrator", "CalibratorFromData", "calibration_feeds", "calibrator_from_data"]

_LOG = logging.getLogger("polycmp.trt")


def calibration_feeds(data_loader: DataLoader, inputs: TensorMetadata | None) -> Iterator[Mapping[str, Any]]:
    """Return an iterator over the feeds of any data loader.

    Args:
        data_loader: An iterable of feeds, or a callable that returns one; it is given the inputs' metadata if it needs
            an argument, or has one called `inputs`, `input_metadata` or `metadata`. An iterable with an attribute
            `input_metadata` gets the metadata there, unless it has its own.
        inputs: Names, types and shapes of the network's inputs, if known.
    """
    if isinstance(data_loader, DataSource) and data_loader.synthetic:
        _LOG.warning(
            "calibrating with random numbers: the ranges will not suit real data; "
            "give some with --data-loader-script or --load-inputs"
        )
    if inputs is not None and getattr(data_loader, "input_metadata", inputs) is None:
        cast("Any", data_loader).input_metadata = inputs
    if not callable(data_loader):
        return iter(data_loader)
    make: Callable[..., Iterable[Mapping[str, Any]]] = data_loader
    return iter(make(inputs) if _wants_metadata(make) else make())


def _wants_metadata(function: Callable[..., Any]) -> bool:
    """Return whether a function takes the inputs' metadata: its first argument is needed, or is called like that."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return False
    if not parameters or parameters[0].kind not in {
        inspect.Parameter.POSITIONAL_ONLY,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
    }:
        return False
    first = parameters[0]
    return first.default is inspect.Parameter.empty or first.name in {"inputs", "input_metadata", "metadata"}


@remember_errors
class _Calibration:
    """Common part of all calibrators, of any of TensorRT's base classes.

    Attributes:
        data_loader: The source of the data.
        error: The first error of a callback; the build has not seen the data after it.
        num_batches: Feeds used so far.
    """

    error: BaseException | None

    def _set_up(self, data_loader: DataLoader, cache: FileLike | None, settings: Mapping[str, Any]) -> None:
        self.data_loader = data_loader
        self._cache = cache
        self._settings = settings
        self._inputs: TensorMetadata | None = None
        self._buffers: dict[str, Any] = {}
        self._views: dict[str, DeviceView] = {}
        self._contents: bytes | None = None
        self._feeds: Iterator[Mapping[str, Any]] | None = None
        self.num_batches = 0

    def set_input_metadata(self, input_metadata: TensorMetadata) -> None:
        """Set the metadata of the network's inputs, by which data is created and checked.

        `CreateConfig` does this. Real-valued inputs become float32, which is what TensorRT calibrates with.
        """
        inputs = TensorMetadata()
        for name, entry in input_metadata.items():
            floating = entry.dtype is not None and is_floating(entry.dtype)
            inputs.add(name, np.float32 if floating else entry.dtype, entry.shape)
        self._inputs = inputs

    def reset(self) -> None:
        """Start anew with the first feed; a generator cannot go back and will give no more data."""
        self._feeds = None
        self._contents = None
        self.num_batches = 0
        self.error = None

    def free(self) -> None:
        """Free the device memory; may be called twice."""
        self._views = {}
        buffers, self._buffers = self._buffers, {}
        if not buffers:
            return
        from polycmp_trt.run.cuda import current

        with current(self._settings["device"]):
            for buffer in buffers.values():
                buffer.free()

    def __enter__(self) -> _Calibration:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.free()

    # What TensorRT calls

    @guarded(default=1)
    def get_batch_size(self) -> int:
        return int(self._settings["batch_size"])

    @guarded(default=None)
    def get_batch(self, names: Iterable[str], *unused: Any) -> list[int] | None:
        if self._feeds is None:
            self._feeds = calibration_feeds(self.data_loader, self._inputs)
        feed = next(self._feeds, None)
        if feed is None:
            if not self.num_batches:
                raise DataError(
                    "the data loader gave no calibration data",
                    whose="trt",
                    why="it is empty, or a generator that an earlier build has used up",
                    hint="pass a list, or the generator function itself instead of what it returns",
                )
            self.free()
            return None
        self.num_batches += 1
        return [self._device_pointer(name, feed) for name in names]

    def _device_pointer(self, name: str, feed: Mapping[str, Any]) -> int:
        if name not in feed:
            raise DataError(f"calibration: no data for input {name!r}", whose="trt", why=did_you_mean(name, feed))
        value = feed[name]
        if isinstance(value, int):  # a device pointer, which cannot be checked
            return value
        from polycmp_trt.run.cuda import DeviceBuffer, current, driver

        device = self._settings["device"]
        with current(device) as primary:
            view = device_view(value, device=device)
            if view is not None and self._in_place(name, view):
                self._views[name] = view  # TensorRT reads it after this returns
                primary.synchronize()  # on a stream of its own, which the producer does not know
                return view.ptr
            array = self._fitting(name, to_numpy(value) if view is None else view.numpy())
            buffer = self._buffers.setdefault(name, DeviceBuffer())
            address = int(buffer.reserve(array.nbytes))
            if array.nbytes:
                driver().memcpy_htod(address, array)
        return address

    def _in_place(self, name: str, view: DeviceView) -> bool:
        """Return whether TensorRT can read an array where it lies."""
        entry = None if self._inputs is None else self._inputs.get(name)
        if entry is not None and not entry.accepts_shape(view.shape):
            return False
        dtype = np.dtype(np.float32) if entry is None else entry.dtype
        return view.dtype == dtype and view.strides is None and view.device in {None, self._settings["device"]}

    def _fitting(self, name: str, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        entry = None if self._inputs is None else self._inputs.get(name)
        if entry is None:
            return np.ascontiguousarray(array, np.float32 if is_floating(array.dtype) else None)
        if not entry.accepts_shape(array.shape):
            raise DataError(
                f"calibration: input {name!r} has shape {format_shape(array.shape)}, "
                f"calibration runs with {format_shape(entry.shape)}",
                whose="trt",
                why="TensorRT calibrates with the opt shapes of the first optimization profile",
                hint=f"give data of that shape, or --trt-opt-shapes {name}:{format_shape(array.shape)}",
            )
        dtype = entry.dtype
        converted = array if dtype is None else array.astype(dtype, copy=False)
        if not is_floating(array.dtype) and not np.array_equal(converted, array):
            raise DataError(
                f"calibration: input {name!r} holds {dtype_name(array.dtype)} values that "
                f"{dtype_name(converted.dtype)} cannot hold",
                whose="trt",
            )
        return np.ascontiguousarray(converted)

    @guarded(default=None)
    def read_calibration_cache(self, *unused: Any) -> bytes | None:
        if self._contents is None and self._cache is not None:
            self._contents = _read(self._cache)
            if self._contents:
                _LOG.info("calibration comes from the cache %s", self._cache)
        return self._contents or None

    @guarded(default=None)
    def write_calibration_cache(self, cache: bytes | memoryview, *unused: Any) -> None:
        self._contents = bytes(cache)
        if self._cache is not None:
            _write(self._cache, self._contents)

    @guarded(default=0.5)
    def get_quantile(self) -> float:
        return float(self._settings["quantile"])

    @guarded(default=0.5)
    def get_regression_cutoff(self) -> float:
        return float(self._settings["regression_cutoff"])

    def read_histogram_cache(self, length: int) -> None:
        return None

    def write_histogram_cache(self, pointer: object, length: int) -> None:
        return None

    def get_algorithm(self) -> trt.CalibrationAlgoType:
        return self._settings["algo"]

    def __repr__(self) -> str:
        return f"Calibrator(data_loader={_name(self.data_loader)}, cache={self._cache!r})"


def _name(value: object) -> str:
    return str(getattr(value, "__name__", type(value).__name__))


def _read(cache: FileLike) -> bytes:
    if hasattr(cache, "read"):
        if hasattr(cache, "seek"):
            cache.seek(0)
        content = cache.read()
        return content if isinstance(content, bytes) else bytes(content, "utf-8")
    try:
        return Path(cache).read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise FileError(f"cannot read the calibration cache {cache}", why=describe_exception(error)) from error


def _write(cache: FileLike, content: bytes) -> None:
    if not hasattr(cache, "write"):
        with atomic_write(cache) as file:
            file.write(content)
        return
    if hasattr(cache, "seek") and hasattr(cache, "truncate"):
        cache.seek(0)
        cache.truncate()
    cache.write(content)
    if hasattr(cache, "flush"):
        cache.flush()


def Calibrator(  # noqa: N802  (the field's name and arguments; its class needs TensorRT to exist)
    data_loader: DataLoader,
    cache: FileLike | None = None,
    BaseClass: type[trt.IInt8Calibrator] | str | None = None,  # noqa: N803
    batch_size: int | None = None,
    quantile: float = 0.5,
    regression_cutoff: float = 0.5,
    algo: trt.CalibrationAlgoType | None = None,
    *,
    device: int = 0,
) -> trt.IInt8Calibrator:
    """Return an INT8 calibrator for TensorRT, to be used with `CreateConfig` or with TensorRT directly.

    When the data loader fails, the loaders of this package end the build with that error; with TensorRT alone, call
    `raise_error()` after the build. No cache is written then.

    Args:
        data_loader: Feeds (name to array, device array or device pointer): an iterable, or a callable that returns
            one, given the inputs' metadata if it takes an argument. With dynamic shapes the data has the opt shapes.
        cache: Path of, or open binary file with, the calibration cache: read if it holds anything, else written.
        BaseClass: A calibrator class of TensorRT, or its name; by default `IInt8EntropyCalibrator2`.
        batch_size: Reported to TensorRT; has no effect on networks with an explicit batch dimension.
        quantile: Quantile of `IInt8LegacyCalibrator`.
        regression_cutoff: Cutoff of `IInt8LegacyCalibrator`.
        algo: A `tensorrt.CalibrationAlgoType` for `IInt8Calibrator`; by default min-max.
        device: The CUDA device that the engine is built on.

    Raises:
        BackendError: This release of TensorRT has no calibrators, or not this class.
    """
    trt = import_tensorrt()
    require("calibrator", "calibration (a Calibrator)", trt)
    base = _base_class(trt, BaseClass)
    settings = {
        "batch_size": batch_size or 1,
        "quantile": quantile,
        "regression_cutoff": regression_cutoff,
        "algo": trt.CalibrationAlgoType.MINMAX_CALIBRATION if algo is None else algo,
        "device": device,
    }

    def init(self: Any) -> None:
        base.__init__(self)
        self._set_up(data_loader, cache, settings)

    return type("Calibrator", (_Calibration, base), {"__init__": init, "__doc__": _Calibration.__doc__})()


def _base_class(trt: ModuleType, base: type[trt.IInt8Calibrator] | str | None) -> type[trt.IInt8Calibrator]:
    if base is not None and not isinstance(base, str):
        return base
    name = base or "IInt8EntropyCalibrator2"
    base_class = getattr(trt, name, None)
    if not (isinstance(base_class, type) and issubclass(base_class, trt.IInt8Calibrator)):
        known = [item for item in dir(trt) if item.startswith("IInt8")]
        raise BackendError(f"TensorRT has no calibrator class {name!r}", whose="trt", why=did_you_mean(name, known))
    return base_class


class CalibratorFromData(Loader["trt.IInt8Calibrator"]):
    """Makes a `Calibrator` once TensorRT is needed.

    Args:
        data_loader: See `Calibrator`.
        cache: Path of the calibration cache, or None.
        base_class: Name of the calibrator class.
        quantile: Quantile of the legacy calibrator.
        regression_cutoff: Cutoff of the legacy calibrator.
        device: The CUDA device.
    """

    def __init__(
        self,
        data_loader: Iterable[Any] | Callable[..., Any],
        cache: str | None = None,
        base_class: str = "IInt8EntropyCalibrator2",
        *,
        quantile: float = 0.5,
        regression_cutoff: float = 0.5,
        device: int = 0,
    ) -> None:
        self.data_loader = data_loader
        self.cache = cache
        self.base_class = base_class
        self.quantile = quantile
        self.regression_cutoff = regression_cutoff
        self.device = device

    def call_impl(self) -> trt.IInt8Calibrator:
        """Return a new calibrator; see `Calibrator` for the errors."""
        return Calibrator(
            self.data_loader,
            self.cache,
            self.base_class,
            quantile=self.quantile,
            regression_cutoff=self.regression_cutoff,
            device=self.device,
        )


calibrator_from_data = immediate(CalibratorFromData)
