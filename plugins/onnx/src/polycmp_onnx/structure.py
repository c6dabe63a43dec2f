"""A model's structure without its weights: read in milliseconds, however large the file is.

Protobuf has no lazy parsing, and parsing 90 MB for a list of names takes longer than the names are worth. This walks
the file's outermost fields only and leaves out the content of large initializers. The field numbers are those of
`onnx.proto`, and the encoding is the one that protobuf documents as its wire format.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onnx import ModelProto

GRAPH_OF_MODEL = 7
INITIALIZER_OF_GRAPH = 5
#: float_data, int32_data, string_data, int64_data, raw_data, double_data, uint64_data of a TensorProto
CONTENT_OF_TENSOR = frozenset({4, 5, 6, 7, 9, 10, 11})
RAW_DATA, EXTERNAL_DATA, DATA_LOCATION = 9, 13, 14
_REFERENCE = frozenset({RAW_DATA, EXTERNAL_DATA, DATA_LOCATION})
#: Initializers up to this many bytes keep their content, since shape inference wants the shapes that some hold.
KEPT_BYTES = 4096
#: Weights of less than this many bytes in all are as well read as mapped.
_WORTH = 1 << 20
#: Encodings of a field.
_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5


def read_structure(file: Path, location: str = "") -> ModelProto:
    """Return the model in a `.onnx` file, its large initializers without their content.

    Args:
        file: The file.
        location: Name of the file in references to it: if given, an initializer whose content is left out says
            as external data where in the file that lies, and one whose content cannot be referred to keeps it.

    Raises:
        ValueError: The file ends too early, or is no protobuf.
        google.protobuf.message.DecodeError: What is left is no ONNX model.
    """
    import onnx

    def lightened(tensor: memoryview, start: int) -> bytes:
        if len(tensor) <= KEPT_BYTES:
            return bytes(tensor)
        return _referring(tensor, start, location) if location else _without_content(tensor)

    model = onnx.ModelProto()
    model.ParseFromString(_with_initializers(file, lightened))
    return model


def referring_to_itself(file: Path) -> bytes | None:
    """Return a `.onnx` file's content with references to its own large weights in place of these.

    Its weights can be mapped from the file instead of reading, parsing and copying them. The locations begin in
    the file's folder.

    Returns:
        None where there is nothing to gain, or where references would mean something else than in the file: it is a
        link, refers to other files already, or cannot be read.
    """
    outside, saved_bytes = False, 0

    def lightened(tensor: memoryview, start: int) -> bytes:
        nonlocal outside, saved_bytes
        if len(tensor) <= KEPT_BYTES:
            return bytes(tensor)
        outside = outside or any(field in {EXTERNAL_DATA, DATA_LOCATION} for field, *_ in fields(tensor))
        reference = _referring(tensor, start, file.name)
        saved_bytes += len(tensor) - len(reference)
        return reference

    try:
        content = None if file.is_symlink() else _with_initializers(file, lightened)
    except (OSError, ValueError):
        return None
    return None if outside or saved_bytes < _WORTH else content


def _with_initializers(file: Path, change: Callable[[memoryview, int], bytes]) -> bytes:
    """Return a file's content with each initializer changed by a function of its bytes and of where they begin."""

    def changed(graph: memoryview, start: int) -> bytes:
        return _rewritten(graph, INITIALIZER_OF_GRAPH, change, start)

    with file.open("rb") as stream:
        # Not closed: while what was cut short is looked at that is an error, in place of the one that says so.
        content = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    return _rewritten(memoryview(content), GRAPH_OF_MODEL, changed, 0)


def _rewritten(message: memoryview, number: int, change: Callable[[memoryview, int], bytes], offset: int) -> bytes:
    """Return a message with each of its submessages of one number changed.

    Args:
        message: The message.
        number: Field number of the submessages.
        change: Gets a submessage and where in the file it begins.
        offset: Offset of the message in the file.
    """
    parts = []
    for field, start, end, content in fields(message):
        if field == number and isinstance(content, memoryview):
            changed = change(content, offset + end - len(content))
            content.release()
            parts += [_varint(number << 3 | _LENGTH), _varint(len(changed)), changed]
        else:
            parts.append(bytes(message[start:end]))
    return b"".join(parts)


def _without_content(tensor: memoryview) -> bytes:
    spans = [(start, end) for field, start, end, _ in fields(tensor) if field not in CONTENT_OF_TENSOR]
    return b"".join(bytes(tensor[start:end]) for start, end in spans)


def _referring(tensor: memoryview, offset: int, location: str) -> bytes:
    """Return a tensor with a reference in place of its content, or as it is if that does not lie there as raw bytes."""
    all_fields = list(fields(tensor))
    raw_data = [
        (end, len(raw)) for field, _, end, raw in all_fields if field == RAW_DATA and isinstance(raw, memoryview)
    ]
    others = [field for field, *_ in all_fields if field in CONTENT_OF_TENSOR and field != RAW_DATA]
    if len(raw_data) != 1 or others or raw_data[0][1] <= KEPT_BYTES:
        return bytes(tensor)
    end, length = raw_data[0]
    entries = {"location": location, "offset": str(offset + end - length), "length": str(length)}
    parts = [bytes(tensor[start:stop]) for field, start, stop, _ in all_fields if field not in _REFERENCE]
    for key, text in entries.items():
        parts.append(_message(EXTERNAL_DATA, _message(1, key.encode()) + _message(2, text.encode())))
    return b"".join([*parts, _varint(DATA_LOCATION << 3 | _VARINT), _varint(1)])


def _message(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | _LENGTH) + _varint(len(content)) + content


def fields(message: memoryview) -> Iterator[tuple[int, int, int, int | memoryview | None]]:
    """Yield number, first and last byte of each field, and its value: a number, bytes, or None for one of fixed width.

    Raises:
        ValueError: It is no protobuf message, or ends too early.
    """
    position = 0
    while position < len(message):
        start = position
        tag, position = read_varint(message, position)
        value: int | memoryview | None = None
        kind = tag & 7
        if kind == _VARINT:
            value, position = read_varint(message, position)
        elif kind == _LENGTH:
            length, position = read_varint(message, position)
            value = message[position : position + length]
            position += length
        elif kind in {_FIXED32, _FIXED64}:
            position += 4 if kind == _FIXED32 else 8
        else:
            raise ValueError("it is not a protobuf message")
        if position > len(message):
            raise ValueError("it ends in the middle of a field")
        yield tag >> 3, start, position, value


def read_varint(message: memoryview, position: int) -> tuple[int, int]:
    """Return a number and the position after it.

    Raises:
        ValueError: The message ends before it, or it is too long.
    """
    value = shift = 0
    while True:
        if position >= len(message) or shift > 63:
            raise ValueError("it ends in the middle of a number")
        byte = message[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return value, position
        shift += 7


def _varint(value: int) -> bytes:
    result = bytearray()
    while value > 0x7F:
        result.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*result, value])
