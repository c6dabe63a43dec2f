"""Output to the terminal: nothing that a model or an error holds can act on a terminal or on a CI system.

Names and messages come from downloaded files and from libraries. An escape code in one could rewrite the verdict on the
screen, and a line that begins with `::` is a command to GitHub Actions. `visible` makes characters that do something
into characters that say what they are; `guarded` keeps a line from being a command. All that polycmp writes to standard
output or standard error goes through both; plugins' commands use `echo`.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import unicodedata
from typing import Any, TextIO

from polycmp.errors import FileError, PolycmpError, describe_exception

__all__ = [
    "echo",
    "shorten",
    "visible",
    "visible_lines",
]

#: Characters of one message that a terminal shows; reports keep more.
_SHOWN = 4000
#: A workflow command of GitHub Actions begins a line, which is trimmed before; colours may precede.
_COMMAND = re.compile(r"^((?:\x1b\[[\d;]*m|[^\S\n])*):(?=:)", re.MULTILINE)
#: Its older spelling, and those of Azure Pipelines and TeamCity, count anywhere in a line.
_OLD_COMMAND = re.compile(r"#(?=#\w*\[)")


def visible(text: str) -> str:
    r"""Return a text as one line in which every character shows.

    Control characters, line breaks, marks that change the direction of writing, and halves of surrogate pairs appear as
    in a Python string: `\x1b`, `\n`, `\u202e`, `\udc80`.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or unicodedata.category(char) == "Zs" else _escape(char) for char in text)


def visible_lines(text: str, indent: str = "") -> str:
    """Return a text in which every character shows and line breaks stay.

    Args:
        text: The text.
        indent: Prefix of every line but the first, so that none of them can pass for a line of its own.
    """
    lines = text.replace("\r\n", "\n").rstrip("\n").split("\n")
    return f"\n{indent}".join(visible(line.expandtabs(4)) for line in lines)


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


def shorten(text: str, limit: int = _SHOWN) -> str:
    """Return a text of at most about `limit` characters: its beginning and its end, if it is longer."""
    head, tail = limit * 3 // 4, limit // 4
    shorter = f"{text[:head]} … ({len(text) - head - tail} characters left out) … {text[-tail:]}"
    return shorter if len(shorter) < len(text) else text


def guarded(text: str) -> str:
    """Return a text of which no line is a command to a CI system."""
    if ":" not in text and "#" not in text:
        return text
    return _OLD_COMMAND.sub(r"\\x23", _COMMAND.sub(r"\1\\x3a", text))


def error_text(error: PolycmpError) -> str:
    """Return an error as a terminal shows it: each part short enough, in visible characters."""
    return "\n".join(visible_lines(shorten(part), " " * 8) for part in error.parts())


#: What is printed is logged here, too, for files of messages; the terminal, which shows it already, never gets it.
PRINTED = logging.getLogger("polycmp-printed")


def echo(text: str = "", *, err: bool = False) -> None:
    """Print a text whose line breaks are ours, in visible characters; names in it have been through `visible`.

    Args:
        text: The text to print.
        err: Print to standard error instead of standard output.

    Raises:
        FileError: Standard output cannot be written.
    """
    stream = Guarded(sys.stderr if err else sys.stdout)
    text = visible_lines(text)
    PRINTED.info("%s", text)
    stream.write(text + "\n")
    stream.flush()


class Guarded:
    """A stream of text without commands to a CI system.

    Args:
        stream: Stream that the text is written to; None, as a closed descriptor makes it, discards everything.
    """

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a text that begins at the beginning of a line.

        Raises:
            FileError: It cannot be written.
        """
        return self._try("write", guarded(text))

    def flush(self) -> None:
        """Write what is held back."""
        self._try("flush")

    def _try(self, name: str, *arguments: str) -> int:
        if self._stream is None:
            return 0
        try:
            return int(getattr(self._stream, name)(*arguments) or 0)
        except UnicodeEncodeError:  # a terminal that knows fewer characters
            encoding = self._stream.encoding or "ascii"
            return self._stream.write(arguments[0].encode(encoding, "backslashreplace").decode(encoding))
        except BrokenPipeError:
            raise
        except (OSError, ValueError) as error:
            raise FileError("cannot write to standard output", why=describe_exception(error)) from error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def open_standard_streams() -> None:
    """Put the null device where standard input, output or error is closed (`>&-`).

    Otherwise the next file or pipe opened would get the number of a standard stream, and whatever writes there, or the
    child processes that inherit it, would take it for one.
    """
    for descriptor, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(descriptor)
        except OSError:
            null = os.open(os.devnull, os.O_RDWR)
            if null != descriptor:
                os.dup2(null, descriptor)
                os.close(null)
            os.set_inheritable(descriptor, True)
        if getattr(sys, name) is None:
            setattr(sys, name, open(descriptor, mode, encoding="utf-8", closefd=False))  # noqa: SIM115
