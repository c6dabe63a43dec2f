"""Logging: the standard library's, below the logger `polycmp`, and a thin face on it with the field's severities.

Modules and plugins log to `logging.getLogger("polycmp.NAME")`. Nothing is shown below a warning until the command line
calls `setup_logging`, the program configures `logging` itself, or it asks for a severity through `G_LOGGER`.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import TextIO

from polycmp.errors import FileError, UsageError, describe_exception, did_you_mean
from polycmp.terminal import PRINTED, Guarded, guarded, shorten, visible_lines

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
_LETTERS = {1: "U", 4: "S", 7: "X", 10: "V", 20: "I", 22: "I", 28: "I", 30: "W", 40: "E", 50: "!"}
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
        letter = _LETTERS[max((level for level in _LETTERS if level <= record.levelno), default=1)]
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


class _StderrHandler(logging.Handler):
    """Writes to a stream, or to whatever `sys.stderr` is at the time, which tests and notebooks replace."""

    def __init__(self, parts: Sequence[str] = (), stream: TextIO | None = None) -> None:
        super().__init__()
        self._parts = parts
        self._stream = stream

    def emit(self, record: logging.LogRecord) -> None:
        stream = self._stream or sys.stderr
        try:
            text = _Formatter(self._parts, _wants_colours(stream, self._parts)).format(record)
            out = Guarded(stream)
            out.write(text + "\n")
            out.flush()
        except (FileError, OSError, ValueError, TypeError, KeyError):
            self.handleError(record)


class _LogFileHandler(logging.FileHandler):
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
        verbose: How often `-v` was given.
        quiet: How often `-q` was given.
        verbosity: `LEVEL` for everything, or `MODULE:LEVEL` for one module (`onnxrt`, `session`, …); the most specific
            module wins, and `LEVEL` wins over `-v` and `-q`.
        silent: Show critical messages only, whatever else is said.
        log_format: Any of `timestamp`, `line-info`, `no-colors`.
        log_file: Also write to this file, which is emptied, and what commands print; missing folders are made.
        stream: Where to write; None means `sys.stderr`, never standard output.

    Raises:
        UsageError: A level or format is unknown.
        FileError: The log file cannot be written.
    """
    for part in log_format:
        if part not in _FORMATS:
            raise UsageError(f"--log-format: unknown value {part!r}", why=did_you_mean(part, _FORMATS))
    levels = _levels(verbose - quiet, verbosity, silent)
    handlers: list[logging.Handler] = [_StderrHandler(log_format, stream)]
    if log_file:
        handlers.append(_log_file_handler(Path(log_file), log_format))
    root = logging.getLogger(ROOT)
    for logger in (root, PRINTED):
        for old in list(logger.handlers):
            if isinstance(old, _StderrHandler | _LogFileHandler):
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
        if isinstance(handler, _LogFileHandler):
            PRINTED.addHandler(handler)


def _levels(count: int, verbosity: Sequence[str], silent: bool) -> dict[str, int]:
    position = min(max(_BY_COUNT.index(logging.INFO) - count, 0), len(_BY_COUNT) - 1)
    levels = {ROOT: _BY_COUNT[position]}
    for item in verbosity:
        module, _, level = item.rpartition(":")
        levels[_logger_name(module)] = parse_severity(level)
    return {ROOT: logging.CRITICAL} if silent else levels


def _logger_name(module: str) -> str:
    name = module.strip().replace("/", ".").removesuffix(".py").strip(".")
    if not name or name == ROOT or name.startswith(ROOT + "."):
        return name or ROOT
    return f"{ROOT}.{name.removeprefix('polycmp_')}"


def parse_severity(name: str) -> int:
    """Return the level of a severity's name, in whatever case.

    Raises:
        UsageError: There is no such severity.
    """
    level = SEVERITIES.get(name.strip().upper())
    if level is None:
        raise UsageError(f"--verbosity: unknown level {name!r}", why=did_you_mean(name.upper(), SEVERITIES))
    return level


