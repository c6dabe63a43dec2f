"""Doing one thing with several runs at the same time, each in a thread and with its part of the cores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, Generic, TypeVar

from polycmp.runner import all_cores, sharing_cores

Item = TypeVar("Item")
Made = TypeVar("Made")

#: Seconds that the other threads get to end by themselves where this one is interrupted.
_GRACE = 1.0


class ParallelCalls(Generic[Item]):
    """Calls a function for several items: at the same time where they may, else one after the other.

    Args:
        count: Number of items.
        concurrent: Whether the calls may overlap.

    Attributes:
        busy: Items whose calls were still going on when an interruption ended the wait for them.
    """

    def __init__(self, count: int, *, concurrent: bool) -> None:
        self._threads = min(count, all_cores()) if concurrent else 1
        self._pool: ThreadPoolExecutor | None = None
        self._begun: dict[Future[Any], Item] = {}
        self.busy: list[Item] = []

    @property
    def is_concurrent(self) -> bool:
        """Whether the calls overlap."""
        return self._threads > 1

    def map(self, function: Callable[[Item], Made], items: Sequence[Item]) -> Iterable[Made]:
        """Map a function over items, in order; the call for the first runs in this thread.

        Args:
            function: Called once per item.
            items: Not empty.
        """
        if not self.is_concurrent:
            return map(function, items)
        others = self.begin(function, items[1:])
        try:
            return [self._call(function, items[0]), *others()]
        except BaseException:
            self._give_up()
            raise

    def begin(self, function: Callable[[Item], Made], items: Sequence[Item]) -> Callable[[], list[Made]]:
        """Start the calls in other threads, only where they may overlap, and return what waits for what they make.

        The calls for one item come one after the other, in the order in which they were begun.

        Args:
            function: Called once per item.
            items: The items; the function is called once for each.
        """
        self._pool = self._pool or ThreadPoolExecutor(self._threads, thread_name_prefix="polycmp-run")
        begun = []
        for item in items:
            before = [each for each, other in self._begun.items() if other is item]
            begun.append(self._pool.submit(self._call_after, before, function, item))
            self._begun[begun[-1]] = item

        def wait_for_them() -> list[Made]:
            try:
                results = [each.result() for each in begun]
            except BaseException:
                self._give_up()
                raise
            for each in begun:
                del self._begun[each]
            return results

        return wait_for_them

    def _call_after(self, before: list[Future[Any]], function: Callable[[Item], Made], item: Item) -> Made:
        wait(before)  # they are under way, as a pool begins its calls in their order
        return self._call(function, item)

    def _call(self, function: Callable[[Item], Made], item: Item) -> Made:
        with sharing_cores(self._threads):
            return function(item)

    def _give_up(self) -> None:
        running = [each for each in self._begun if not each.cancel()]
        self.busy = [self._begun[each] for each in wait(running, timeout=_GRACE).not_done]
        self._begun.clear()

    def close(self) -> None:
        """Let the threads go, and wait for those that will end."""
        if self._begun:
            self._give_up()
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=not self.busy, cancel_futures=True)
