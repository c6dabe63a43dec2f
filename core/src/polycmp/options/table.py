"""The options of one command in one table: whose each flag is, what it takes, and where the help text shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from polycmp.errors import UsageError
from polycmp.options.field import OptionField


class Key(NamedTuple):
    """Identifies an option: the core's have kind `core` and the section as owner."""

    kind: str
    owner: str
    field: str


@dataclass(frozen=True)
class Target:
    """One option.

    Attributes:
        key: Owner and name of the option.
        field: Declaration of the option: its type, default and help.
        flags: Flags that spell the option, the one to show first at the front.
        section: The heading it is listed under.
        negative: For a switch: the flag that turns it off; empty if another option has that name.
    """

    key: Key
    field: OptionField
    flags: tuple[str, ...]
    section: str
    negative: str = ""

    def convert(self, occurrences: Sequence[Sequence[str]]) -> Any:
        """Return the option's value from the words given for it, by use of the flag.

        Raises:
            UsageError: A word cannot be its value; the error names the flag.
        """
        try:
            return self.field.convert(occurrences)
        except UsageError as error:
            raise UsageError(error.what, whose=self.flags[0], why=error.why, hint=error.hint) from None


@dataclass(frozen=True)
class FlagTable:
    """The options of one command.

    Attributes:
        targets: All options by key, in the order of the help text.
        by_flag: The option that a flag belongs to.
        backends: `--NAME` to the beginning of an instance: the backend's name, with `:FIELD=` where a value follows.
        classes: The options dataclasses of the core's and the command's own sections, by owner.
        refused: Flags that several claim, with their claimants in words.
        sections: Heading to the text under it.
        folded: Headings of plugins whose options help shows only to those who ask for them.
    """

    targets: Mapping[Key, Target]
    by_flag: Mapping[str, Target]
    backends: Mapping[str, str]
    classes: Mapping[str, type]
    refused: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    sections: Mapping[str, str] = field(default_factory=dict)
    folded: tuple[str, ...] = ()
