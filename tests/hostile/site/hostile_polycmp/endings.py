"""Ways to end a call that are no ordinary error."""

from __future__ import annotations

import asyncio
import os
import sys
import time


class PanicException(BaseException):  # as Rust extensions raise it
    pass


class Unspeakable(Exception):
    def __str__(self):
        raise RuntimeError("no text either")


def _raise(error):
    raise error


def _recurse():
    return _recurse()


ENDINGS = {
    "exit": lambda: sys.exit(0),
    "exit_text": lambda: sys.exit("goodbye"),
    "panic": lambda: _raise(PanicException("the Rust side panicked")),
    "generator_exit": lambda: _raise(GeneratorExit()),
    "cancelled": lambda: _raise(asyncio.CancelledError("cancelled")),
    "stop": lambda: next(iter(())),
    "memory": lambda: _raise(MemoryError()),
    "recursion": _recurse,
    "unspeakable": lambda: _raise(Unspeakable()),
    "huge": lambda: _raise(RuntimeError("very long " * 500_000)),
    "surrogate": lambda: _raise(RuntimeError("no file called \udcff here")),
    "control": lambda: _raise(RuntimeError("\x1b[2Jcleared\x00 \x9b31m \u202ereversed \u2028line")),
    "interrupt": lambda: _raise(KeyboardInterrupt()),
    "os_exit": lambda: os._exit(0),
    "hang": lambda: time.sleep(1000),
}
