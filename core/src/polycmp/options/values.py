"""Values as people type them: shapes, ranges, sizes, values per tensor, references to scripts.

Functions take text and either return the value or raise `UsageError` with the corrected spelling; those inside
`opt(parse=…)` raise `ValueError` with the reason.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from importlib.machinery import all_suffixes
from typing import Any, TypeVar

from polycmp.errors import UsageError

T = TypeVar("T")

_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
#: Text in quotes, where a quote of the same kind that belongs to the text is doubled.
_QUOTED = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"")
_DIMENSION = re.compile(rf"(?P<name>{_QUOTED.pattern}|[^'\"\[\]():=,][^'\"\[\]():=,]*)=(?P<size>[0-9]+)")
_SIZE = r"(?P<number>[0-9]+(?:\.[0-9]*)?(?:e[+-]?[0-9]+)?)\s*(?P<unit>[kmgt]?)(?:i?b)?"


def is_empty_value(value: Any) -> bool:
    """Return whether a value is empty: an empty text, no value at all, or several of which one is empty.

    An option that needs a value refuses these: `--load-outputs "$UNSET"` must not count as an option not given.

    Args:
        value: A text without its quotes, or a list, tuple or mapping of values; anything else says something.
    """
    if isinstance(value, str):
        return not value.strip()
    items = value.values() if isinstance(value, Mapping) else value
    return isinstance(items, Collection) and (not items or any(map(is_empty_value, items)))


def split_list(text: str) -> list[str]:
    """Split text at commas that lie outside brackets and quotes.

    Raises:
        UsageError: A bracket or a quote is left open.
    """
    parts, depth, quote, current = [], 0, "", ""
    for char in text:
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        elif char in "[(":
            depth += 1
        elif char in "])":
            depth -= 1
        if char == "," and depth == 0 and not quote:
            parts.append(current)
            current = ""
        else:
            current += char
    if depth != 0 or quote:
        raise UsageError(f"unbalanced {'quote' if quote else 'bracket'} in {text!r}")
    return [*parts, current]


def unquote(text: str) -> str:
    """Return text without the quotes around it; a doubled quote inside is one."""
    if not _QUOTED.fullmatch(text):
        return text
    mark = text[0]
    return text[1:-1].replace(mark * 2, mark)


def quote(text: str) -> str:
    """Return text in quotes, so that `unquote` gives it back."""
    return "'" + text.replace("'", "''") + "'"


def is_flag(word: str) -> bool:
    """Return whether a word of the command line is a flag, and not a number such as `-1` or `-.5`."""
    return len(word) > 1 and word[0] == "-" and not (word[1].isdigit() or word[1] in ".[")


def spell(value: str, name: str = "", *, named: bool = False, inline: bool = False) -> str:
    """Return the shortest text that means a value: the value itself, or with quotes where it needs them.

    Args:
        value: The value that `unquote` has to return.
        name: The name in front of it, with a colon; empty for none.
        named: Whether the text is taken apart with `split_name`.
        inline: Whether the text stands in an instance, between commas and perhaps in brackets.
    """
    head = f"{name}:" if name else ""
    for text in (head + value, head + quote(value), f"{quote(name)}:{value}"):
        if _means(text, value, name, named) and (_fits_inline(text) if inline else text and not is_flag(text)):
            return text
    return f"{quote(name)}:{quote(value)}" if name else quote(value)


def _means(text: str, value: str, name: str, named: bool) -> bool:
    prefix, rest = split_name(text) if named else ("", text)
    return (prefix, unquote(rest)) == (name, value)


def _fits_inline(text: str) -> bool:
    try:
        return text != "" and text == text.strip() and not text.startswith("[") and split_list(text) == [text]
    except UsageError:
        return False


def parse_size(text: str) -> int:
    """Return a number of bytes from `1048576`, `1e9`, `512M`, `2G`, `2GiB` (units are powers of 1024)."""
    match = re.fullmatch(_SIZE, text.strip(), re.IGNORECASE)
    if not match:
        raise UsageError(f"{text!r} is not a size", hint="write a number with K, M or G after it, for example 512M")
    return int(float(match["number"]) * _UNITS[match["unit"].lower()])


def parse_shape(text: str) -> tuple[int, ...]:
    """Return the dimensions from `[1,3,224,224]`, `(1,3)` or `1x3x224x224`; `[]` is a scalar."""
    body = text.strip()
    if body[:1] in "[(" and body[-1:] in "])" and len(body) >= 2:
        items = [item.strip() for item in body[1:-1].split(",")]
        items = [] if items == [""] else items
    else:
        items = body.split("x")
    try:
        return tuple(int(item) for item in items)
    except ValueError:
        raise UsageError(
            f"{text!r} is not a shape", hint="write the dimensions in brackets without spaces: [1,3,224,224]"
        ) from None


def split_name(text: str) -> tuple[str, str]:
    """Split `NAME:VALUE` at the last colon outside brackets and quotes; without one the name is empty.

    Returns:
        The name without its quotes, and the value as it stands there.
    """
    head = _colon(text)
    return ("", text) if head is None else (unquote(text[:head]), text[head + 1 :])


def _colon(text: str) -> int | None:
    """Find the colon after the name."""
    if _QUOTED.fullmatch(text):
        return None
    name = _QUOTED.match(text)
    if name and text[name.end() :].startswith(":"):
        return name.end()
    colons = [match.start() for match in re.finditer(":", text)]
    if text[-1:] in {"'", '"'}:
        for index in colons:
            if _QUOTED.fullmatch(text, index + 1):
                return index
    depth = 0
    for index in range(len(text) - 1, -1, -1):
        depth += (text[index] in "])") - (text[index] in "[(")
        if text[index] == ":" and depth == 0:
            return index
    return None


def split_pair(text: str) -> tuple[str, str]:
    """Split `A=B` at the first equals sign outside quotes; without one both are empty."""
    quoted = _QUOTED.match(text)
    start = quoted.end() if quoted else 0
    head = text.find("=", start)
    if head < 0 or (quoted and head != start):
        head = text.find("=")
    return ("", "") if head < 0 else (unquote(text[:head]), unquote(text[head + 1 :]))


def join_pair(first: str, second: str) -> str:
    """Return the text that `split_pair` takes apart again."""
    for text in (f"{first}={second}", f"{first}={quote(second)}", f"{quote(first)}={second}"):
        if split_pair(text) == (first, second):
            return text
    return f"{quote(first)}={quote(second)}"


def parse_named_shapes(texts: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """Return `{name: shape}` from texts such as `x:[1,3]`; one text may hold several, comma-separated.

    Raises:
        UsageError: A text lacks its name or its shape, or a name is given twice with different shapes.
    """
    shapes: dict[str, tuple[int, ...]] = {}
    for name, shape in _named_shapes(texts):
        if shapes.setdefault(name, shape) != shape:
            raise UsageError(f"two shapes for {name!r}: {list(shapes[name])} and {list(shape)}", hint="give only one")
    return shapes


def parse_dimensions(texts: Iterable[str]) -> dict[str, int]:
    """Return sizes by name of dimension from those texts that say `batch=2`; `parse_shape_sets` takes the others.

    Raises:
        UsageError: A dimension is given two sizes.
    """
    sizes: dict[str, int] = {}
    for name, size in filter(None, map(_dimension, _parts(texts))):
        if sizes.setdefault(name, size) != size:
            raise UsageError(
                f"two sizes for the dimension {name!r}: {sizes[name]} and {size}",
                hint="give one; shapes to be taken in turn are given by input: --input-shapes x:[2,8] x:[4,8]",
            )
    return sizes


def dimension_text(name: str, size: int) -> str:
    """Return the text from which `parse_dimensions` makes this size of this dimension."""
    text = f"{name}={size}"
    plain = _dimension(text) == (name, size) and text == text.strip() and not is_flag(text)
    return text if plain and _fits_inline(text) else f"{quote(name)}={size}"


def _dimension(text: str) -> tuple[str, int] | None:
    """Return name and size from `batch=2` or `'a:b'=2`; None for a text that says something else."""
    match = _DIMENSION.fullmatch(text.strip())
    return None if match is None else (unquote(match["name"]), int(match["size"]))


def _parts(texts: Iterable[str]) -> Iterator[str]:
    return (part for whole in texts for part in split_list(whole))


def parse_shape_sets(texts: Iterable[str]) -> tuple[dict[str, tuple[int, ...]], ...]:
    """Return shapes to be taken in turn, from texts such as `x:[2,8] x:[6,8] mask:[1]`.

    The k-th of the mappings holds the k-th shape of each name; a name with fewer shapes keeps its last.

    Raises:
        UsageError: A text lacks its name or its shape.
    """
    by_name: dict[str, list[tuple[int, ...]]] = {}
    for name, shape in _named_shapes(texts):
        shapes = by_name.setdefault(name, [])
        if shape not in shapes:
            shapes.append(shape)
    count = max(map(len, by_name.values()), default=1)
    return tuple({name: shapes[min(k, len(shapes) - 1)] for name, shapes in by_name.items()} for k in range(count))


def _named_shapes(texts: Iterable[str]) -> Iterator[tuple[str, tuple[int, ...]]]:
    for text in _parts(texts):
        if _dimension(text) is not None:
            continue
        name, value = split_name(text.strip())
        if not name or not value:
            raise UsageError(
                f"{text!r} is not NAME:SHAPE, nor DIMENSION=SIZE",
                hint="for example --input-shapes image:[1,3,224,224], or --input-shapes batch=2",
            )
        yield name, parse_shape(value)


def parse_range(text: str) -> tuple[float, float]:
    """Return `(low, high)` from `[0,1]`, `(-1,1)` or `0,1`; both ends may be infinite.

    Raises:
        UsageError: Not two numbers, or the low end above the high one.
    """
    body = text.strip()
    if body[:1] in "[(" and body[-1:] in "])":
        body = body[1:-1]
    items = body.split(",")
    try:
        low, high = (float(item) for item in items)
    except ValueError:
        raise UsageError(f"{text!r} is not a range of two numbers", hint="for example --val-range [-1,1]") from None
    if math.isnan(low) or math.isnan(high):
        raise UsageError(f"one end of the range {text!r} is not a number (nan)", hint="for example --val-range [-1,1]")
    if not low <= high:
        raise UsageError(f"the range {text!r} is empty: its low end lies above its high end")
    return low, high


def parse_bool(text: str) -> bool:
    """Return the truth value of `true/false`, `yes/no`, `on/off`, `1/0` in any case."""
    lowered = text.strip().lower()
    if lowered in {"1", "true", "yes", "on"}:
        return True
    if lowered in {"0", "false", "no", "off"}:
        return False
    raise UsageError(f"{text!r} is not true or false")


def split_script(text: str, default: str) -> tuple[str, str]:
    """Return path and name from `FILE.py[:NAME]`; a drive letter's colon belongs to the path."""
    path, colon, name = text.rpartition(":")
    if not colon or (len(path) == 1 and path.isalpha()) or "/" in name or "\\" in name:
        return text, default
    return path, name or default


