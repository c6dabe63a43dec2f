"""One option: its declaration, and the only converter between its value, words, and plain values of JSON and TOML.

`from_plain` is not left to msgspec or cattrs (both tried): a run file may give one value for a list of one, words of
the command line for values by tensor name, and one value for all tensors. msgspec refuses these; cattrs takes
`"max"` for the list `m a x`, 5.7 for 5 and `"false"` for true.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from polycmp.errors import PluginError, UsageError, did_you_mean
from polycmp.options.values import bracketed, is_empty_value, parse_bool, spell, split_name, unquote

#: How the values of a field are given: a switch, one value, several, groups of several, or values by tensor name.
KINDS = ("flag", "value", "list", "groups", "mapping")


@dataclass(frozen=True)
class OptionField:
    """One field of an options dataclass, ready for a command line or a run file.

    Attributes:
        name: The field's name.
        kind: One of `KINDS`.
        item: The type of one value.
        default: The value where none is given.
        help: One sentence.
        choices: The only values allowed, or None.
        aliases: Further flags wanted.
        metavar: Placeholder for the value in help texts.
        parse: Turns one value's text into the value.
        format: Turns one value into text that `parse` understands, where `str` does not.
        bare: The text meant when the flag comes without a value, or None.
        hidden: Whether help leaves it out.
        writes: Whether the value says where a file is written.
        resumes: The field whose file it may go on with; empty for none.
        accumulates: For a mapping: whether repeated names collect a tuple of values.
        executes: Whether the value names code that is run, or the function that tells of one value's text.
        installs: Whether the value names packages to install, or such a function.
    """

    name: str
    kind: str
    item: type
    default: Any
    help: str = ""
    choices: tuple[Any, ...] | None = None
    aliases: tuple[str, ...] = ()
    metavar: str = ""
    parse: Callable[[str], Any] | None = None
    format: Callable[[Any], str] | None = None
    bare: str | None = None
    hidden: bool = False
    writes: bool = False
    resumes: str = ""
    accumulates: bool = False
    executes: bool | Callable[[str], bool] = False
    installs: bool | Callable[[str], bool] = False

    @property
    def several(self) -> bool:
        """Whether the flag takes more than one value."""
        return self.kind in {"list", "groups", "mapping"}

    @property
    def is_path(self) -> bool:
        """Whether the value is the path of a file or a folder, perhaps with the name of something in it."""
        return self.metavar.strip("[]").startswith(("FILE", "DIR", "PATH"))

    @property
    def is_cache(self) -> bool:
        """Whether the value is the path of a file or folder that is read where it exists, and written back."""
        return self.writes and self.resumes == self.name

    def code_in(self, value: Any) -> list[str]:
        """Return the texts of a value that name code to run."""
        return self._meant(self.executes, value)

    def packages_in(self, value: Any) -> list[str]:
        """Return the texts of a value that name packages to install."""
        return self._meant(self.installs, value)

    def plain_texts(self, value: Any) -> list[str]:
        """Return the texts that a value consists of, none in quotes; of values by name each with its name."""
        plain = self.plain(value)
        if isinstance(plain, Mapping):
            return [f"{name}:{text}" if name else text for name, item in plain.items() for text in self._flat(item)]
        return list(self._flat(plain))

    def _meant(self, rule: bool | Callable[[str], bool], value: Any) -> list[str]:
        if not rule or value in (None, False, "", ()):
            return []
        return [text for text in self.plain_texts(value) if rule is True or (callable(rule) and rule(text))]

    def _flat(self, plain: Any) -> Iterable[str]:
        items = plain if isinstance(plain, list) else [plain]
        for item in items:
            if isinstance(item, list):
                yield from self._flat(item)
            else:
                yield self._plain_text(item)

    def convert(self, occurrences: Sequence[Sequence[str]]) -> Any:
        """Return the field's value from the texts given for it.

        Args:
            occurrences: For each use of the flag, the texts of its values.

        Raises:
            UsageError: A text cannot be this field's value, or there is none: an option that was given and says
                nothing, as `--load-outputs "$UNSET"` does, must not pass for one that was not given.
        """
        if self.several and self.bare:
            occurrences = [texts or [self.bare] for texts in occurrences]
        for texts in occurrences:
            self._require(texts)
        flat = [text for texts in occurrences for text in texts]
        if self.kind == "groups":
            return tuple(tuple(self._one(text) for text in texts) for texts in occurrences)
        if self.kind == "list":
            return tuple(self._one(text) for text in flat)
        if self.kind == "mapping":
            return self._mapping(flat)
        if not flat:
            return True if self.kind == "flag" else self.default
        return self._one(flat[-1])

    def _require(self, texts: Sequence[str]) -> None:
        """Refuse a use without a value, except where that has a meaning of its own (`bare=""`)."""
        if (not texts and (self.kind == "flag" or self.bare == "")) or (self.kind == "value" and self.bare == ""):
            return
        values = [split_name(text)[1] if self.kind == "mapping" else text for text in texts]
        if is_empty_value([unquote(value.strip()) for value in values]):
            raise UsageError(
                f"{self.name.replace('_', '-')!r} needs a value: {self.metavar or 'BOOL'}",
                why="nothing was given, or an empty text; perhaps a shell variable is not set",
            )

    def _mapping(self, texts: Iterable[str]) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for text in texts:
            name, rest = split_name(text)
            value = self._one(rest)
            if self.accumulates:
                values[name] = (*values.get(name, ()), value)
            else:
                values[name] = value
        return values

    def _one(self, text: str) -> Any:
        return self._made(unquote(text))

    def _made(self, text: str) -> Any:
        try:
            if self.parse is not None:
                value = self.parse(text)
            else:
                value = parse_bool(text) if self.item is bool else self.item(text)
        except (ValueError, UsageError) as error:
            why = error.what if isinstance(error, UsageError) else str(error)
            raise UsageError(f"{text!r} is not a value of {self.name!r}", why=why, hint=self._hint()) from None
        if self.choices is not None and value not in self.choices:
            raise UsageError(
                f"{text!r} is not a value of {self.name!r}", why=did_you_mean(str(value), map(str, self.choices))
            )
        return value

    def texts(self, value: Any, *, inline: bool = False) -> list[list[str]]:
        """Return texts from which `convert` makes a value.

        Args:
            value: A value of this field.
            inline: Whether the texts stand in an instance, between commas and perhaps in brackets.

        Raises:
            PluginError: No text means this value.
        """
        if self.several and self.bare and not value:
            texts = []  # the flag without a value would mean another thing
        elif self.kind == "groups":
            texts = [[spell(self._text(item), inline=inline) for item in group] for group in value]
        elif self.kind == "list":
            texts = [[spell(self._text(item), inline=inline) for item in value]]
        elif self.kind == "mapping":
            pairs = ((name, item) for name, items in value.items() for item in (items if self.accumulates else [items]))
            texts = [[spell(self._text(item), name, named=True, inline=inline) for name, item in pairs]]
        else:
            texts = [[spell(self._text(value), inline=inline)]]
        if self.format is None and not self._comes_back(texts, value):
            raise self._unspeakable(value)
        return texts

    def _comes_back(self, texts: list[list[str]], value: Any) -> bool:
        try:
            return bool(self.convert(texts) == value)
        except UsageError:
            return False

    def inline(self, value: Any) -> str:
        """Return the text that stands for a value in an instance, `NAME:KEY=TEXT`; errors as in `texts`."""
        texts = self.texts(value, inline=True)
        if self.kind == "groups":
            return f"[{','.join(bracketed(group) for group in texts)}]"
        return texts[0][0] if len(texts[0]) == 1 else bracketed(texts[0])

    def _text(self, value: Any) -> str:
        return self._plain_text(self._plain(value))

    def _unspeakable(self, value: Any) -> PluginError:
        return PluginError(
            f"the value {value!r} of {self.name!r} cannot be written down",
            hint=f"its plugin declares how: {self.name} = opt(…, parse=…, format=…)",
        )

    def plain(self, value: Any) -> Any:
        """Return a value as JSON and TOML can hold it.

        Raises:
            PluginError: They cannot hold it, nor is there a text that means it.
        """
        if self.kind == "mapping":
            one = self._plain_list if self.accumulates else self._plain
            plain = {name: one(item) for name, item in value.items()}
            alone = plain.get("") if len(plain) == 1 else None
            return plain if alone is None or isinstance(alone, (str, list)) else alone
        if self.kind == "groups":
            return [self._plain_list(group) for group in value]
        return self._plain_list(value) if self.kind == "list" else self._plain(value)

    def _plain_list(self, values: Iterable[Any]) -> list[Any]:
        return [self._plain(value) for value in values]

    def _plain(self, value: Any) -> Any:
        if self.format is not None:
            return self.format(value)
        if isinstance(value, (bool, int, float, str)):
            return value
        if isinstance(value, (tuple, list)):
            return self._plain_list(value)
        raise self._unspeakable(value)

    def from_plain(self, plain: Any) -> Any:
        """Return the value that `plain` gave, or that a user wrote into a run file.

        Beside what `plain` returns, it takes texts as on the command line for values by tensor name, one value for a
        list of one, and a text for a number.

        Raises:
            UsageError: It cannot be this field's value.
        """
        if self.kind == "mapping":
            return self._mapping_from_plain(plain)
        if self.kind not in {"list", "groups"}:
            return self._from_plain(plain)
        if isinstance(plain, Mapping):  # texts that begin with a name, such as shapes
            return tuple(spell(self._plain_text(item), name, named=True) for name, item in plain.items())
        if self.bare and isinstance(plain, bool):  # as the flag without a value, or not at all
            return (self._one(self.bare),) if plain else ()
        items = plain if isinstance(plain, list) else [plain]
        if self.kind == "list":
            return tuple(map(self._from_plain, items))
        groups = items if all(isinstance(item, list) for item in items) else [items]
        return tuple(tuple(map(self._from_plain, group)) for group in groups)

    def _mapping_from_plain(self, plain: Any) -> dict[str, Any]:
        if not isinstance(plain, Mapping):
            items = plain if isinstance(plain, list) else [plain]
            return self._mapping(item if isinstance(item, str) else self._plain_text(item) for item in items)
        if not self.accumulates:
            return {name: self._from_plain(item) for name, item in plain.items()}
        each = {name: items if isinstance(items, list) else [items] for name, items in plain.items()}
        return {name: tuple(map(self._from_plain, items)) for name, items in each.items()}

    def _from_plain(self, plain: Any) -> Any:
        if self.parse is None and isinstance(plain, list):
            raise UsageError(f"{self.name!r} takes one value, not {plain!r}")
        return self._made(plain if isinstance(plain, str) else self._plain_text(plain))

    def _plain_text(self, plain: Any) -> str:
        if not isinstance(plain, (bool, int, float, str, list)):
            raise UsageError(f"{plain!r} is not a value of {self.name!r}", hint=self._hint())
        if isinstance(plain, list):
            return bracketed(map(self._plain_text, plain))
        return str(plain).lower() if isinstance(plain, bool) else str(plain)

    def _hint(self) -> str:
        wanted = {int: "a whole number", float: "a number", bool: "true or false"}.get(self.item, "")
        return f"it takes {wanted}" if wanted and self.parse is None else ""
