"""TensorRT's logger, its plugin libraries, and the runtime that reads engines."""

from __future__ import annotations

import ctypes
import logging
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from polycmp.errors import BackendError, FileError, describe_exception
from polycmp.loader import Loader, immediate, resolve
from polycmp.messages import SEVERITIES
from polycmp_trt.features import import_tensorrt, require, supports

if TYPE_CHECKING:
    import tensorrt as trt
    from tensorrt import ILogger

T = TypeVar("T")
_LOG = logging.getLogger("polycmp.trt")


@cache
def get_trt_logger() -> trt.ILogger:
    """Return the `tensorrt.ILogger` that everything here uses; it writes to the logger `polycmp.trt`.

    TensorRT keeps the first logger of a process and ignores any other, so there is one. It remembers the last errors
    in `errors`, because TensorRT reports the reason of a failure only there.
    """
    trt = import_tensorrt()
    is_finalizing = sys.is_finalizing  # kept here: at the end of Python a module's names are None
    severity = trt.ILogger.Severity
    levels = {
        severity.INTERNAL_ERROR: logging.ERROR,
        severity.ERROR: logging.ERROR,
        severity.WARNING: logging.WARNING,
        severity.INFO: logging.DEBUG,
        severity.VERBOSE: SEVERITIES["EXTRA_VERBOSE"],
    }

    class Logger(trt.ILogger):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            trt.ILogger.__init__(self)
            self.errors: deque[str] = deque(maxlen=64)
            self.warnings: deque[str] = deque(maxlen=16)

        def log(self, severity: ILogger.Severity, message: str) -> None:
            if is_finalizing():
                return
            level = levels.get(severity, logging.DEBUG)
            if level >= logging.ERROR:
                self.errors.append(message)
                level = logging.DEBUG if self.errors_are_handled else level
            elif level == logging.WARNING:
                self.warnings.append(message)
            if _LOG.isEnabledFor(level):
                _LOG.log(level, "%s", message)

        errors_are_handled = False

    return Logger()


class ErrorNotes:
    """TensorRT's messages about what went wrong in a block.

    Attributes:
        messages: The errors it logged, in order.
        warnings: The warnings it logged, in order.
    """

    def __init__(self) -> None:
        self.messages: list[str] = []
        self.warnings: list[str] = []

    def release(self) -> None:
        """Log the errors as warnings: the block succeeded nonetheless."""
        for message in dict.fromkeys(self.messages):
            _LOG.warning("%s", message)

    def why(self, otherwise: str = "") -> str:
        """Return the errors as one text, in order, without repetitions; `otherwise` if there were none."""
        messages = self.messages or (self.warnings if not otherwise else [])
        unique = list(dict.fromkeys(" ".join(message.split()) for message in messages))
        if len(unique) > 4:
            unique = [*unique[:3], f"… ({len(unique) - 3} more, see --verbose)"]
        return "; ".join(unique) or otherwise


@contextmanager
def noted_errors() -> Iterator[ErrorNotes]:
    """Collect the errors that TensorRT logs in a block, so that they are reported once, by the exception.

    A block that succeeded in spite of errors calls `release` on the notes, which logs them as warnings.
    """
    logger = get_trt_logger()
    notes = ErrorNotes()
    before, earlier_errors = logger.errors_are_handled, list(logger.errors)
    logger.errors.clear()
    logger.warnings.clear()
    logger.errors_are_handled = True
    try:
        yield notes
    finally:
        notes.messages.extend(logger.errors)
        notes.warnings.extend(logger.warnings)
        logger.errors_are_handled = before
        logger.errors.extendleft(reversed(earlier_errors))


def last_errors() -> str:
    """Return the last errors that TensorRT logged, as one text; they are forgotten then."""
    notes = ErrorNotes()
    errors = get_trt_logger().errors
    notes.messages.extend(errors)
    errors.clear()
    return notes.why("it does not say; run again with -v")


