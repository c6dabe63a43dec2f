"""The errors people see: what happened, whose fault it is, why, and the next command to type."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from types import TracebackType

__all__ = [
    "EXIT_DIFFERENT",
    "EXIT_FAILED",
    "EXIT_OK",
    "EXIT_USAGE",
    "BackendError",
    "ComparisonError",
    "DataError",
    "FileError",
    "InvalidValueError",
    "ModelError",
    "OthersCode",
    "PluginError",
    "PolycmpError",
    "UsageError",
    "WorkerError",
    "describe_exception",
    "did_you_mean",
    "error_from_json",
    "error_to_json",
    "hide_passwords",
    "is_users_failure",
]

EXIT_OK = 0
EXIT_DIFFERENT = 1
EXIT_USAGE = 2
EXIT_FAILED = 3


class PolycmpError(Exception):
    """Base of every error that polycmp raises on purpose.

    Attributes:
        what: One sentence that says what went wrong.
        whose: The plugin, backend, file or option that it belongs to; empty when `what` already says so.
        why: The cause, often the text of the exception underneath.
        hint: The next step for the user, best of all a command to type.
        exit_code: The exit status of the command line for this error.
    """

    exit_code = EXIT_FAILED

    def __init__(self, what: str, *, whose: str = "", why: str = "", hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.whose = whose
        self.why = why
        self.hint = hint

    def __str__(self) -> str:
        return "\n".join(self.parts())

    def parts(self) -> list[str]:
        """Return the error's parts, a line each unless a text holds line breaks: what, why, and what to do next."""
        parts = [f"{self.whose}: {self.what}" if self.whose else self.what]
        if self.why:
            parts.append(f"  why:  {self.why}")
        if self.hint:
            parts.append(f"  next: {self.hint}")
        return parts

    def __reduce__(self) -> tuple[object, ...]:
        # Keyword-only arguments do not survive the default pickling, and workers send errors across processes.
        return (_rebuild, (type(self), self.what, self.whose, self.why, self.hint))


def _rebuild(cls: type[PolycmpError], what: str, whose: str, why: str, hint: str) -> PolycmpError:
    return cls(what, whose=whose, why=why, hint=hint)


class UsageError(PolycmpError):
    """Options, names or values that cannot be right with any backend (exit 2).

    What was typed stands in it, with passwords hidden.
    """

    exit_code = EXIT_USAGE

    def __init__(self, what: str, *, whose: str = "", why: str = "", hint: str = "") -> None:
        what, whose, why, hint = map(hide_passwords, (what, whose, why, hint))
        super().__init__(what, whose=whose, why=why, hint=hint)


class InvalidValueError(UsageError, ValueError):
    """A value in a Python program that cannot be right; also a `ValueError`, as Python programs expect."""


class PluginError(PolycmpError):
    """A plugin that was asked for is missing, broken, excluded, or lacks what it needs here: a module, a device."""


class ModelError(PolycmpError):
    """A model file that cannot be read, understood, or turned into the form a backend takes."""


class BackendError(PolycmpError):
    """A backend that failed while it was activated, fed, run or closed."""


class WorkerError(BackendError):
    """A process that a backend ran in and that crashed, hung, or was killed."""


class DataError(PolycmpError):
    """Input data that is missing, unreadable, or does not fit the model."""


class FileError(PolycmpError):
    """A file of inputs, outputs, metrics or settings that cannot be read or written."""


class ComparisonError(PolycmpError):
    """Nothing could be compared, although a comparison was asked for."""


#: A user and a password before a machine's name, in an address or as a key's value; and what an address asks for.
_PASSWORD = re.compile(r"(://|[='\"])([^\s:/@,='\"]*):[^\s/,]*@")
_QUERY = re.compile(r"(://[^\s,?]*\?)[^\s,\]'\"]+")


