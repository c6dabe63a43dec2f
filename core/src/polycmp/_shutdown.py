"""Ending the process: without waiting for threads that a backend left running, and by signals as by Ctrl-C."""

from __future__ import annotations

import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from types import FrameType
from typing import Any

from polycmp._activity import HERE
from polycmp.files import discard_unfinished

#: How long threads left behind may take to end by themselves, and the main thread to notice a signal, in seconds. It
#: cannot while a library calculates.
THREADS_SECONDS = 1.0
NOTICE_SECONDS = 3.0
#: When a signal comes again that Python could not pass on.
AGAIN_SECONDS = 0.05
#: A signal to the whole process group reaches the command twice: by itself, and passed on. Within so many seconds a
#: second SIGINT counts as the same one, so that it does not cut short what the first one tidies up.
SAME_INTERRUPT_SECONDS = 1.0
#: CI systems send SIGTERM when a job is cancelled, SIGHUP comes when a terminal is closed. Windows has no SIGHUP.
ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


def abandon_threads(status: int) -> None:
    """Have this process, which is about to exit, not wait for threads that a backend has left behind.

    Python waits for all threads that are not daemons. Here they get a short time; what has been printed is printed
    whatever they do.

    Args:
        status: The exit status, if the threads do not end by themselves.
    """
    if _others():
        _later(THREADS_SECONDS, _exit, status)


def _others() -> bool:
    """Return whether there are threads that Python would wait for."""
    here = threading.current_thread()
    return any(not thread.daemon and thread is not here for thread in threading.enumerate())


def _later(seconds: float, function: Callable[..., Any], *args: Any) -> None:
    timer = threading.Timer(seconds, function, args)
    timer.daemon = True
    timer.start()


def _exit(status: int) -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
    os._exit(status)


def end_with(parent: int, number: int = signal.SIGKILL) -> None:
    """Have the system end this process when its parent ends, for whatever reason; on Linux only.

    Args:
        parent: The parent's process number.
        number: The signal that it gets then.
    """
    if sys.platform == "linux":
        import ctypes

        set_parent_death_signal = 1
        ctypes.CDLL(None).prctl(set_parent_death_signal, int(number))
        if os.getppid() != parent:  # it ended before this was said
            os._exit(128 + number)


class SignalReceived(KeyboardInterrupt):
    """A signal asked the command to end.

    Attributes:
        number: The signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


class InterruptOnce:
    """A handler of SIGINT that raises `KeyboardInterrupt`, but once for signals that come close together."""

    def __init__(self) -> None:
        self._last = -math.inf

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Raise `KeyboardInterrupt`, unless it was raised a moment ago."""
        before, self._last = self._last, time.monotonic()
        if self._last - before > SAME_INTERRUPT_SECONDS:
            signal.default_int_handler(number, frame)

    def forget(self) -> None:
        """Raise for the next signal, whenever it comes: nobody saw what was raised for the last one."""
        self._last = -math.inf


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let the signals raise `SignalReceived` in the main thread for the length of a block.

    A signal that is ignored stays so, as under `nohup`. A main thread that does not notice in time is not waited for:
    what is half written is removed, and the process ends with the status of the signal.
    """
    handled = [number for number in ENDING if signal.getsignal(number) == signal.SIG_DFL]
    if not handled or threading.current_thread() is not threading.main_thread():
        yield
        return
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    done = threading.Event()
    watch = threading.Thread(target=_watch, args=(reading, handled, done), daemon=True)
    watch.start()
    for number in handled:
        signal.signal(number, _raise)
    hook = sys.unraisablehook
    sys.unraisablehook = partial(_missed, hook)
    try:
        yield
    finally:
        done.set()
        sys.unraisablehook = hook
        for number in handled:
            signal.signal(number, signal.SIG_DFL)
        signal.set_wakeup_fd(before)
        os.write(writing, b"\0")  # closing alone is not noticed where a child has a copy
        os.close(writing)
        watch.join()


def _raise(number: int, _frame: FrameType | None) -> None:
    for each in ENDING:
        if signal.getsignal(each) is _raise:
            signal.signal(each, _ignore)  # the clean-up has begun; another signal must not cut it short
    raise SignalReceived(number)


def _missed(hook: Callable[[Any], Any], unraisable: Any) -> None:
    """Have a signal come again that came where Python lets nothing be raised, as in a destructor."""
    error = unraisable.exc_value
    interrupt = signal.getsignal(signal.SIGINT)
    if isinstance(error, SignalReceived):
        signal.signal(error.number, _raise)
        _later(AGAIN_SECONDS, os.kill, os.getpid(), error.number)
    elif isinstance(error, KeyboardInterrupt) and isinstance(interrupt, InterruptOnce):
        # Or the command would go on, and report its children, which the same Ctrl-C ended, as crashed.
        interrupt.forget()
        _later(AGAIN_SECONDS, os.kill, os.getpid(), signal.SIGINT)
    else:
        hook(unraisable)


def _ignore(_number: int, _frame: FrameType | None) -> None:
    """Do nothing; unlike SIG_IGN, child processes do not inherit it."""


def _watch(reading: int, handled: list[signal.Signals], done: threading.Event) -> None:
    with open(reading, "rb", buffering=0) as pipe:
        while (number := pipe.read(1)) and number != b"\0":
            if number[0] in handled and not done.wait(NOTICE_SECONDS):
                discard_unfinished()
                with suppress(OSError):  # as the main thread would have said
                    os.write(2, f"polycmp: ended by {signal.Signals(number[0]).name}\n".encode())
                HERE.ending(128 + number[0])
                os._exit(128 + number[0])
