"""SIGTERM and SIGHUP end a command as Ctrl-C does: files half written go, child processes end."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from polycmp.files import discard_unfinished

#: CI systems send SIGTERM when a job is cancelled, SIGHUP comes when a terminal is closed. Windows has no SIGHUP.
ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
#: How long the main thread may take to notice, in seconds. It cannot while a library calculates.
GRACE = 3.0


class Ended(KeyboardInterrupt):
    """A signal asked the command to end.

    Attributes:
        number: The signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let the signals raise `Ended` in the main thread for the length of a block.

    A signal that is ignored stays so, as under `nohup`. A main thread that does not notice in time is not waited for:
    what is half written is removed, and the process ends with the status that the signal stands for.
    """
    mine = [number for number in ENDING if signal.getsignal(number) == signal.SIG_DFL]
    if not mine or threading.current_thread() is not threading.main_thread():
        yield
        return
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    done = threading.Event()
    threading.Thread(target=_watch, args=(reading, mine, done), daemon=True).start()
    for number in mine:
        signal.signal(number, _raise)
    try:
        yield
    finally:
        done.set()
        for number in mine:
            signal.signal(number, signal.SIG_DFL)
        signal.set_wakeup_fd(before)
        os.close(writing)


def _raise(number: int, _frame: FrameType | None) -> None:
    for each in ENDING:
        if signal.getsignal(each) is _raise:
            signal.signal(each, _ignore)  # the clean-up has begun; another signal must not cut it short
    raise Ended(number)


def _ignore(_number: int, _frame: FrameType | None) -> None:
    """Do nothing; unlike SIG_IGN, child processes do not inherit it."""


def _watch(reading: int, mine: list[signal.Signals], done: threading.Event) -> None:
    with open(reading, "rb", buffering=0) as pipe:
        while number := pipe.read(1):
            if number[0] in mine and not done.wait(GRACE):
                discard_unfinished()
                with suppress(OSError):  # as the main thread would have said
                    os.write(2, f"polycmp: ended by {signal.Signals(number[0]).name}\n".encode())
                os._exit(128 + number[0])
