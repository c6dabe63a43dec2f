"""Doing one thing with several runs at the same time, each in a thread and with its part of the cores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Generic, TypeVar

from polycmp.cores import all_cores, sharing_cores

Item = TypeVar("Item")
Made = TypeVar("Made")

#: Seconds that the other threads get to end by themselves where this one is interrupted.
_GRACE = 1.0


class AtOnce(Generic[Item]):
    """Calls a function for several items: at the same time where they may, else one after the other.

    Args:
        count: How many items there will be.
        concurrent: Whether the calls may overlap.

    Attributes:
        busy: Items whose calls were still going on when an interruption ended the wait for them.
    """

    def __init__(self, count: int, *, concurrent: bool) -> None:
        self._threads = min(count, all_cores()) if concurrent else 1
        self._pool: ThreadPoolExecutor | None = None
        self.busy: list[Item] = []

    @property
    def is_concurrent(self) -> bool:
        """Whether the calls overlap."""
        return self._threads > 1

    def map(self, function: Callable[[Item], Made], items: Sequence[Item]) -> Iterable[Made]:
        """Return what a function makes of each item, in their order; the first item's call runs in this thread.

        Args:
            function: Called once per item.
            items: Not empty.
        """
        if not self.is_concurrent:
            return map(function, items)

        def call(item: Item) -> Made:
            with sharing_cores(self._threads):
                return function(item)

        self._pool = self._pool or ThreadPoolExecutor(self._threads - 1, thread_name_prefix="polycmp-run")
        others = [self._pool.submit(call, item) for item in items[1:]]
        try:
            first = call(items[0])
            return [first, *(other.result() for other in others)]
        except BaseException:
            wait(others, timeout=_GRACE)
            self.busy = [item for item, other in zip(items[1:], others, strict=True) if not other.done()]
            raise

    def close(self) -> None:
        """Let the threads go, and wait for those that will end."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=not self.busy, cancel_futures=True)
