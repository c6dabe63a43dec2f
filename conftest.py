"""What concerns a whole session of tests, and each: commands in its process leave its messages as they were."""

from __future__ import annotations

import gc
from collections.abc import Generator

import pytest
from in_process import messages_as_before

__all__ = ["messages_as_before"]


def pytest_collection_finish() -> None:
    """Set what was collected aside: it stays to the end, so no collection of garbage need look through it again.

    There are 400,000 objects when all tests are collected. Each full collection, which tests of freed memory ask for,
    took 0.2 s, and a copy of this process that made one touched the memory of all of them.
    """
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True, wrapper=True)
def pytest_xdist_auto_num_workers() -> Generator[None, int, int]:
    """Have `-n auto` mean one process more than there are cores: tests wait for processes that hang or are ended."""
    return (yield) + 1
