"""What a model file says of its inputs, outputs and operators, read without `onnx`.

Importing `onnx` takes as long as running a small model. The messages here are read from the file's bytes on demand;
they have the names of the fields of `onnx.proto` that a description needs. Fields are told apart by their numbers
there, in the encoding that protobuf documents as its wire format.
"""

from __future__ import annotations

import mmap
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from polycmp_onnx.structure import fields, read_varint

#: Beyond this many operators, tensors and weights, importing `onnx` to parse them is faster than reading them here.
_MOST_ITEMS = 4096


class _Field(NamedTuple):
    """A field: its number; `"int"`, `"str"`, `"bytes"` or the kind of message in it; whether there may be several."""

    number: int
    kind: str
    several: bool = False


_KINDS: Mapping[str, Mapping[str, _Field]] = {
    "model": {"graph": _Field(7, "graph"), "opset_import": _Field(8, "opset", several=True)},
    "opset": {"domain": _Field(1, "str"), "version": _Field(2, "int")},
    "any": {},
    "graph": {
        "node": _Field(1, "node", several=True),
        "initializer": _Field(5, "tensor", several=True),
        "input": _Field(11, "value", several=True),
        "output": _Field(12, "value", several=True),
        "value_info": _Field(13, "value", several=True),
        "sparse_initializer": _Field(15, "sparse", several=True),
    },
    "node": {
        "input": _Field(1, "str", several=True),
        "output": _Field(2, "str", several=True),
        "op_type": _Field(4, "str"),
        "attribute": _Field(5, "attribute", several=True),
        "domain": _Field(7, "str"),
    },
    "attribute": {"name": _Field(1, "str"), "i": _Field(3, "int"), "t": _Field(5, "tensor")},
    "sparse": {"values": _Field(1, "tensor")},
    "tensor": {
        "dims": _Field(1, "int", several=True),
        "data_type": _Field(2, "int"),
        "float_data": _Field(4, "bytes"),
        "name": _Field(8, "str"),
        "raw_data": _Field(9, "bytes"),
    },
    "value": {"name": _Field(1, "str"), "type": _Field(2, "type")},
    "type": {
        "tensor_type": _Field(1, "tensor_type"),
        "sequence_type": _Field(4, "any"),
        "map_type": _Field(5, "any"),
        "sparse_tensor_type": _Field(8, "any"),
        "optional_type": _Field(9, "any"),
    },
    "tensor_type": {"elem_type": _Field(1, "int"), "shape": _Field(2, "shape")},
    "shape": {"dim": _Field(1, "dim", several=True)},
    "dim": {"dim_value": _Field(1, "int"), "dim_param": _Field(2, "str")},
}


def read_outline(file: Path) -> Any | None:
    """Return what has the fields of an `onnx.ModelProto` that a description needs.

    Args:
        file: The file.

    Returns:
        None where `onnx` had better read the file: it has too many operators, is no model in protobuf's binary
        form, or cannot be read; `onnx` then says why.
    """
    try:
        model = read_model(file)
        if not (model.opset_import and model.HasField("graph")) or _items(model.graph) > _MOST_ITEMS:
            return None
    except (OSError, ValueError):
        return None
    return model


def read_model(file: Path) -> Message:
    """Return what a file holds, of which nothing is decoded yet.

    Raises:
        OSError: It cannot be read.
        ValueError: It is no model in protobuf's binary form.
    """
    with file.open("rb") as stream:
        return Message(memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)), "model")


def _items(graph: Message) -> int:
    return sum(graph.count(name) for name in ("node", "initializer", "input", "output", "value_info"))


class Message:
    """A message whose fields are decoded when they are asked for.

    Args:
        content: Its bytes.
        kind: What it is, a key of `_KINDS`.

    Raises:
        ValueError: It ends too early, or is no protobuf; a field may raise the same when it is asked for.
    """

    def __init__(self, content: memoryview, kind: str) -> None:
        self._known = _KINDS[kind]
        self._found = _split(content)

    def __getattr__(self, name: str) -> Any:
        """Return a field's value, or the default of its kind."""
        field = None if name.startswith("_") else self._known.get(name)
        if field is None:
            raise AttributeError(name)
        values = [part for item in self._found.get(field.number, ()) for part in _decoded(item, field.kind)]
        if field.several:
            value: Any = values
        elif values:
            value = values[-1]
        else:
            value = {"int": 0, "str": "", "bytes": b""}.get(field.kind)
            value = Message(memoryview(b""), field.kind) if value is None else value
        setattr(self, name, value)
        return value

    def HasField(self, name: str) -> bool:  # noqa: N802  protobuf's name
        """Return whether a field is there."""
        return self._known[name].number in self._found

    def WhichOneof(self, _group: str) -> str | None:  # noqa: N802  protobuf's name
        """Return the name of the field that is there, of a kind of message in which there is at most one."""
        return next((name for name in self._known if self.HasField(name)), None)

    def count(self, name: str) -> int:
        """Return how often a field is there."""
        return len(self._found.get(self._known[name].number, ()))


def _decoded(item: int | memoryview, kind: str) -> list[Any]:
    """Return the values in one occurrence of a field: of numbers there may be several, one behind the other."""
    if kind == "int":
        if isinstance(item, int):
            return [_signed(item)]
        values, position = [], 0
        while position < len(item):
            value, position = read_varint(item, position)
            values.append(_signed(value))
        return values
    if isinstance(item, int):
        raise ValueError("it has a number where it should have a text or a message")
    if kind == "bytes":
        return [item]
    return [str(item, "utf-8") if kind == "str" else Message(item, kind)]


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def _split(content: memoryview) -> dict[int, list[int | memoryview]]:
    """Return what a message holds by the numbers of its fields; those of fixed width are left out."""
    found: dict[int, list[int | memoryview]] = {}
    for number, _, _, value in fields(content):
        if value is not None:
            found.setdefault(number, []).append(value)
    return found
