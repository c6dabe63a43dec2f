"""Processes that are copies of this one."""

from __future__ import annotations

import gc
import os

import pytest

from polycmp.process import Connection, CopiedProcess


class Session:
    """An object that refers to itself, and whose end takes its own process: a native library's waits for threads."""

    def __init__(self) -> None:
        self.session, self.process = self, os.getpid()

    def __del__(self) -> None:
        if os.getpid() != self.process:
            os._exit(9)


@pytest.mark.skipif(not CopiedProcess.can_copy(), reason="this system makes no copies of processes")
def test_a_copy_collects_nothing_that_waited_for_it_in_this_process():
    def answer(connection: Connection) -> None:
        gc.collect()
        connection.send({"collected": True})

    gc.disable()
    try:
        Session()
        copy = CopiedProcess(answer)
    finally:
        gc.enable()
    assert copy.receive(30.0) == {"collected": True}
    copy.close()
