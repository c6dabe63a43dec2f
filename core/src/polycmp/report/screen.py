"""What tables and sentences on the terminal are made of; the only place that makes rich's texts.

Every text is made visible here, so that a name can neither move the cursor nor pass for a line of polycmp's own.
"""

from __future__ import annotations

import sys
from typing import Any, TextIO, cast

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from polycmp.terminal import Guarded, shorten, visible, visible_lines

#: Styles of verdicts.
STYLES = {"passed": "bold green", "failed": "bold red", "error": "bold yellow"}
INDENT = 2


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Leave it to the command line, which does not take a reader that left for a verdict."""
        raise BrokenPipeError


def make_console(width: int | None = None, stream: TextIO | None = None) -> Console:
    """Return a console.

    Args:
        width: Columns; by default as wide as the terminal, or 120 where there is none.
        stream: Where to print; by default standard output.
    """
    out = stream or sys.stdout
    is_terminal = out is not None and out.isatty()
    return _Console(
        width=width or (None if is_terminal else 120),
        file=cast(Any, Guarded(out)),
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=False,
    )


def cell(text: str, style: str = "") -> Text:
    """Return a name, a type or a figure: one line, whatever it holds."""
    return Text(visible(shorten(text)), style=style)


def words(text: str, style: str = "") -> Text:
    """Return a reason for a cell of a table: it may have several lines."""
    return Text(visible_lines(shorten(text)), style=style)


class Sentence:
    """A sentence of its own: what does not fit the line goes on indented, so that it cannot pass for another one.

    Args:
        text: The sentence.
        style: How it looks.
    """

    def __init__(self, text: str, style: str = "") -> None:
        self._text = Text(visible_lines(shorten(text)), style=style)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines."""
        for number, line in enumerate(self._text.wrap(console, max(options.max_width - INDENT, INDENT))):
            line.rstrip()
            if number:
                line.pad_left(INDENT)
            yield line


def whole_line(text: str, style: str = "") -> Text:
    """Return a command to copy, or the only line, which is never broken into lines; print it with `soft_wrap`."""
    return Text(visible(text), style=style)