def _log_file_handler(path: Path, parts: Sequence[str]) -> logging.Handler:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handler = _LogFileHandler(path, mode="w", encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise FileError(
            "cannot write the log file", whose=str(path), why=describe_exception(error), hint=f"ls -ld {path.parent}"
        ) from error
    handler.setFormatter(_Formatter(parts, colours=False))
    return handler


class LogMode(Enum):
    """How often the same message is shown."""

    EACH = 0
    ONCE = 1


Message = str | Callable[[], str]


class Logger:
    """The severities of the field as methods on a standard logger.

    A message is text, or a function that makes it, called only if the message is shown. `mode` says whether to show a
    message again that was shown before.

    Args:
        logger: The logger underneath.
    """

    __slots__ = ("_callbacks", "_logger", "_modules", "_shown")

    ULTRA_VERBOSE = SEVERITIES["ULTRA_VERBOSE"]
    SUPER_VERBOSE = SEVERITIES["SUPER_VERBOSE"]
    EXTRA_VERBOSE = SEVERITIES["EXTRA_VERBOSE"]
    VERBOSE = SEVERITIES["VERBOSE"]
    INFO = SEVERITIES["INFO"]
    START = SEVERITIES["START"]
    FINISH = SEVERITIES["FINISH"]
    WARNING = SEVERITIES["WARNING"]
    ERROR = SEVERITIES["ERROR"]
    CRITICAL = SEVERITIES["CRITICAL"]

    def __init__(self, logger: logging.Logger) -> None:
        self._logger = logger
        self._modules: dict[str, int] = {}
        self._callbacks: list[Callable[[Mapping[str, int]], None]] = []
        self._shown: set[str] = set()

    @property
    def severity(self) -> int:
        """The least important severity that is shown; setting it also makes sure that something shows messages."""
        return self._logger.getEffectiveLevel()

    @severity.setter
    def severity(self, level: int) -> None:
        self.module_severity = {**self._modules, "": level}

    @property
    def module_severity(self) -> Mapping[str, int]:
        """The least important severity by module (`onnxrt`, `session`, …), that of all others under the name `""`.

        A number alone may be set, too, and is that of all modules. Setting it makes sure that something shows messages.
        """
        return {**self._modules, "": self.severity}

    @module_severity.setter
    def module_severity(self, value: int | Mapping[str, int]) -> None:
        wanted = {"": value} if isinstance(value, int) else {"": self.INFO, **value}
        if not self._logger.hasHandlers():
            self._logger.addHandler(_StderrHandler())
        for module in self._modules:
            logging.getLogger(_logger_name(module)).setLevel(logging.NOTSET)
        for module, level in wanted.items():
            logging.getLogger(_logger_name(module)).setLevel(level)
        self._modules = {module: level for module, level in wanted.items() if module}
        for callback in self._callbacks:
            callback(self.module_severity)

    @property
    def log_file(self) -> str | None:
        """The file that messages are written to as well, emptied when it is set; None for none."""
        handlers = (item for item in self._logger.handlers if isinstance(item, _LogFileHandler))
        return next((handler.baseFilename for handler in handlers), None)

    @log_file.setter
    def log_file(self, path: str | Path | None) -> None:
        new = None if path is None else _log_file_handler(Path(path), ("no-colors",))
        for handler in [item for item in self._logger.handlers if isinstance(item, _LogFileHandler)]:
            self._logger.removeHandler(handler)
            handler.close()
        if new is not None:
            self._logger.addHandler(new)

    def register_callback(self, callback: Callable[[Mapping[str, int]], None]) -> None:
        """Call a function with `module_severity` now, and whenever it is set.

        Args:
            callback: The function.
        """
        callback(self.module_severity)
        self._callbacks.append(callback)

    @contextmanager
    def verbosity(self, severity: int | Mapping[str, int] = SEVERITIES["CRITICAL"]) -> Iterator[Logger]:
        """Change the severity for the length of a `with` block.

        Args:
            severity: The least important severity to show, or one by module; by default critical messages only.
        """
        wanted = {"": severity} if isinstance(severity, int) else dict(severity)
        loggers = {name: logging.getLogger(_logger_name(name)) for name in wanted}
        before = {name: logger.level for name, logger in loggers.items()}
        handler = None if self._logger.hasHandlers() else _StderrHandler()
        if handler is not None:
            self._logger.addHandler(handler)
        for name, logger in loggers.items():
            logger.setLevel(wanted[name])
        try:
            yield self
        finally:
            for name, logger in loggers.items():
                logger.setLevel(before[name])
            if handler is not None:
                self._logger.removeHandler(handler)

    def log(self, message: Message, severity: int, mode: LogMode = LogMode.EACH, stack_depth: int = 2) -> None:
        """Log a message.

        Args:
            message: The text, or a function that makes it.
            severity: One of the constants of this class.
            mode: Whether to show a message again that was shown before.
            stack_depth: How many calls up the line lies that the message is said to come from.
        """
        if not self._logger.isEnabledFor(severity):
            return
        text = message() if callable(message) else message
        if mode is LogMode.ONCE:
            if text in self._shown:
                return
            self._shown.add(text)
        self._logger.log(severity, "%s", text, stacklevel=stack_depth)

    def ultra_verbose(self, message: Message, mode: LogMode = LogMode.EACH) -> None:
        """Log with severity ULTRA_VERBOSE."""
        self.log(message, self.ULTRA_VERBOSE, mode, 3)

    def super_verbose(self, message: Message, mode: LogMode = LogMode.EACH) -> None:
        """Log with severity SUPER_VERBOSE."""
        self.log(message, self.SUPER_VERBOSE, mode, 3)

    def extra_verbose(self, message: Message, mode: LogMode = LogMode.EACH) -> None:
        """Log with severity EXTRA_VERBOSE."""
        self.log(message, self.EXTRA_VERBOSE, mode, 3)

    def verbose(self, message: Message, mode: LogMode = LogMode.EACH) -> None:
        """Log with severity VERBOSE."""
        self.log(message, self.VERBOSE, mode, 3)

    def info(self, message: Message, mode: LogMode = LogMode.EACH) -> None:
        """Log with severity INFO."""
        self.log(message, self.INFO, mode, 3)

    def start(self, message: Message, mode: LogMode = LogMode.EACH) -> None:
        """Log the beginning of a step."""
        self.log(message, self.START, mode, 3)

    def finish(self, message: Message, mode: LogMode = LogMode.EACH) -> None:
        """Log the end of a step."""
        self.log(message, self.FINISH, mode, 3)

    def warning(self, message: Message, mode: LogMode = LogMode.EACH) -> None:
        """Log with severity WARNING."""
        self.log(message, self.WARNING, mode, 3)

    def error(self, message: Message, mode: LogMode = LogMode.EACH) -> None:
        """Log with severity ERROR."""
        self.log(message, self.ERROR, mode, 3)

    def critical(self, message: Message, mode: LogMode = LogMode.EACH) -> None:
        """Log with severity CRITICAL; nothing is raised."""
        self.log(message, self.CRITICAL, mode, 3)


G_LOGGER = Logger(logging.getLogger(ROOT))
