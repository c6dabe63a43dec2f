"""`opt()`: one option as a field of a frozen dataclass."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any


def opt(
    default: Any,
    *,
    help: str,
    choices: Iterable[Any] | None = None,
    alias: str | tuple[str, ...] | None = None,
    metavar: str | None = None,
    parse: Callable[[str], Any] | None = None,
    format: Callable[[Any], str] | None = None,
    bare: str | None = None,
    hidden: bool = False,
    writes: bool = False,
) -> Any:
    """Declare one option as a field of a frozen dataclass.

    From the field's name, annotation and this description the core derives the command-line flag, the key of an
    instance (`-b NAME:KEY=VALUE`), the key in a run file, the help text and the validation. Annotations understood:
    `bool`, `int`, `float`, `str`, `X | None`, `tuple[X, ...]` (several values), `tuple[tuple[X, ...], ...]` (several
    groups of values: each use of the flag starts a new one) and `Mapping[str, X]` (`NAME:VALUE`, where a value without
    a name applies to all and has the key `""`).

    Args:
        default: The value when nobody says anything; immutable.
        help: One sentence for the help text.
        choices: The only values allowed.
        alias: A further flag, or several, granted if nobody else claims it: `"--providers"`.
        metavar: What stands for the value in the help text.
        parse: Turns the text of one value into the value; raises `ValueError` with the reason.
        format: Turns one value back into text that `parse` understands. Needed only where `parse` makes something else
            than text, numbers, truth values or tuples of them; without it such a value reaches neither a worker process
            nor a run file.
        bare: The text meant when the flag is given without a value; None if it needs one. Where several values are
            taken, `""` allows none of them. Every other option refuses an empty value.
        hidden: Leave the option out of the help text (old spellings).
        writes: The value says where a file is written. Commands that repeat a run leave such options out, so that they
            do not overwrite what the run left behind.
    """
    aliases = (alias,) if isinstance(alias, str) else tuple(alias or ())
    metadata = {
        "help": help,
        "choices": tuple(choices) if choices is not None else None,
        "alias": aliases,
        "metavar": metavar,
        "parse": parse,
        "format": format,
        "bare": bare,
        "hidden": hidden,
        "writes": writes,
    }
    if isinstance(default, (list, dict, set)):
        value = default
        return dataclasses.field(default_factory=lambda: type(value)(value), metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)
