"""Values of options written down: as plain values for run files and other processes, and as words.

Both name an option as its flag does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from polycmp.errors import UsageError, did_you_mean
from polycmp.options.given import OptionValues
from polycmp.options.table import FlagTable, Key, Target
from polycmp.options.values import is_empty_value, is_flag

#: The option that names a run file.
CONFIG = Key("core", "result", "config")


def plain_values(values: Mapping[Key, Any], table: FlagTable) -> dict[str, Any]:
    """Return values of options as JSON and TOML can hold them, by flag without its dashes.

    Raises:
        PluginError: An option has a value that they cannot hold.
        UsageError: An option has no flag of its own.
    """
    targets = {key: _target(table, key) for key in values}
    return {target.flags[0].removeprefix("--"): target.field.plain(values[key]) for key, target in targets.items()}


def read_plain(content: Mapping[str, Any], table: FlagTable, whose: str = "") -> OptionValues:
    """Return the values of options that plain values stand for.

    `model` and `backend` stand for the arguments; every other key is a flag without its dashes. Several values are a
    list, values by tensor name may be a table, several groups are a list of lists.

    Args:
        content: The plain values.
        table: The options there are.
        whose: Origin of the values, for errors.

    Raises:
        UsageError: A key is no option, or a value cannot be one.
    """
    content = dict(content)
    model, backends = content.pop("model", ""), content.pop("backend", [])
    backends = backends if isinstance(backends, list) else [backends]
    if not isinstance(model, str) or not all(isinstance(item, (str, Mapping)) for item in backends):
        raise UsageError(
            "`model` is a text and `backend` a list of texts or tables",
            whose=whose,
            hint='backend = ["onnxrt", "onnx"]',
        )
    values = dict(_read(content, table, whose))
    return OptionValues(values, table.classes, model, tuple(backends), whose=whose)


def refuse_empty(content: Mapping[str, Any], table: FlagTable, whose: str) -> None:
    """Refuse plain values that say nothing, which a user wrote by mistake.

    Args:
        content: The plain values.
        table: The options there are.
        whose: Origin of the values, for errors.

    Raises:
        UsageError: A value is empty, and that has no meaning of its own.
    """
    for key, value in content.items():
        target = table.by_flag.get(_flag(key))
        may_be_bare = value == [] and target is not None and target.field.bare == ""
        if key != "backend" and is_empty_value(value) and not may_be_bare:
            raise UsageError(f"{key!r} needs a value", whose=whose, hint="leave the key out to have the default")


def read_words(words: Mapping[str, Any] | Sequence[str], table: FlagTable) -> OptionValues:
    """Return the values of options given as words, or as in a run file; errors as in `read_plain`."""
    if isinstance(words, Mapping):
        return read_plain(words, table)
    words_by_flag: dict[str, list[str]] = {}
    values: list[str] = []
    for word in words:
        if is_flag(word):
            flag, equals, value = word.removeprefix("--").partition("=")
            values = words_by_flag.setdefault(flag, [])
            values += [value] if equals else []
        else:
            values.append(word)
    plain = {flag: (texts if len(texts) > 1 else texts[0]) if texts else True for flag, texts in words_by_flag.items()}
    return read_plain(plain, table)


def words_of(values: Mapping[Key, Any], table: FlagTable) -> list[str]:
    """Return the words that give options their values.

    Raises:
        PluginError: An option has a value that no text means.
        UsageError: An option has no flag of its own.
    """
    return [word for key, value in values.items() for word in _words(_target(table, key), value)]


def _words(target: Target, value: Any) -> Iterable[str]:
    flag, option = target.flags[0], target.field
    if option.kind == "flag":
        return [flag if value else target.negative]
    if option.bare is not None and option.convert([[option.bare]]) == value:
        return [flag]
    return [word for texts in option.texts(value) for word in (flag, *texts)]


def _read(content: Mapping[str, Any], table: FlagTable, whose: str) -> Iterator[tuple[Key, Any]]:
    seen: set[Key] = set()
    for key, value in content.items():
        target = _find(key, table, whose)
        if target.key in seen:
            raise UsageError(f"{key!r} repeats another key", whose=whose)
        seen.add(target.key)
        try:
            yield target.key, target.field.from_plain(value)
        except UsageError as error:
            raise UsageError(
                error.what, whose=f"{whose}: {key}" if whose else key, why=error.why, hint=error.hint
            ) from None


def _flag(key: str) -> str:
    return "--" + key.replace("_", "-")


def _find(key: str, table: FlagTable, whose: str) -> Target:
    target = table.by_flag.get(_flag(key))
    if target is None:
        flags = [flag.removeprefix("--") for flag in table.by_flag]
        raise UsageError(
            f"there is no option {key!r}", whose=whose, why=did_you_mean(key, [*flags, "backend", "model"])
        )
    if target.key == CONFIG:
        raise UsageError(
            f"{key!r} is not allowed in a run file",
            whose=whose,
            why="one run file does not read another",
            hint="copy it",
        )
    return target


def _target(table: FlagTable, key: Key) -> Target:
    if key not in table.targets:
        raise UsageError(
            f"the option {key.field!r} of {key.owner!r} has no flag",
            why="several plugins claim it, so none gets it",
            hint="polycmp plugins list",
        )
    return table.targets[key]
