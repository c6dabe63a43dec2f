"""A command in a process of its own, so that a crash in native code ends in words and with an exit status."""

from __future__ import annotations

import mmap
import os
import shlex
import signal
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

from polycmp import _activity as activity
from polycmp._environment import add_missing
from polycmp._shutdown import InterruptOnce, end_with
from polycmp.errors import EXIT_FAILED

#: Signals by which the system or a library ends a process whose code is at fault.
_CRASHES = tuple(
    getattr(signal, name)
    for name in ("SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGABRT", "SIGSYS", "SIGTRAP")
    if hasattr(signal, name)
)
#: Signals that are passed on to the command.
_PASSED_ON = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2") if hasattr(signal, name)
)
#: Commands that go on by themselves, with backends in processes of their own, and the option for that: the backends
#: that did not die still get an answer, and a second one that dies is named, too.
_GOES_ON = ("locate", "run")
_ISOLATED = "--use-subprocess"


def supervised(command: Callable[[], int], words: Sequence[str]) -> int:
    """Run a command in a child process and return its exit status; the child ends with this process.

    Where the system cannot copy processes, the command runs here. Its exit status is what it says itself at its end:
    another one is given by a library or a script that ends the process, and counts as a crash. After a crash one line
    says what was going on and what to type; `locate` and `run` are run again at once, with each backend in a process of
    its own.

    Args:
        command: Runs the command and returns its exit status; called in the child, where this function returns, too.
        words: The words after `polycmp`, for the message.
    """
    if not hasattr(os, "fork"):
        return command()
    page = mmap.mmap(-1, activity.SIZE)
    parent = os.getpid()
    passed_on = {number for number in _PASSED_ON if signal.getsignal(number) != signal.SIG_IGN}
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # where it is ignored, the system says nothing of children
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {*passed_on, signal.SIGCHLD})
    child = os.fork()
    if not child:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        end_with(parent)
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, InterruptOnce())
        # Each thread of NumPy's OpenBLAS would spin for a tenth of a second at its start, on cores that backends could
        # use: on 16 cores that was 1.8 s of the 3.1 s of processor time of a small comparison (benchmarks/README.md).
        # This process is polycmp's own, so nobody else's environment changes.
        add_missing({"OPENBLAS_THREAD_TIMEOUT": "4"})
        activity.HERE.share(page)
        status = command()
        activity.HERE.ending(status)
        return status
    status = _wait(child, passed_on)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    doing, told = activity.read(page)
    number = signal.Signals(-status) if status < 0 else None
    is_crash = number in _CRASHES or number == signal.SIGKILL
    if told is not None:
        if is_crash:
            _say(f"polycmp: the process died as it ended ({_how(status)}); what it said before that is complete")
        os._exit(told)  # nothing was done here that would have to be undone
    if is_crash or number is None:  # an exit status that the command did not give is no verdict
        return _after_death(command, status, doing, words)
    signal.signal(number, signal.SIG_DFL)  # it was asked to end by a signal, so this process ends by the same one
    os.kill(parent, number)
    return 128 + number


def _wait(child: int, passed_on: Iterable[int]) -> int:
    """Pass signals on to a process until it ends, and return its exit status, negative for a signal."""
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        number, from_terminal = _next_signal({*passed_on, signal.SIGCHLD})
        if number != signal.SIGCHLD and not from_terminal:
            with suppress(ProcessLookupError):
                os.kill(child, number)


def _next_signal(numbers: set[int]) -> tuple[int, bool]:
    """Wait for a blocked signal; return it, and whether a terminal sent it, which reaches the child by itself."""
    if sys.platform == "darwin":  # it does not tell who sent a signal
        number = signal.sigwait(numbers)
        return number, number == signal.SIGINT and os.isatty(0)
    received = signal.sigwaitinfo(numbers)
    return received.si_signo, received.si_code > 0


def _how(status: int) -> str:
    """Return in words how a process ended."""
    if status >= 0:
        return f"exit status {status}: a library or a script ended the process"
    if status == -signal.SIGKILL:
        return "SIGKILL: killed by somebody, or by the system for lack of memory"
    return f"{signal.Signals(-status).name}: a crash in native code"


def _after_death(command: Callable[[], int], status: int, doing: Sequence[str], words: Sequence[str]) -> int:
    """Print what an end in the middle of the command interrupted, and return the exit status.

    Args:
        command: Runs the command.
        status: How the process ended, negative for a signal.
        doing: Activities at that moment, in words.
        words: The words of the command.
    """
    during = ", and ".join(doing) or f"in polycmp {words[0]}"
    _say(f"polycmp: died {during} ({_how(status)})")
    if _ISOLATED in words or not doing:
        return EXIT_FAILED
    if status != -signal.SIGKILL and words[0] in _GOES_ON:
        _say(f"  continuing with each backend in its own process ({_ISOLATED})")
        again = [*words, _ISOLATED]
        sys.argv[1:] = again
        return supervised(command, again)
    _say(f"  next: {shlex.join(['polycmp', *words, _ISOLATED])}")
    return EXIT_FAILED


def _say(text: str) -> None:
    from polycmp.terminal import visible

    with suppress(OSError):
        os.write(2, f"{visible(text)}\n".encode("utf-8", "backslashreplace"))
