"""ONNX Runtime's log messages through Python's logging, under the logger `polycmp.onnxrt`.

ONNX Runtime writes its messages itself to the process's standard error. Messages that are not wanted are therefore not
made in the first place; what is wanted is caught at the file descriptor and logged.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import sys
import threading
from collections.abc import Iterator
from typing import IO, Any

from polycmp.terminal import echo, visible

LOGGER = logging.getLogger("polycmp.onnxrt")

_FATAL_ONLY = 4
_WARNING, _INFO, _VERBOSE = logging.DEBUG, 7, 4
_LINE = re.compile(r"(?:\x1b\[[0-9;]*m)*\S+ \S+ \[(?P<level>[VIWEF]):onnxruntime:(?P<rest>.*)")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_LEVELS = {"V": _VERBOSE, "I": _INFO, "W": _WARNING, "E": logging.WARNING, "F": logging.ERROR}
_lock = threading.Lock()
_here = threading.local()


def severity() -> int:
    """Return the severity from which ONNX Runtime shall speak, by the level of the logger `polycmp.onnxrt`.

    Its warnings are about its own optimizations, so they come with `-v`, and lesser ones with more of it. Its errors
    reach people as exceptions.
    """
    for number, level in enumerate((_VERBOSE, _INFO, _WARNING)):
        if LOGGER.isEnabledFor(level):
            return number
    return _FATAL_ONLY


def session_severity() -> int:
    """Return the severity from which a session that is made now shall speak."""
    return 0 if getattr(_here, "records", False) else severity()


@contextlib.contextmanager
def recorded() -> Iterator[list[str]]:
    """Give a list that holds, after the block, what sessions that this thread makes in it have said, of any severity.

    None of it is logged; other text is passed on as it is.
    """
    lines: list[str] = []
    import tempfile

    with _lock, tempfile.TemporaryFile() as file:
        _here.captures = _here.records = True
        try:
            with _standard_error_into(file):
                yield lines
        finally:
            _here.captures = _here.records = False
        file.seek(0)
        for line in file.read().decode("utf-8", "replace").splitlines():
            match = _LINE.match(line)
            if match:
                lines.append(_COLOUR.sub("", match["rest"]))
            else:
                _pass_on(line)


@contextlib.contextmanager
def captured() -> Iterator[None]:
    """Log what ONNX Runtime writes to standard error meanwhile; other text is passed on as it is."""
    if severity() == _FATAL_ONLY or getattr(_here, "captures", False):
        yield
        return
    import tempfile

    # There is one standard error: what another session wrote after this block would reach the terminal as it is.
    with _lock, tempfile.TemporaryFile() as file:
        _here.captures = True
        try:
            with _standard_error_into(file):
                yield
        finally:
            _here.captures = False
        file.seek(0)
        _log(file.read().decode("utf-8", "replace"))


@contextlib.contextmanager
def _standard_error_into(file: IO[Any]) -> Iterator[None]:
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.flush()
    kept = os.dup(2)
    try:
        os.dup2(file.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _log(text: str) -> None:
    for line in text.splitlines():
        match = _LINE.match(line)
        if match:
            LOGGER.log(_LEVELS[match["level"]], "%s", _COLOUR.sub("", match["rest"]).strip(" ,"))
        else:
            _pass_on(line)


def _pass_on(line: str) -> None:
    if text := _COLOUR.sub("", line).rstrip():
        # Indented: names in a model may hold line breaks, and no line of ours may begin with what they say.
        echo(f"    {visible(text)}", err=True)
