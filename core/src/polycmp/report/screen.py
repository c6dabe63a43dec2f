"""Building blocks of tables and sentences on the terminal; the only place that makes rich's texts.

Every text is made visible here, so that a name can neither move the cursor nor pass for a line of polycmp's own.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TextIO, TypeAlias, cast

from rich.text import Text

from polycmp.terminal import Guarded, shorten, visible, visible_lines

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

#: Styles of verdicts.
STYLES = {
    "passed": "bold green",
    "failed": "bold red",
    "blind": "bold magenta",
    "undecided": "bold magenta",
    "error": "bold yellow",
}
INDENT = 2
#: Columns of what is not to be broken into lines.
WHOLE = 1000


class PlainConsole:
    """Prints to files and pipes, where nothing has a style, so that rich's console need not be imported."""

    def __init__(self, width: int, stream: TextIO) -> None:
        self.width: int = width
        self._stream = Guarded(stream)

    def print(self, item: Text | Sentence | str = "", *, soft_wrap: bool = False) -> None:
        """Print a line that is never broken, or a sentence; `soft_wrap` is there for the console's sake."""
        for line in item.lines(self.width) if isinstance(item, Sentence) else [item]:
            self._stream.write(f"{line}\n")


Screen: TypeAlias = "Console | PlainConsole"


def standard_output() -> Screen:
    """Make the screen for standard output, 120 columns wide where that is no terminal."""
    forced = os.environ.get("FORCE_COLOR") or os.environ.get("TTY_COMPATIBLE") == "1"  # as rich reads them
    plain = sys.stdout is not None and not sys.stdout.isatty() and not forced
    return PlainConsole(120, sys.stdout) if plain else make_console()


def make_console(width: int | None = None, stream: TextIO | None = None) -> Console:
    """Return a console of rich that leaves a closed pipe to the command line.

    Args:
        width: Columns; by default as wide as the terminal, or 120 where there is none.
        stream: Stream to print to; by default standard output.
    """
    from rich.console import Console

    class Leaving(Console):
        def on_broken_pipe(self) -> None:
            """Leave it to the command line, which does not take a reader that left for a verdict."""
            raise BrokenPipeError

    out = stream or sys.stdout
    is_terminal = out is not None and out.isatty()
    return Leaving(
        width=width or (None if is_terminal else 120),
        file=cast(Any, Guarded(out)),
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=False,
    )


def cell(text: str, style: str = "") -> Text:
    """Return a name, a type or a figure as one line."""
    return Text(visible(shorten(text)), style=style)


def words(text: str, style: str = "") -> Text:
    """Return a reason for a cell of a table: it may have several lines."""
    return Text(visible_lines(shorten(text)), style=style)


def wrapped(text: Text, width: int) -> list[Text]:
    """Return the lines into which words are put that take more columns than `width`."""
    return list(text.wrap(cast(Any, None), width))  # asks the console nothing as long as nothing is justified


class Sentence:
    """A sentence of its own: what does not fit the line goes on indented, so that it cannot pass for another one.

    Args:
        text: The sentence.
        style: Style of the text, as rich names it.
    """

    def __init__(self, text: str, style: str = "") -> None:
        self._text = Text(visible_lines(shorten(text)), style=style)

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> RenderResult:
        return self.lines(options.max_width)

    def lines(self, width: int) -> Iterator[Text]:
        """Yield the lines, which take no more columns than `width`."""
        for number, line in enumerate(wrapped(self._text, max(width - INDENT, INDENT))):
            line.rstrip()
            if number:
                line.pad_left(INDENT)
            yield line


def whole_line(text: str, style: str = "") -> Text:
    """Return a command to copy, or the only line, which is never broken into lines; print it with `soft_wrap`."""
    return Text(visible(text), style=style)
