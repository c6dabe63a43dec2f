"""Tensors as `surgeon extract` is told them: `NAME:SHAPE:DTYPE`, any of it `auto`; and attributes, `NAME=VALUE`."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from polycmp.errors import UsageError
from polycmp.options import split_list, split_name
from polycmp.tensors import TensorMetadata, as_dtype

AUTO = "auto"


def parse_tensors(texts: Iterable[str], option: str) -> TensorMetadata:
    """Return the tensors that are asked for; what is `auto` or missing is None.

    A name may hold colons: the text after the last ones counts as shape and type only if it can be one.

    Args:
        texts: `NAME`, `NAME:SHAPE`, `NAME:DTYPE` or `NAME:SHAPE:DTYPE`.
        option: The option that they came from, for the error.

    Raises:
        UsageError: A shape or a type cannot be one.
    """
    metadata = TensorMetadata()
    for text in texts:
        name, dtype, shape = text.strip(), None, None
        head, last = split_name(name)
        if head and _means_dtype(last):
            name, dtype = head, (None if last == AUTO else as_dtype(last))
            head, last = split_name(name)
        if head and (last == AUTO or last[:1] in {"[", "("}):
            name, shape = head, (None if last == AUTO else parse_dims(last, option))
        elif head and dtype is None and ":" in text and not _looks_like_a_port(last):
            raise UsageError(f"{last!r} is neither a shape nor a type", whose=option, hint=f"{head}:[1,3]:float32")
        metadata.add(name, dtype, shape)
    return metadata


def _looks_like_a_port(text: str) -> bool:
    return text.isdecimal()  # as in `conv1:0`, which is a name


def _means_dtype(text: str) -> bool:
    if text == AUTO:
        return True
    try:
        as_dtype(text)
    except Exception:  # noqa: BLE001 - whatever is no type is something else
        return False
    return bool(text) and not text.isdecimal()


def parse_dims(text: str, option: str) -> list[int | str]:
    """Return the dimensions from `[1,3,height,-1]`: numbers, -1 for one that is not known, or its name.

    Raises:
        UsageError: It is not in brackets.
    """
    text = text.strip()
    if text[:1] not in {"[", "("} or text[-1:] not in {"]", ")"}:
        raise UsageError(f"{text!r} is not a shape", whose=option, hint="write it in brackets: [1,3,224,224]")
    return [_dim(part.strip().strip("'\"")) for part in split_list(text[1:-1]) if part.strip()]


def _dim(text: str) -> int | str:
    try:
        return max(int(text), -1)
    except ValueError:
        return -1 if text in {"?", "None"} else text


def parse_shapes(texts: Iterable[str]) -> dict[str, list[int | str]]:
    """Return the shapes of `--override-input-shapes` by name, from `NAME:[D0,D1,…]`.

    Raises:
        UsageError: A text is none.
    """
    option, shapes = "--override-input-shapes", {}
    for text in texts:
        name, shape = split_name(text.strip())
        if not name:
            raise UsageError(f"{text!r} is not NAME:SHAPE", whose=option, hint=f"{option} image:[1,3,224,224]")
        shapes[name] = parse_dims(shape, option)
    return shapes


def parse_attributes(texts: Iterable[str]) -> dict[str, Any]:
    """Return attributes by name from `NAME=VALUE`: numbers, quoted or bare text, or lists of these.

    Raises:
        UsageError: A text is none.
    """
    attributes = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UsageError(f"{text!r} is not NAME=VALUE", whose="--attrs", hint="--attrs axis=1 pads=[0,0]")
        attributes[name] = _attribute(value, text)
    return attributes


def _attribute(value: str, text: str) -> Any:
    try:
        literal = ast.literal_eval(value)
    except (ValueError, SyntaxError):
        if value[:1] in {"[", "("}:
            return [_attribute(item.strip(), text) for item in split_list(value[1:-1])]
        return value
    if isinstance(literal, bool):
        return int(literal)
    literal = list(literal) if isinstance(literal, tuple) else literal
    items = literal if isinstance(literal, list) else [literal]
    if not items or any(not isinstance(item, (int, float, str)) or type(item) is not type(items[0]) for item in items):
        raise UsageError(
            f"{value!r} cannot be an attribute", whose=f"--attrs {text}", hint="numbers, text, or a list of one kind"
        )
    return literal