def names_script(text: str) -> bool:
    """Return whether a text names a file that Python imports, or something in one."""
    endings = tuple(all_suffixes())
    return text.lower().endswith(endings) or text.rpartition(":")[0].lower().endswith(endings)


def pick(values: Mapping[str, T], name: str, default: T) -> T:
    """Return the value meant for a tensor: its own, else a pattern's that matches, else the unnamed one.

    Args:
        values: Values by name, pattern (`*`, `?`, `[…]`), or "" for all.
        name: The tensor.
        default: Used when nothing else applies.
    """
    if name in values:
        return values[name]
    for pattern, value in values.items():
        if pattern and fnmatchcase(name, pattern):
            return value
    return values.get("", default)


def is_named(name: str, patterns: Iterable[str]) -> bool:
    """Return whether a name is among those given, each as the name itself or as a pattern (`*`, `?`, `[…]`)."""
    return any(name == pattern or fnmatchcase(name, pattern) for pattern in patterns)


def unknown_names(values: Iterable[str], names_known: Iterable[str]) -> list[str]:
    """Return the names and patterns among `values` that match none of the known names."""
    names = list(names_known)
    return [
        name for name in values if name and name not in names and not any(fnmatchcase(item, name) for item in names)
    ]


def unique_label(label: str, used: Iterable[str]) -> str:
    """Return the label, with `#2`, `#3`, … appended if it is taken."""
    taken = set(used)
    candidate, number = label, 1
    while candidate in taken:
        number += 1
        candidate = f"{label}#{number}"
    return candidate


