"""Running the program that is recorded, as if nobody were there."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from polycmp.errors import UsageError, describe_exception
from polycmp.process import callers_environment
from polycmp_record import startup
from polycmp_record.startup.polycmp_record_hook import VARIABLE
from polycmp_record.startup.polycmp_record_hook.spool import Settings

_PATH = "PYTHONPATH"


def environment(settings: Settings) -> dict[str, str]:
    """Return the environment of a program that is to be recorded."""
    variables = callers_environment()
    place = str(Path(startup.__file__).parent)
    variables[_PATH] = os.pathsep.join(filter(None, (place, variables.get(_PATH))))
    variables[VARIABLE] = settings.to_text()
    return variables


def run(words: Sequence[str], variables: Mapping[str, str]) -> int:
    """Run a program to its end and return its exit status; 128 and the signal's number after a signal, as shells do.

    Raises:
        UsageError: There is no such program.
    """
    try:
        program = subprocess.Popen(words, env=variables)
    except OSError as error:
        file = Path(words[0])
        script = file.suffix == ".py" and file.is_file() and shutil.which(words[0]) is None
        raise UsageError(
            f"cannot start {words[0]}",
            why=describe_exception(error),
            hint=f"polycmp record -- python {words[0]}" if script else "name a program as a shell would find it",
        ) from error
    status = _wait(program)
    return status if status >= 0 else 128 - status


def _wait(program: subprocess.Popen[bytes]) -> int:
    try:
        return program.wait()
    except KeyboardInterrupt:  # the terminal told the program, too, which decides what to do
        return _wait(program)
    except BaseException:  # this process has been asked to end
        program.terminate()
        program.wait()
        raise
