"""Values as people type them: shapes, ranges, sizes, values per tensor, references to scripts.

Every function takes text and either returns the value or raises `UsageError` with the corrected spelling.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, TypeVar

from polycmp.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

T = TypeVar("T")

_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_SIZE = r"(?P<number>[0-9]+(?:\.[0-9]*)?(?:e[+-]?[0-9]+)?)\s*(?P<unit>[kmgt]?)(?:i?b)?"


def split_list(text: str, separator: str = ",") -> list[str]:
    """Split text at separators that lie outside brackets and quotes.

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
        if char == separator and depth == 0 and not quote:
            parts.append(current)
            current = ""
        else:
            current += char
    if depth != 0 or quote:
        raise UsageError(f"unbalanced {'quote' if quote else 'bracket'} in {text!r}")
    return [*parts, current]


def unquote(text: str) -> str:
    """Return text without one pair of matching quotes around it."""
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1]
    return text


def parse_size(text: str) -> int:
    """Return a number of bytes from `1048576`, `1e9`, `512M`, `2G`, `2GiB` (units are powers of 1024)."""
    match = re.fullmatch(_SIZE, text.strip(), re.IGNORECASE)
    if not match:
        raise UsageError(f"{text!r} is not a size", hint="write a number with K, M or G behind it, for example 512M")
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
    """Split `NAME:VALUE` at the last colon outside brackets; without one the name is empty."""
    head, depth = len(text), 0
    for index in range(len(text) - 1, -1, -1):
        if text[index] in "])":
            depth += 1
        elif text[index] in "[(":
            depth -= 1
        elif text[index] == ":" and depth == 0:
            head = index
            break
    else:
        return "", text
    return unquote(text[:head]), text[head + 1 :]


def parse_named_shapes(texts: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """Return `{name: shape}` from texts such as `x:[1,3]`; one text may hold several, comma-separated.

    Raises:
        UsageError: A text lacks its name or its shape, or a name is given twice with different shapes.
    """
    shapes: dict[str, tuple[int, ...]] = {}
    for name, shape in _named_shapes(texts):
        if shapes.setdefault(name, shape) != shape:
            raise UsageError(f"two shapes for {name!r}: {list(shapes[name])} and {list(shape)}", hint="give one")
    return shapes


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
    for text in (part for whole in texts for part in split_list(whole)):
        name, value = split_name(text.strip())
        if not name or not value:
            raise UsageError(f"{text!r} is not NAME:SHAPE", hint="for example --input-shapes image:[1,3,224,224]")
        yield name, parse_shape(value)


def parse_named(
    texts: Iterable[str], convert: Callable[[str], T], *, option: str = "", known_keys_only: bool = False
) -> dict[str, T]:
    """Return `{name: value}` from texts such as `1e-3` (name "" = default for all) or `logits:1e-2`.

    Args:
        texts: One value each.
        convert: Turns one value into what is wanted; raises ValueError or UsageError.
        option: The option these came from, for the error.
        known_keys_only: Refuse values without a name.
    """
    values: dict[str, T] = {}
    for text in texts:
        name, value = split_name(text.strip())
        if known_keys_only and not name:
            raise UsageError(f"{option or 'value'}: {text!r} lacks the name in front: NAME:VALUE")
        try:
            values[name] = convert(value)
        except (ValueError, UsageError) as error:
            why = error.what if isinstance(error, UsageError) else str(error)
            raise UsageError(f"{option + ': ' if option else ''}{text!r} is not understood", why=why) from None
    return values


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
    raise UsageError(f"{text!r} is neither true nor false")


def split_script(text: str, default: str) -> tuple[str, str]:
    """Return path and name from `FILE.py[:NAME]`; a drive letter's colon belongs to the path."""
    path, colon, name = text.rpartition(":")
    if not colon or (len(path) == 1 and path.isalpha()) or "/" in name or "\\" in name:
        return text, default
    return path, name or default


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


def unknown_names(values: Iterable[str], known: Iterable[str]) -> list[str]:
    """Return the names and patterns among `values` that match none of the known names."""
    names = list(known)
    return [
        name for name in values if name and name not in names and not any(fnmatchcase(item, name) for item in names)
    ]


def unique_label(label: str, used: Iterable[str]) -> str:
    """Return the label, with `#2`, `#3`, … behind it if it is taken."""
    taken = set(used)
    candidate, number = label, 1
    while candidate in taken:
        number += 1
        candidate = f"{label}#{number}"
    return candidate
