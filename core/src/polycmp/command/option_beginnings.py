"""Words that stand for options: their unique beginnings."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence

import click

from polycmp.errors import UsageError
from polycmp.options import FlagTable
from polycmp.terminal import echo

#: Key of the context for the remarks on what was taken for what, until messages have been set up.
_REMARKS = "polycmp.option_beginnings"


def flags_of(ctx: click.Context, table: FlagTable | None = None) -> list[tuple[list[str], bool]]:
    """Return the flags of each option of a command, and whether its help hides the option.

    Args:
        ctx: Context of the command.
        table: Options from plugins, where the command has them.
    """
    options = [param for param in ctx.command.get_params(ctx) if isinstance(param, click.Option)]
    flags = [([*param.opts, *param.secondary_opts], param.hidden) for param in options]
    return [*flags, *(([flag], False) for flag in (table.backends if table is not None else ()))]


def complete_option(flag: str, options: Iterable[tuple[list[str], bool]], ctx: click.Context) -> str:
    """Return the only long option that begins so; empty if there is none.

    Options that add words to another one leave that one: `--onnxr` is `--onnxrt`, although `--onnxrt-threads` begins
    so, too.

    Args:
        flag: The option as typed.
        options: The options, as `flags_of` returns them.
        ctx: Context of the command.

    Raises:
        UsageError: Several begin so, or one has two hyphens where one was typed.
    """
    options = list(options)
    if not flag.startswith("--"):
        if len(flag) > 2 and any(f"-{flag}" in flags for flags, _ in options):
            raise UsageError(f"there is no option {flag}", why=f"did you mean -{flag}?", hint=f"-{flag}")
        return ""
    if len(flag) < 4:
        return ""
    fitting: Mapping[bool, dict[str, None]] = {False: {}, True: {}}
    for flags, hidden in options:
        first = next((item for item in flags if item.startswith(flag)), "")
        if first:
            fitting[hidden][first] = None
    matching = list(fitting[False] or fitting[True])
    matching = [item for item in matching if not any(item.startswith(f"{other}-") for other in matching)]
    if len(matching) > 1:
        names = f"{', '.join(matching[:-1])} and {matching[-1]}"
        raise UsageError(f"{flag} is short for several options", why=f"{names} begin so", hint=matching[0])
    if matching:
        note_later(ctx, f"{flag} is taken for {matching[0]}")
    return next(iter(matching), "")


def completed(words: Sequence[str], ctx: click.Context) -> list[str]:
    """Return the words of a command of click's own with its options written out.

    Raises:
        UsageError: Several options begin with what was typed.
    """
    options = flags_of(ctx)
    long_flags = {flag for flags, _ in options for flag in flags}
    result: list[str] = []
    for index, word in enumerate(words):
        if word == "--":
            result += words[index:]
            break
        flag, equals, value = word.partition("=")
        full = complete_option(flag, options, ctx) if flag[:1] == "-" and flag not in long_flags else ""
        result.append(f"{full}{equals}{value}" if full else word)
    if not any(param.name == "verbose" for param in ctx.command.params):  # it sets no messages up
        for text in ctx.meta.pop(_REMARKS, ()):
            echo(text, err=True)
    return result


def note_later(ctx: click.Context, text: str) -> None:
    """Keep a remark until messages have been set up."""
    ctx.meta.setdefault(_REMARKS, []).append(text)


def tell_notes(ctx: click.Context) -> None:
    """Log the remarks kept so far."""
    for text in ctx.meta.pop(_REMARKS, ()):
        logging.getLogger("polycmp.command").info("%s", text)
