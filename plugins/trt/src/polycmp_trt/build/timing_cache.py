"""Timing caches: what the builder measured, kept in a file or in memory so that the next build measures less."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from polycmp.errors import FileError, describe_exception
from polycmp.files import atomic_write

if TYPE_CHECKING:
    import tensorrt as trt

    from polycmp_trt.types import FileLike

__all__ = [
    "SharedTimings",
    "locked",
    "read_timing_cache",
    "save_timing_cache",
    "timings_of_process",
    "use_timing_cache",
]

_LOG = logging.getLogger("polycmp.trt")


@contextmanager
def locked(path: str | Path) -> Iterator[None]:
    """Hold the lock of a file for a block, exclusively among all processes; the lock file is removed afterwards.

    On Windows there is no lock; the rename alone keeps the file whole.

    Raises:
        FileError: The lock cannot be made.
    """
    if not hasattr(os, "fork"):
        yield
        return
    lock = Path(f"{path}.lock")
    handle = _acquire(lock)
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)
        os.close(handle)


def _acquire(lock: Path) -> int:
    import fcntl  # not on Windows

    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        while True:
            handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
            fcntl.flock(handle, fcntl.LOCK_EX)
            # The previous holder removed the file: this handle may lock a file that no other process can open any more.
            try:
                if os.fstat(handle).st_ino == lock.stat().st_ino:
                    return handle
            except FileNotFoundError:
                pass
            os.close(handle)
    except OSError as error:
        raise FileError(f"cannot lock {lock}", why=describe_exception(error), hint=f"ls -ld {lock.parent}") from error


def read_timing_cache(source: FileLike) -> bytes:
    """Return the bytes of a timing cache; none, and a warning, if the file does not exist.

    Args:
        source: A path, or an open file to read from.

    Raises:
        FileError: The file exists but cannot be read.
    """
    if hasattr(source, "read"):
        return bytes(source.read())
    path = Path(source)
    try:
        return path.read_bytes()
    except FileNotFoundError:
        _LOG.warning("there is no timing cache %s yet; everything will be timed", path)
        return b""
    except OSError as error:
        raise FileError(f"cannot read the timing cache {path}", why=describe_exception(error)) from error


def use_timing_cache(config: trt.IBuilderConfig, source: FileLike | None) -> None:
    """Set the timing cache of a builder configuration: from a file, or an empty one that collects new timings.

    A cache of another device or release cannot be used; a warning is logged and the build times everything.

    Args:
        config: A `tensorrt.IBuilderConfig`.
        source: A path, an open file, or None for an empty cache.
    """
    from polycmp_trt.run.runtime import noted_errors

    content = read_timing_cache(source) if source is not None else b""
    with noted_errors():  # whether the cache is accepted is logged below
        cache = config.create_timing_cache(content)
        accepted = cache is not None and config.set_timing_cache(cache, ignore_mismatch=False)
    if accepted:
        return
    _LOG.warning("the timing cache %s belongs to another device or release of TensorRT; it is not used", source)
    empty = config.create_timing_cache(b"")
    if empty is not None:
        config.set_timing_cache(empty, ignore_mismatch=False)


def save_timing_cache(config: trt.IBuilderConfig, target: FileLike) -> None:
    """Write the timings of a finished build, together with those that the file holds already.

    Several processes may write to one file at the same time: no timings are lost, and a reader always sees a complete
    cache.

    Args:
        config: The `tensorrt.IBuilderConfig` of the build.
        target: A path, or an open file to write to.

    Raises:
        FileError: The file cannot be written.
    """
    cache = config.get_timing_cache()
    if cache is None:
        _LOG.warning("the build made no timings; the timing cache %s is left as it is", target)
        return
    if hasattr(target, "write"):
        target.write(bytes(cache.serialize()))
        return
    path = Path(target)
    with locked(path):
        merged = _merged(config, cache, path)
        with atomic_write(path) as file:
            file.write(merged)


def _merged(config: trt.IBuilderConfig, cache: trt.ITimingCache, path: Path) -> bytes:
    """Return the file's timings and the new ones together; the new ones alone if the file cannot be used here."""
    from polycmp_trt.run.runtime import noted_errors

    if not path.is_file() or not path.stat().st_size:
        return bytes(cache.serialize())
    content = path.read_bytes()
    with noted_errors():  # TensorRT logs errors about caches that it merges nonetheless; only the result counts
        both = config.create_timing_cache(content)
        usable = both is not None and _takes(config, both)
        if usable:
            both.combine(cache, ignore_mismatch=False)  # TensorRT keeps the file's timing where both have one
            return bytes(both.serialize())
    _LOG.warning("the timing cache %s belongs to another device or release of TensorRT; it is replaced", path)
    return bytes(cache.serialize())


