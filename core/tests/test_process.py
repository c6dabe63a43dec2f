"""Processes that answer messages: what they say, how they end, and that nothing of them is left."""

from __future__ import annotations

import os
import sys
import threading
import time

import pytest

from polycmp.process import ChildProcess

CHILD = """
import os, sys
from polycmp.process import Connection

def main(arguments):
    connection = Connection(int(arguments[0]))
    while (message := connection.receive()) is not None:
        print("asked for", message["what"])
        if message["what"] == "signal":
            os.kill(os.getpid(), 6)
        connection.send({"answer": message["what"] * 2})
"""
linux = pytest.mark.skipif(sys.platform != "linux", reason="descriptors are counted in /proc")


@pytest.fixture
def start(tmp_path):
    (tmp_path / "answering.py").write_text(CHILD)
    return lambda **words: ChildProcess("answering", path=[str(tmp_path), *sys.path], **words)


def test_it_answers_and_what_it_prints_is_heard(start):
    printed = []
    child = start(on_stderr=printed.append)
    child.send({"what": "a"})
    assert child.receive() == {"answer": "aa"}
    child.close()
    assert printed == ["asked for a"]


def test_how_it_ended_is_told_with_its_last_line(start):
    child = start()
    child.send({"what": "signal"})
    assert child.receive() is None
    ending = child.ending()
    assert (str(ending), ending.last_line) == ("died with signal 6 (SIGABRT)", "asked for signal")
    child.close()


def test_nothing_is_left_of_it_though_what_it_printed_is_heard_slowly(start):
    """A command that starts one ends at once; whoever called it finds the threads that were there before."""
    before = threading.enumerate()
    child = start(on_stderr=lambda _: time.sleep(0.3))
    child.send({"what": "a"})
    child.receive()
    child.close()
    assert threading.enumerate() == before


@linux
def test_no_descriptor_is_left_of_it(start):
    before = len(os.listdir("/proc/self/fd"))
    start().close()
    assert len(os.listdir("/proc/self/fd")) == before