def hide_passwords(text: str) -> str:
    """Return text to be shown, with stars for what addresses hold of secrets.

    These are passwords (`http://me:***@host`, `ssh=me:***@host`) and queries (`https://host/model?***`).
    """
    return _QUERY.sub(r"\1***", _PASSWORD.sub(r"\1\2:***@", text))


#: Characters of a library's text that one line shows; some put whole models into their messages.
_LONGEST = 4000


def describe_exception(error: BaseException) -> str:
    """Return one line for any exception, with its type unless the text already speaks for itself."""
    if isinstance(error, PolycmpError):
        return f"{error.what} ({error.why})" if error.why else error.what
    text = _text_of(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _text_of(error: BaseException) -> str:
    try:
        text = str(error)
    except BaseException as second:
        if not is_users_failure(second):
            raise
        return f"its text cannot be had, since that raises {type(second).__name__}"
    cut = f" … ({len(text)} characters)" if len(text) > _LONGEST else ""
    return " ".join(text[:_LONGEST].split()) + cut


def error_to_json(error: BaseException) -> dict[str, str]:
    """Return an exception as plain text fields, for another process to raise."""
    if isinstance(error, PolycmpError):
        fields = {"what": error.what, "whose": error.whose, "why": error.why, "hint": error.hint}
        return {"kind": type(error).__name__, **fields}
    return {"kind": "BackendError", "what": describe_exception(error), "whose": "", "why": "", "hint": ""}


def error_from_json(fields: Mapping[str, str]) -> PolycmpError:
    """Return the exception that `error_to_json` described; a kind unknown here becomes a `BackendError`."""
    named = globals().get(fields.get("kind", ""))
    kind = named if isinstance(named, type) and issubclass(named, PolycmpError) else BackendError
    texts = {name: fields.get(name, "") for name in ("whose", "why", "hint")}
    return kind(fields.get("what", "failed"), **texts)


def is_users_failure(error: BaseException) -> bool:
    """Return whether an exception, of any kind, is a failure of the code that was called.

    A `SystemExit` of a user's function ends the function and not the command, and a `BaseException` that is no
    `Exception`, as extensions in Rust raise it, is a failure like any other.

    Args:
        error: The exception that was caught, with the traceback that it has at that place.

    Returns:
        False for a `KeyboardInterrupt`, and for the `GeneratorExit` of a generator that is being closed; True for
        everything else.
    """
    if isinstance(error, KeyboardInterrupt):
        return False
    if isinstance(error, GeneratorExit):
        # Closing a generator raises at its own `yield`; what a function raises that was called comes from deeper.
        return error.__traceback__ is not None and error.__traceback__.tb_next is not None
    return True


class OthersCode:
    """A block that calls a user's or a plugin's code, whose failures become one error that names it.

    Args:
        kind: The error to raise.
        what: The failure in words, as for `PolycmpError`.
        whose: As for `PolycmpError`.
        hint: As for `PolycmpError`.

    Raises:
        PolycmpError: The code failed: its own error where it is a `PolycmpError`, else one of `kind`.
    """

    def __init__(self, kind: type[PolycmpError], what: str, *, whose: str = "", hint: str = "") -> None:
        self._kind = kind
        self._what = what
        self._whose = whose
        self._hint = hint

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None or isinstance(error, PolycmpError) or not is_users_failure(error):
            return
        raise self._kind(self._what, whose=self._whose, why=describe_exception(error), hint=self._hint) from error


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a sentence with the closest known names, or all of them where none is close.

    Args:
        name: The name that was typed.
        known: The names that would have been right.
    """
    from difflib import get_close_matches

    names = sorted(set(known))
    close = get_close_matches(name, names, n=3, cutoff=0.6)
    if close:
        return "did you mean " + " or ".join(repr(item) for item in close) + "?"
    if not names:
        return "there are none"
    shown = ", ".join(names[:12]) + (f", … ({len(names)} in all)" if len(names) > 12 else "")
    return f"known: {shown}"
