"""The cache of environments: each is made whole or not at all, used by many commands, and removed when space is short.

An environment is a folder of its own with a file that says that it is complete, which is written last. Who makes or
removes one holds its lock alone; who runs something in it shares the lock.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from polycmp.errors import PluginError
from polycmp.files import atomic_write, to_bytes

#: Bytes that the cache takes at most where nobody set another limit.
DEFAULT_LIMIT = 20 * 1024**3
_COMPLETE, _SETTINGS = "complete.json", "settings.json"
#: Folder in an environment for those that have polycmp besides.
VIEWS = "polycmp"


def cache_folder() -> Path:
    """Return the folder of all that is cached: `POLYCMP_CACHE`, or `polycmp` in the user's folder for caches."""
    folder = os.environ.get("POLYCMP_CACHE")
    if folder:
        return Path(folder)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "polycmp"


@dataclass(frozen=True)
class CachedEnvironment:
    """An environment in the cache.

    Attributes:
        name: The name of its folder.
        folder: The folder.
        size: Size in bytes when it was made.
        used: When it was last used, in seconds since 1970.
        complete: Whether it was made to the end.
    """

    name: str
    folder: Path
    size: int
    used: float
    complete: bool


class Cache:
    """The environments in a folder.

    Args:
        folder: The folder; by default `environments` in `cache_folder()`.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or cache_folder() / "environments"

    @property
    def limit(self) -> int:
        """The bytes that it may take."""
        try:
            return _bytes_in(self.folder / _SETTINGS, "limit")
        except (OSError, ValueError, KeyError, TypeError):
            return DEFAULT_LIMIT

    def set_limit(self, size: int) -> list[str]:
        """Set the limit in bytes, remove environments beyond it, and return their names."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with atomic_write(self.folder / _SETTINGS) as file:
            file.write(to_bytes(json.dumps({"limit": size}) + "\n"))
        return self.make_room()

    def environments(self) -> list[CachedEnvironment]:
        """Return all environments, the most recently used first, incomplete ones included."""
        environments = []
        entries = self.folder.iterdir() if self.folder.is_dir() else ()
        for folder in (entry for entry in entries if entry.is_dir()):  # before Python 3.11 glob("*/") names files, too
            marker = folder / _COMPLETE
            try:
                size = _bytes_in(marker, "size")
                environments.append(CachedEnvironment(folder.name, folder, size, marker.stat().st_mtime, True))
            except (OSError, ValueError, KeyError, TypeError):
                environments.append(CachedEnvironment(folder.name, folder, size_of(folder), 0.0, False))
        return sorted(environments, key=lambda item: -item.used)

    def is_complete(self, name: str) -> bool:
        """Return whether an environment is complete and its interpreter starts."""
        return (self.folder / name / _COMPLETE).is_file() and starts(self.folder / name)

    def is_whole(self, name: str) -> bool:
        """Return whether an environment is complete and no file of it is missing."""
        if not self.is_complete(name):
            return False
        try:
            return _content_size(self.folder / name) >= _bytes_in(self.folder / name / _COMPLETE, "content")
        except (OSError, ValueError, KeyError, TypeError):
            return False

    @contextmanager
    def making(self, name: str) -> Iterator[Path]:
        """Yield the folder of an environment to make; it is removed if the block raises an error.

        Raises:
            BlockingIOError: There is one that is damaged, and somebody uses it: this process, perhaps.
        """
        folder = self.folder / name
        existed = (folder / _COMPLETE).is_file()
        if self.is_whole(name):  # another process was quicker
            yield folder
            return
        with _lock(self.folder / f"{name}.lock", alone=True, wait=not existed):
            if self.is_whole(name):  # … while this one waited
                yield folder
                return
            shutil.rmtree(folder, ignore_errors=True)
            try:
                folder.parent.mkdir(parents=True, exist_ok=True)
                yield folder
                with atomic_write(folder / _COMPLETE) as file:
                    sizes = {"size": size_of(folder), "content": _content_size(folder)}
                    file.write(to_bytes(json.dumps(sizes) + "\n"))
            except BaseException:
                shutil.rmtree(folder, ignore_errors=True)
                raise

    def use(self, name: str) -> IO[bytes]:
        """Lock an environment against removal until the returned file is closed."""
        with suppress(OSError):
            os.utime(self.folder / name / _COMPLETE)
        return _lock(self.folder / f"{name}.lock", alone=False)

    @contextmanager
    def locked(self, name: str, *, alone: bool) -> Iterator[None]:
        """Hold the lock of an environment."""
        with _lock(self.folder / f"{name}.lock", alone=alone):
            yield

    def remove(self, name: str) -> bool:
        """Remove an environment; returns whether it was removed, and not in use."""
        lock = _try_lock(self.folder / f"{name}.lock")
        if lock is None:
            return False
        with lock:
            with suppress(OSError):
                (self.folder / name / _COMPLETE).unlink()  # first, so that it is not used half removed
            shutil.rmtree(self.folder / name, ignore_errors=True)
        return True

    def make_room(self, spare: str = "") -> list[str]:
        """Remove the environments that were not used for longest until the limit is kept; return their names.

        Args:
            spare: The name of one that stays in any case.
        """
        known = self.environments()
        total, removed = sum(item.size for item in known), []
        for item in reversed(known):
            if total <= self.limit:
                break
            if item.name != spare and self.remove(item.name):
                total -= item.size
                removed.append(item.name)
        return removed