def bracketed(texts: Iterable[str]) -> str:
    """Return several values as one text of an instance: `[a,b]`."""
    return f"[{','.join(texts)}]"


def parse_real(text: str | float) -> float:
    """Return a number, infinity included.

    Raises:
        ValueError: The text is invalid, or NaN.
    """
    value = float(text)
    if math.isnan(value):
        raise ValueError("NaN is not a number to compare with")
    return value


def parse_count(text: str) -> int:
    """Return a whole number of 0 or more.

    Raises:
        ValueError: The text is invalid.
    """
    value = int(text)
    if value < 0:
        raise ValueError("it must not be negative")
    return value


def check_at_least_one(options: object, *fields: str) -> None:
    """Check that fields of an options dataclass that hold whole numbers, or None, hold none below 1.

    Args:
        options: The dataclass.
        fields: Names of the fields.

    Raises:
        ValueError: One does; the error names the field.
    """
    for field in fields:
        value = getattr(options, field)
        if value is not None and value < 1:
            raise ValueError(f"{field} must be at least 1, not {value}")


def parse_above_zero(text: str) -> float:
    """Return a number above 0, infinity included.

    Raises:
        ValueError: The text is invalid.
    """
    value = float(text)
    if not value > 0:
        raise ValueError("it must be above zero")
    return value