def new_object(make: Callable[[trt.ILogger], T | None], what: str) -> T:
    """Return a Builder, Runtime or other root object, or raise an error that says why TensorRT gave none.

    Args:
        make: Takes TensorRT's logger and returns the object.
        what: Name of the object, for the error.

    Raises:
        BackendError: TensorRT could not start: no device, or a driver too old for it.
    """
    with noted_errors() as notes:
        try:
            root = make(get_trt_logger())
        except (TypeError, RuntimeError) as error:
            root, cause = None, describe_exception(error)
        else:
            cause = f"it returned no {what}"
    if root is None:
        raise BackendError(
            f"TensorRT cannot start its {what}",
            whose="trt",
            why=notes.why() or cause,
            hint="nvidia-smi (is there a device, and a driver new enough for this TensorRT?)",
        )
    return root


class OnDevice(Loader[T]):
    """Does what a loader does on a CUDA device other than the first.

    Args:
        obj: A callable, for example a loader that builds an engine.
        device: The device.
    """

    def __init__(self, obj: Callable[[], T], device: int) -> None:
        self.obj = obj
        self.device = device

    def call_impl(self) -> T:
        """Call the callable while the device is current.

        Raises:
            BackendError: There is no such device.
        """
        from polycmp_trt.run.cuda import current

        with current(self.device):
            return self.obj()


class LoadPlugins(Loader[Any]):
    """Loads TensorRT plugin libraries, and registers NVIDIA's own plugins.

    A library runs code of its author as soon as it is loaded: name only libraries you trust. Nothing loads one unless
    it is named here or with `--plugins`.

    Args:
        plugins: Paths of shared libraries.
        obj: The object to return, or a callable that makes it once the libraries are loaded.
    """

    def __init__(self, plugins: Iterable[str | Path] | None = None, obj: Any = None) -> None:
        self.plugins = plugins
        self.obj = obj

    def call_impl(self) -> Any:
        """Return `obj` after loading.

        Raises:
            FileError: A library is missing or cannot be loaded.
        """
        for path in self.plugins or ():
            _load_library(path)
        trt = import_tensorrt()
        trt.init_libnvinfer_plugins(get_trt_logger(), "")
        return resolve(self.obj)


def _load_library(path: str | Path) -> None:
    try:
        ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
    except OSError as error:
        raise FileError(
            f"cannot load the plugin library {path}", why=describe_exception(error), hint=f"ldd {path}"
        ) from error


class LoadRuntime(Loader["trt.Runtime"]):
    """Loads a lean TensorRT runtime from its library, for engines of another release built version-compatible.

    Args:
        path: The runtime's shared library; it runs code of its own.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = path

    def call_impl(self) -> trt.Runtime:
        """Return the `tensorrt.Runtime`.

        Raises:
            BackendError: This release cannot load runtimes, or the library is none.
        """
        require("load_runtime", f"--load-runtime {self.path}")
        base = make_runtime()
        with noted_errors() as notes:
            try:
                loaded = base.load_runtime(str(self.path))
            except (TypeError, RuntimeError) as error:
                loaded = None
                notes.messages.append(describe_exception(error))
        if loaded is None:
            raise BackendError(
                f"cannot load the TensorRT runtime {self.path}",
                whose="trt",
                why=notes.why("it returned none"),
                hint=f"name the lean runtime's library, libnvinfer_lean.so.N: ls -l {self.path}",
            )
        return loaded


def make_runtime(*, host_code: bool = False) -> trt.Runtime:
    """Return a new `tensorrt.Runtime`.

    Args:
        host_code: Let engines run code they carry for the host. Only for engines from a source you trust.
    """
    trt = import_tensorrt()
    runtime = new_object(trt.Runtime, "runtime")
    if host_code:
        require("host_code", "--trt-engine-host-code-allowed")
    if supports("host_code"):
        runtime.engine_host_code_allowed = host_code
    return runtime


load_plugins = immediate(LoadPlugins)
load_runtime = immediate(LoadRuntime)
