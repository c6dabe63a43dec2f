"""A file that stays open while parts of it are read, whatever becomes of its name meanwhile."""

from __future__ import annotations

import weakref
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Up to this many bytes, copying them takes less time than mapping them into memory.
_COPIED_BYTES = 64 << 10


class OpenFile:
    """A file opened once for many reads; closed when nobody holds this object any more.

    Args:
        path: The file.

    Attributes:
        path: The file's name at the time it was opened.
        stream: The file itself.

    Raises:
        OSError: It cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.stream: BinaryIO = path.open("rb")
        weakref.finalize(self, self.stream.close)

    def bytes_at(self, offset: int, size: int) -> NDArray[np.uint8]:
        """Return some of the file's bytes, read-only; many are mapped, so that only what is touched takes memory.

        Raises:
            ValueError: The file ends before them.
            OSError: They cannot be read.
        """
        if size > _COPIED_BYTES:
            return np.memmap(self.stream, np.uint8, mode="r", offset=offset, shape=(size,))
        self.stream.seek(offset)
        content = self.stream.read(size)
        if len(content) < size:
            raise ValueError(f"the file ends {size - len(content)} bytes too early")
        return np.frombuffer(content, np.uint8)