def parse_confidence(text: str | float) -> float:
    """Return a confidence in per cent: 50 or more, and below 100.

    Raises:
        ValueError: The text is invalid.
    """
    value = parse_real(text)
    if not 50 <= value < 100:
        raise ValueError(f"{text} is no confidence in per cent, which is 50 or more and below 100")
    return value


def parse_tolerance(text: str | float) -> float:
    """Return a tolerance: a finite number of 0 or more.

    Raises:
        ValueError: The text is invalid.
    """
    value = parse_real(text)
    if value < 0:
        raise ValueError(f"{text} is negative; a tolerance is 0 or more")
    if value == math.inf:
        raise ValueError(f"{text} lets everything pass; a tolerance is finite")
    return value


def check_values(values: Mapping[str, object], check: Callable[..., object], field: str) -> None:
    """Check the values of an option by tensor name, as a dataclass that a program makes has them.

    Args:
        values: A value, or a tuple of such, by name.
        check: Raises `ValueError` for what is none; the option's `parse` for example.
        field: Name of the option, for the error.

    Raises:
        ValueError: A value cannot be right.
    """
    for name, value in values.items():
        _check_one(value, check, f"{field} of {name!r}" if name else field)


def _check_one(value: object, check: Callable[..., object], what: str) -> None:
    try:
        for item in value if isinstance(value, tuple) else (value,):
            check(item)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{what}: {error}") from None


def parse_json(text: str | bytes) -> Any:
    """Parse a text in JSON.

    Raises:
        ValueError: It is not JSON, or nested too deeply to be read.
    """
    import json  # few commands read any

    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("its values are nested too deeply") from error