def _takes(config: trt.IBuilderConfig, cache: trt.ITimingCache) -> bool:
    """Check whether a cache is of this device and release: an empty cache can merge its timings."""
    return _merge(config.create_timing_cache(b""), cache)


def _merge(into: trt.ITimingCache, other: trt.ITimingCache) -> bool:
    """Merge timings; return whether any were taken over.

    TensorRT's own answer is not enough. TensorRT 8.6 answers no on devices newer than itself, after it has merged.
    """
    before = _size(into)
    return bool(into.combine(other, ignore_mismatch=False)) or _size(into) > before


def _size(cache: trt.ITimingCache) -> int:
    content = cache.serialize()
    return 0 if content is None else len(bytes(content))


@dataclass
class _ProcessTimings:
    """Timings that builds in this process measured on one device.

    Attributes:
        timings: All that TensorRT takes over.
        refused: Whether there were some that it does not.
    """

    timings: trt.ITimingCache
    refused: bool = False


@cache
def timings_of_process() -> dict[int, _ProcessTimings]:
    """Return the timings that this process' builds measured, by device; they only make later builds faster."""
    return {}


class SharedTimings:
    """Timings measured while building engines of a model and of its parts, shared by the builds of one process.

    TensorRT tells the layers in a timing cache apart by all that matters to their times, so one cache serves engines of
    any precision. Timings are merged, never serialised and read: TensorRT 8.6 refuses to read some caches of its own.

    Args:
        device: The CUDA device; timings of another one are not used.
        reads: Whether builds take over what others measured. A whole model is timed anew and only adds its timings.

    Attributes:
        notes: Remarks for the reader of the report, in words.
    """

    def __init__(self, device: int = 0, *, reads: bool = True) -> None:
        self.notes: list[str] = []
        self._device, self._reads = device, reads

    def lend(self, config: trt.IBuilderConfig) -> None:
        """Give a configuration that has a timing cache what others measured; a note says so if that is refused.

        Args:
            config: The `tensorrt.IBuilderConfig` of the coming build.
        """
        from polycmp_trt.run.runtime import noted_errors

        own_cache, process_timings = config.get_timing_cache(), timings_of_process().get(self._device)
        if not self._reads or own_cache is None or process_timings is None:
            return
        if _size(process_timings.timings) > _size(own_cache):
            with noted_errors():  # what came of it is asked of the cache
                process_timings.refused = not _merge(own_cache, process_timings.timings) or process_timings.refused
        if process_timings.refused:
            self.notes.append("TensorRT refuses timings of its own that other parts measured: layers are timed anew")

    def collect(self, config: trt.IBuilderConfig) -> None:
        """Add what a build measured.

        Args:
            config: The `tensorrt.IBuilderConfig` of the build, which is over.
        """
        from polycmp_trt.run.runtime import noted_errors

        with noted_errors():  # what came of it is asked of the cache
            build_cache, empty = config.get_timing_cache(), config.create_timing_cache(b"")
            if build_cache is None or empty is None:  # no timings, or no memory: the build's own error counts
                return
            measured = _size(build_cache) > _size(empty)
            process_timings = timings_of_process().setdefault(self._device, _ProcessTimings(empty))
            if measured and not _merge(process_timings.timings, build_cache) and not _takes(config, build_cache):
                process_timings.refused = True
