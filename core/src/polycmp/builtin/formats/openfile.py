"""A file that stays open while parts of it are read, even if its name is removed or reused meanwhile."""

from __future__ import annotations

import mmap
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Up to this many bytes, copying them takes less time than mapping them into memory.
_COPIED_BYTES = 64 << 10


class OpenFile:
    """A file opened once for many reads; closed when this object is no longer referenced.

    Attributes:
        path: The file's name at the time it was opened.
        stream: The file itself.

    Raises:
        OSError: It cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.stream: BinaryIO = path.open("rb")
        self._map: mmap.mmap | None = None
        weakref.finalize(self, self.stream.close)

    def bytes_at(self, offset: int, size: int) -> NDArray[np.uint8]:
        """Return some of the file's bytes, read-only; many are mapped, so that only what is touched takes memory.

        Raises:
            ValueError: The file ends before them.
            OSError: They cannot be read.
        """
        if size > _COPIED_BYTES:
            return self._mapped(offset, size)
        self.stream.seek(offset)
        content = self.stream.read(size)
        if len(content) < size:
            raise ValueError(f"the file ends {size - len(content)} bytes too early")
        return np.frombuffer(content, np.uint8)

    def _mapped(self, offset: int, size: int) -> NDArray[np.uint8]:
        """Return bytes of the one map of the whole file: each map would keep a file open, and there may be few."""
        if self._map is None:
            self._map = mmap.mmap(self.stream.fileno(), 0, access=mmap.ACCESS_READ)
        array = np.frombuffer(self._map, np.uint8, size, offset)
        if hasattr(mmap, "MADV_DONTNEED"):  # pages count as memory of the process until they are given back
            start = offset // mmap.PAGESIZE * mmap.PAGESIZE
            pages = mmap.MADV_DONTNEED, start, offset + size - start
            weakref.finalize(array.base, self._map.madvise, *pages).atexit = False
        return array
