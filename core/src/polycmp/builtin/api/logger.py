"""A thin face on the standard library's logging with the field's severities: `G_LOGGER`."""

from __future__ import annotations

import logging
import textwrap
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from types import MappingProxyType

from polycmp.errors import PolycmpError
from polycmp.messages import LETTERS, ROOT, SEVERITIES, LogFileHandler, StderrHandler, log_file_handler, logger_name

__all__ = ["G_LOGGER", "SEVERITIES", "LogMode", "Logger"]


class LogMode(Enum):
    """Policy for repeated messages: show each one, or the same one once."""

    EACH = 0
    ONCE = 1


Message = str | Callable[[], str]


class Logger:
    """Polygraphy's severities as methods on a standard logger.

    A message is text, or a function that makes it, called only if the message is shown. `mode` says whether to show a
    message again that was shown before.

    Args:
        logger: The logger underneath.
    """

    __slots__ = ("_callbacks", "_indent", "_logger", "_modules", "_python", "_shown")

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
    #: The letter that a message of each severity begins with.
    SEVERITY_LETTER_MAPPING = MappingProxyType({level: f"[{letter}]" for level, letter in LETTERS.items()})

    def __init__(self, logger: logging.Logger) -> None:
        self._logger = logger
        self._modules: dict[str, int] = {}
        self._python = False
        self._callbacks: list[Callable[[Mapping[str, int]], None]] = []
        self._shown: set[str] = set()
        self._indent = 0

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
        if not self._python and not self._logger.hasHandlers():
            self._logger.addHandler(StderrHandler())
        for module in self._modules:
            logging.getLogger(logger_name(module)).setLevel(logging.NOTSET)
        for module, level in wanted.items():
            logging.getLogger(logger_name(module)).setLevel(level)
        self._modules = {module: level for module, level in wanted.items() if module}
        for callback in self._callbacks:
            callback(self.module_severity)

    @property
    def use_python_logging_system(self) -> bool:
        """Whether messages are left to the handlers that the program itself has given to Python's logging."""
        return self._python

    @use_python_logging_system.setter
    def use_python_logging_system(self, value: bool) -> None:
        self._python = value
        for handler in [item for item in self._logger.handlers if isinstance(item, StderrHandler)]:
            self._logger.removeHandler(handler)
        if not value:
            self._logger.addHandler(StderrHandler())

    @property
    def log_file(self) -> str | None:
        """The file that messages are written to as well, emptied when it is set; None for none."""
        handlers = (item for item in self._logger.handlers if isinstance(item, LogFileHandler))
        return next((handler.baseFilename for handler in handlers), None)

    @log_file.setter
    def log_file(self, path: str | Path | None) -> None:
        new = None if path is None else log_file_handler(Path(path), ("no-colors",))
        for handler in [item for item in self._logger.handlers if isinstance(item, LogFileHandler)]:
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
        loggers = {name: logging.getLogger(logger_name(name)) for name in wanted}
        before = {name: logger.level for name, logger in loggers.items()}
        handler = None if self._logger.hasHandlers() else StderrHandler()
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

    @contextmanager
    def indent(self, level: int = 1) -> Iterator[Logger]:
        """Indent the messages of a `with` block; blocks inside each other add up.

        Args:
            level: Number of steps of four blanks.
        """
        self._indent += level
        try:
            yield self
        finally:
            self._indent -= level

    def log(
        self,
        message: Message,
        severity: int,
        mode: LogMode = LogMode.EACH,
        stack_depth: int = 2,
        error_ok: bool = False,
    ) -> None:
        """Log a message.

        Args:
            message: The text, or a function that makes it.
            severity: One of the constants of this class.
            mode: Whether to show a message again that was shown before.
            stack_depth: Number of callers between this method and the line that the message names as its origin.
            error_ok: Whether an error of the function that makes the message becomes the message.
        """
        if not self._logger.isEnabledFor(severity):
            return
        try:
            text = message() if callable(message) else message
        except Exception as error:
            if not error_ok:
                raise
            text = f"<no message: {error}>"
        if mode is LogMode.ONCE:
            if text in self._shown:
                return
            self._shown.add(text)
        self._logger.log(severity, "%s", textwrap.indent(text, " " * 4 * self._indent), stacklevel=stack_depth)

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
        """Log with severity CRITICAL, and raise the message: the program cannot go on.

        Raises:
            PolycmpError: Always.
        """
        text = message() if callable(message) else message
        self.log(text, self.CRITICAL, mode, 3)
        raise PolycmpError(text)


G_LOGGER = Logger(logging.getLogger(ROOT))
