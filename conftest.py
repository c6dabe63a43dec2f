"""What concerns a whole session of tests, and each: commands in its process leave its messages as they were."""

from __future__ import annotations

import gc
from collections.abc import Generator
from importlib.util import find_spec

import pytest
from in_process import messages_as_before

__all__ = ["messages_as_before"]


def pytest_configure() -> None:
    """Give examples that are made up any time: hosts differ, and an example that took 17 ms took 250 once."""
    if find_spec("hypothesis") is not None:
        from hypothesis import settings

        settings.register_profile("any host", deadline=None)
        settings.load_profile("any host")


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