def _try_lock(path: Path) -> IO[bytes] | None:
    """Return an exclusively locked file; None if another process holds the lock."""
    try:
        return _lock(path, alone=True, wait=False)
    except BlockingIOError:
        return None


def _lock(path: Path, *, alone: bool, wait: bool = True) -> IO[bytes]:
    """Return a file whose lock is held until it is closed.

    Raises:
        BlockingIOError: Somebody else holds it, and it is not to be waited for.
        PluginError: There are no such locks on this system.
    """
    try:
        import fcntl
    except ImportError:
        raise PluginError(
            "environments cannot be kept on this system", why="it has no locks of files", hint="use Linux or macOS"
        ) from None
    path.parent.mkdir(parents=True, exist_ok=True)
    file = path.open("ab")
    kind = fcntl.LOCK_EX if alone else fcntl.LOCK_SH
    try:
        fcntl.flock(file, kind if wait else kind | fcntl.LOCK_NB)
    except BaseException:
        file.close()
        raise
    return file


def _bytes_in(file: Path, key: str) -> int:
    """Return a number of bytes that a JSON file holds.

    Raises:
        OSError, ValueError, KeyError, TypeError: There is no such file, or no such number in it.
    """
    value = json.loads(file.read_text("utf-8"))[key]
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{value!r} is no number of bytes")
    return value


def starts(folder: Path) -> bool:
    """Return whether an environment has an interpreter."""
    return os.access(folder / "bin" / "python", os.X_OK)


def _content_size(folder: Path) -> int:
    """Return the bytes of what was installed, without what its use adds and takes away."""
    total = 0
    for root, names, files in os.walk(folder):
        names[:] = [name for name in names if name != "__pycache__" and Path(root, name) != folder / VIEWS]
        for file in files:
            with suppress(OSError):
                total += os.lstat(Path(root, file)).st_size if file != _COMPLETE else 0
    return total


def size_of(folder: Path) -> int:
    """Return the bytes that the files of a folder take, each counted once."""
    seen: dict[tuple[int, int], int] = {}
    for root, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                status = os.lstat(Path(root) / name)
                seen[status.st_dev, status.st_ino] = status.st_size
    return sum(seen.values())


def digest(*parts: object) -> str:
    """Return a short name for values."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:8]


def age(seconds: float) -> str:
    """Describe how long ago a time was."""
    days = (time.time() - seconds) / 86400
    return "today" if days < 1 else f"{days:.0f} day{'s' if days >= 1.5 else ''} ago"
