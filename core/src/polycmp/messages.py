"""Logging: the standard library's, below the logger `polycmp`, with Polygraphy's severities.

Modules and plugins log to `logging.getLogger("polycmp.NAME")`. Nothing is shown below a warning until the command line
calls `setup_logging`, the program configures `logging` itself, or it asks for a severity through `G_LOGGER` of
`polycmp.logger`.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from polycmp.errors import FileError, UsageError, did_you_mean
from polycmp.files import cannot_write
from polycmp.terminal import PRINTED, Guarded, guarded, shorten, visible_lines

__all__ = [
    "LETTERS",
    "ROOT",
    "SEVERITIES",
    "LogFileHandler",
    "StderrHandler",
    "log_file_handler",
    "logger_name",
    "only_errors",
]

ROOT = "polycmp"

#: Severities by name, least important first. Those below VERBOSE differ from Polygraphy's numbers, because the
#: standard library has no levels below 1.
SEVERITIES = {
    "ULTRA_VERBOSE": 1,
    "SUPER_VERBOSE": 4,
    "EXTRA_VERBOSE": 7,
    "VERBOSE": logging.DEBUG,
    "INFO": logging.INFO,
    "START": 22,
    "FINISH": 28,
    "WARNING": logging.WARNING,
    "ERROR": logging.ERROR,
    "CRITICAL": logging.CRITICAL,
}
_BY_COUNT = list(SEVERITIES.values())
#: The letter of each severity.
LETTERS = {1: "U", 4: "S", 7: "X", 10: "V", 20: "I", 22: "I", 28: "I", 30: "W", 40: "E", 50: "!"}
_COLOURS = {"U": "90", "S": "90", "X": "90", "V": "90", "W": "33", "E": "31", "!": "1;31"}
_FORMATS = ("timestamp", "line-info", "no-colors")


class _Formatter(logging.Formatter):
    """Gives `[I] text`, with time, place and colour as asked for."""

    def __init__(self, parts: Sequence[str], colours: bool) -> None:
        super().__init__()
        self._parts = parts
        self._colours = colours

    def format(self, record: logging.LogRecord) -> str:
        if record.name == PRINTED.name:
            return guarded(record.getMessage())
        letter = LETTERS[max((level for level in LETTERS if level <= record.levelno), default=1)]
        prefix = f"[{letter}]"
        if "timestamp" in self._parts:
            prefix += f"[{self.formatTime(record, '%Y-%m-%d %H:%M:%S')}.{int(record.msecs):03d}]"
        if "line-info" in self._parts:
            prefix += f"[{record.name}, {record.filename}:{record.lineno}]"
        text = f"{prefix} {visible_lines(shorten(record.getMessage()), '    ')}"
        if record.exc_info:
            text += "\n" + visible_lines(self.formatException(record.exc_info), "    ")
        colour = _COLOURS.get(letter) if self._colours else None
        text = guarded(text)
        return f"\x1b[{colour}m{text}\x1b[0m" if colour else text


class StderrHandler(logging.Handler):
    """Writes to a stream, or to the current `sys.stderr`, which tests and notebooks replace."""

    def __init__(self, parts: Sequence[str] = (), stream: TextIO | None = None) -> None:
        super().__init__()
        self._parts = parts
        self._stream = stream

    def emit(self, record: logging.LogRecord) -> None:
        """Write one message."""
        stream = self._stream or sys.stderr
        try:
            text = _Formatter(self._parts, _wants_colours(stream, self._parts)).format(record)
            out = Guarded(stream)
            out.write(text + "\n")
            out.flush()
        except (FileError, OSError, ValueError, TypeError, KeyError):
            self.handleError(record)


class LogFileHandler(logging.FileHandler):
    """Writes to the file of `--log-file`."""


def _wants_colours(stream: TextIO, parts: Sequence[str]) -> bool:
    if "no-colors" in parts or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return bool(getattr(stream, "isatty", lambda: False)())


def setup_logging(
    verbose: int = 0,
    quiet: int = 0,
    verbosity: Sequence[str] = (),
    silent: bool = False,
    *,
    log_format: Sequence[str] = (),
    log_file: str | None = None,
    stream: TextIO | None = None,
) -> None:
    """Arrange what is logged, and where, as the command line asks; a second call replaces the first one's doing.

    Args:
        verbose: Number of `-v` on the command line.
        quiet: Number of `-q` on the command line.
        verbosity: `LEVEL` for everything, or `MODULE:LEVEL` for one module (`onnxrt`, `session`, …); the most specific
            module wins, and `LEVEL` wins over `-v` and `-q`.
        silent: Show critical messages only, whatever the other options say.
        log_format: Any of `timestamp`, `line-info`, `no-colors`.
        log_file: Also write to this file, which is emptied, and what commands print; missing folders are made.
        stream: Stream to write to; None means `sys.stderr`, never standard output.

    Raises:
        UsageError: A level or format is unknown.
        FileError: The log file cannot be written.
    """
    for part in log_format:
        if part not in _FORMATS:
            raise UsageError(f"--log-format: unknown value {part!r}", why=did_you_mean(part, _FORMATS))
    levels = _levels(verbose - quiet, verbosity, silent)
    handlers: list[logging.Handler] = [StderrHandler(log_format, stream)]
    if log_file:
        handlers.append(log_file_handler(Path(log_file), log_format))
    root = logging.getLogger(ROOT)
    for logger in (root, PRINTED):
        for old in list(logger.handlers):
            if isinstance(old, StderrHandler | LogFileHandler):
                logger.removeHandler(old)
                old.close()
    for name in [name for name in logging.root.manager.loggerDict if name.startswith(ROOT + ".")]:
        logging.getLogger(name).setLevel(logging.NOTSET)
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)
    PRINTED.propagate = False
    PRINTED.setLevel(logging.INFO if log_file else logging.NOTSET)
    for handler in handlers:
        root.addHandler(handler)
        if isinstance(handler, LogFileHandler):
            PRINTED.addHandler(handler)


@contextmanager
def restored_logging() -> Iterator[None]:
    """Undo after a block what `setup_logging` arranged in it."""
    before = {logger: (logger.level, logger.propagate, logger.handlers[:]) for logger in _loggers()}
    try:
        yield
    finally:
        for logger in _loggers():
            level, propagate, handlers = before.get(logger, (logging.NOTSET, True, []))
            for handler in logger.handlers:
                if handler not in handlers:
                    handler.close()
            logger.setLevel(level)
            logger.propagate, logger.handlers[:] = propagate, handlers


def _loggers() -> list[logging.Logger]:
    """Return the loggers of polycmp and its plugins that anyone has asked for."""
    names = [name for name in logging.root.manager.loggerDict if name.startswith(ROOT + ".")]
    return [logging.getLogger(ROOT), PRINTED, *map(logging.getLogger, names)]


def _levels(count: int, verbosity: Sequence[str], silent: bool) -> dict[str, int]:
    position = min(max(_BY_COUNT.index(logging.INFO) - count, 0), len(_BY_COUNT) - 1)
    levels = {ROOT: _BY_COUNT[position]}
    for item in verbosity:
        module, _, level = item.rpartition(":")
        levels[logger_name(module)] = _parse_severity(level)
    return {ROOT: logging.CRITICAL} if silent else levels


def logger_name(module: str) -> str:
    """Return the logger of a module as users call it: `onnxrt` for `polycmp.onnxrt`."""
    name = module.strip().replace("/", ".").removesuffix(".py").strip(".")
    if not name or name == ROOT or name.startswith(ROOT + "."):
        return name or ROOT
    return f"{ROOT}.{name.removeprefix('polycmp_')}"


def _parse_severity(name: str) -> int:
    """Return the level of a severity's name, in any case.

    Raises:
        UsageError: There is no such severity.
    """
    level = SEVERITIES.get(name.strip().upper())
    if level is None:
        raise UsageError(f"--verbosity: unknown level {name!r}", why=did_you_mean(name.upper(), SEVERITIES))
    return level


def log_file_handler(path: Path, parts: Sequence[str]) -> logging.Handler:
    """Make the handler that writes messages into a file, which is emptied first.

    Raises:
        FileError: The file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handler = LogFileHandler(path, mode="w", encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise cannot_write(path, error, "cannot write the log file") from error
    handler.setFormatter(_Formatter(parts, colours=False))
    return handler


@contextmanager
def only_errors(*, unless: bool = False, of_thread: bool = False) -> Iterator[None]:
    """Show nothing below an error for the length of a block, except to those who asked for more than usual.

    Args:
        unless: Show everything all the same.
        of_thread: Hold back only what this thread logs.
    """
    root = logging.getLogger(ROOT)
    if unless or _threads.is_quiet or root.getEffectiveLevel() < logging.INFO:
        yield
    elif of_thread:
        with _threads.held_back():
            yield
    else:
        before = root.level
        root.setLevel(max(logging.ERROR, root.getEffectiveLevel()))
        try:
            yield
        finally:
            root.setLevel(before)


class _Threads(logging.Filter):
    """Refuses what some threads log below an error; polycmp's loggers have it only while there are such threads."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._quiet: set[int] = set()
        self._filtered: set[logging.Logger] = set()

    @property
    def is_quiet(self) -> bool:
        """Whether this thread is one of them."""
        return threading.get_ident() in self._quiet

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a record is shown; it is looked at in the thread that logs it."""
        return record.levelno >= logging.ERROR or not self.is_quiet

    @contextmanager
    def held_back(self) -> Iterator[None]:
        """Make this thread one of them for the length of a block."""
        with self._lock:
            self._quiet.add(threading.get_ident())
            # A record passes the filters of the logger that it was given to, not those of the loggers above it.
            for logger in {logging.getLogger(name) for name in _names()} - self._filtered:
                logger.addFilter(self)
                self._filtered.add(logger)
        try:
            yield
        finally:
            with self._lock:
                self._quiet.remove(threading.get_ident())
                while not self._quiet and self._filtered:
                    self._filtered.pop().removeFilter(self)


def _names() -> list[str]:
    return [name for name in list(logging.root.manager.loggerDict) if name == ROOT or name.startswith(f"{ROOT}.")]


_threads = _Threads()
