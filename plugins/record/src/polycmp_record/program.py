"""Running the program that is recorded, as if nobody were there."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import FrameType

from polycmp.errors import UsageError, describe_exception
from polycmp.process import callers_environment, end_with
from polycmp_record import startup
from polycmp_record.startup.polycmp_record_hook import VARIABLE
from polycmp_record.startup.polycmp_record_hook.spool import RecordingSettings

_PATH = "PYTHONPATH"
_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


def environment(settings: RecordingSettings) -> dict[str, str]:
    """Return the environment of a program that is to be recorded."""
    variables = callers_environment()
    place = str(Path(startup.__file__).parent)
    variables[_PATH] = os.pathsep.join(filter(None, (place, variables.get(_PATH))))
    variables[VARIABLE] = settings.to_text(variables.get(VARIABLE, "[]"))
    return variables


def run(words: Sequence[str], variables: Mapping[str, str]) -> int:
    """Run a program to its end and return its exit status; 128 and the signal's number after a signal, as shells do.

    Raises:
        UsageError: There is no such program.
    """
    try:
        # Not SIGKILL, by which polycmp's own processes end: a program of the user may have something to save.
        ends = partial(end_with, os.getpid(), signal.SIGTERM) if sys.platform == "linux" else None
        program = subprocess.Popen(words, env=variables, preexec_fn=ends)  # noqa: PLW1509 - no thread holds a lock now
    except OSError as error:
        file = Path(words[0])
        script = file.suffix == ".py" and file.is_file() and shutil.which(words[0]) is None
        raise UsageError(
            f"cannot start {words[0]}",
            why=describe_exception(error),
            hint=f"polycmp record -- python {words[0]}" if script else "name a program as a shell would find it",
        ) from error
    with _signals_for(program):
        status = program.wait()
    return status if status >= 0 else 128 - status


@contextmanager
def _signals_for(program: subprocess.Popen[bytes]) -> Iterator[None]:
    """Leave it to the program what signals mean, for the length of a block: what it has given is kept when it ends.

    Ctrl-C reaches it by the terminal; what asks this process alone to end is passed on.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def pass_on(number: int, _: FrameType | None) -> None:
        if number != signal.SIGINT:
            program.send_signal(number)

    wakeup = signal.set_wakeup_fd(-1)  # by which polycmp notices signals, and ends
    numbers = [number for number in _SIGNALS if signal.getsignal(number) not in {None, signal.SIG_IGN}]
    before = {number: signal.signal(number, pass_on) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(wakeup)
