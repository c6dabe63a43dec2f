"""Record of the current activity of each backend, kept where the parent process can read it after a crash.

Native code may end a process at any time without a word. The process that waits for it (`polycmp._supervisor`) gives it
memory that both share, and this module records there what is going on.
"""

from __future__ import annotations

import json
import mmap
import threading
from collections.abc import Iterator
from contextlib import contextmanager

#: Bytes of the shared memory, and of the number of those in use at its beginning.
SIZE = 1 << 16
_HEAD = 4
#: Activities that are kept, and characters of one; together they fit.
_MOST, _LONGEST = 16, 500


class Record:
    """Activities of the threads of a process, in memory that another process may read.

    Args:
        page: The memory, `SIZE` bytes; without it nothing is kept.
    """

    def __init__(self, page: mmap.mmap | None = None) -> None:
        self._page = page
        self._doing: dict[int, str] = {}
        self._lock = threading.Lock()

    def share(self, page: mmap.mmap) -> None:
        """Keep it in this memory from now on."""
        self._page = page

    @contextmanager
    def doing(self, what: str) -> Iterator[None]:
        """Note what this thread does for the length of a block.

        Args:
            what: In words that end a sentence: `onnxrt while it was activated`.
        """
        if self._page is None:
            yield
            return
        here = threading.get_ident()
        before = self._doing.get(here)
        self._set(here, what)
        try:
            yield
        finally:
            self._set(here, before)

    def ending(self, status: int) -> None:
        """Note that the work is done, and with which exit status."""
        with self._lock:
            self._doing.clear()  # what is left there is over, and must not keep the status from being written
            self._write(status)

    def _set(self, thread: int, what: str | None) -> None:
        with self._lock:
            if what is None:
                self._doing.pop(thread, None)
            else:
                self._doing[thread] = what
            self._write(None)

    def _write(self, status: int | None) -> None:
        if self._page is None:
            return
        doing = [text[:_LONGEST] for text in [*self._doing.values()][-_MOST:]]
        content = json.dumps({"doing": doing, "status": status}).encode()
        if len(content) + _HEAD <= SIZE:
            self._page[: _HEAD + len(content)] = len(content).to_bytes(_HEAD, "little") + content


def read(page: mmap.mmap) -> tuple[list[str], int | None]:
    """Read the activities of another process' threads, and its exit status if it had finished.

    Args:
        page: The memory that it shares.
    """
    size = int.from_bytes(page[:_HEAD], "little")
    try:
        record = json.loads(page[_HEAD : _HEAD + size])
        return [str(item) for item in record["doing"]], record["status"]
    except (ValueError, TypeError, KeyError):  # it ended while it wrote, or before it wrote anything
        return [], None


#: Of this process. Nothing is kept unless a supervisor shares memory with it.
HERE = Record()
