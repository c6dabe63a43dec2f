"""Options of messages where a command does not take them itself: before its last word, and without plugins."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import wraps
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import click

from polycmp.command.base import verbosity_params
from polycmp.command.option_beginnings import tell_notes
from polycmp.options.values import is_flag

if TYPE_CHECKING:
    from collections.abc import Callable

_SWITCHES = frozenset({"--verbose", "--quiet", "--silent"})
_ONE_VALUE = frozenset({"--log-file"})
_SEVERAL_VALUES = frozenset({"--verbosity", "--log-format"})
_NAMES = ("verbose", "quiet", "verbosity", "silent", "log_format", "log_file")


def move_log_options(words: Sequence[str], commands: Collection[str]) -> list[str]:
    """Return the words of a group of commands with the options of messages moved right behind the command.

    `inspect -v model m.onnx` means the same as `inspect model -v m.onnx`. They are not moved to the end, where
    `debug reduce m.onnx --check COMMAND …` would hand them to the check.

    Args:
        words: The words after the group's name.
        commands: Words that may come next: names of commands.
    """
    position, moved = 0, list[str]()
    while position < len(words) and _is_about_messages(words[position]):
        flag, equals, _ = words[position].partition("=")
        position += 1
        values = []
        if flag in _ONE_VALUE and not equals:
            values = list(words[position : position + 1])
        elif flag in _SEVERAL_VALUES and not equals:
            values = list(takewhile(lambda word: word not in commands and not is_flag(word), words[position:]))
        # Each value with its flag: what follows the command is none of them.
        moved += [f"{flag}={value}" for value in values] or [words[position - 1]]
        position += len(values)
    rest = list(words[position:])
    if not rest or is_flag(rest[0]):
        return list(words)
    return [rest[0], *moved, *rest[1:]]


def _is_about_messages(word: str) -> bool:
    flag = word.partition("=")[0]
    short = word[:1] == "-" and len(word) > 1 and not word[1:].strip("vq")
    return short or flag in _SWITCHES | _ONE_VALUE | _SEVERAL_VALUES


def with_messages(command: click.Command) -> click.Command:
    """Give a command that does not depend on plugins the options of messages that all others have.

    Args:
        command: The command; its function does not see these options.
    """
    work: Callable[..., Any] = command.callback or (lambda **_: None)

    @wraps(work)
    def run(**given: Any) -> Any:
        from polycmp.messages import setup_logging

        setup_logging(**{name: given.pop(name) for name in _NAMES})
        tell_notes(click.get_current_context())
        return work(**given)

    command.callback = run
    command.params += [
        *verbosity_params(),
        click.Option(["--verbosity"], multiple=True, metavar="LEVEL|MODULE:LEVEL", help="Level of messages."),
        click.Option(["--silent"], is_flag=True, help="Show no messages and no progress."),
        click.Option(["--log-format"], multiple=True, metavar="PART", help="Details to show with each message."),
        click.Option(["--log-file"], metavar="FILE", help="Also write messages and printed output to this file."),
    ]
    return command
