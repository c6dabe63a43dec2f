"""Requests and answers as `session.mjs` reads and writes them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from polycmp.tensors import array_of_texts, as_dtype, describe_array, native, to_numpy
from polycmp_onnx.packing import pack, unpack

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polycmp.tensors import Feed

_FOUR_BITS = ("int4", "uint4")


def packed(header: Mapping[str, Any], parts: Sequence[bytes | memoryview]) -> bytes:
    """Return a message: the length of its header, the header with the parts' sizes, and the parts."""
    head = json.dumps({**header, "sizes": [len(part) for part in parts]}).encode()
    return b"".join([len(head).to_bytes(4, "little"), head, *parts])


def unpacked(message: bytes) -> tuple[dict[str, Any], list[memoryview]]:
    """Return the header and the parts of a message."""
    begin = 4 + int.from_bytes(message[:4], "little")
    header = json.loads(message[4:begin])
    parts, view = [], memoryview(message)
    for size in header["sizes"]:
        parts.append(view[begin : begin + size])
        begin += size
    return header, parts


def run_request(feed: Feed) -> bytes:
    """Return the request to run the model on a feed."""
    arrays = {name: np.ascontiguousarray(native(to_numpy(array))) for name, array in feed.items()}
    shapes = {name: np.shape(array) for name, array in feed.items()}  # contiguous arrays have one dimension at least
    described = [{**describe_array(name, array), "shape": shapes[name]} for name, array in arrays.items()]
    return packed({"command": "run", "inputs": described}, [_content(array) for array in arrays.values()])


def _content(array: NDArray[Any]) -> bytes:
    if array.dtype.kind in "OUS":
        return b""
    if array.dtype.name in _FOUR_BITS:
        array = pack(array, 4)
    return bytes(array.tobytes())


def output(described: Mapping[str, Any], content: memoryview) -> NDArray[Any]:
    """Return the array that an answer describes."""
    if "strings" in described:
        return array_of_texts(described)
    dtype, shape = as_dtype(described["dtype"]), tuple(described["shape"])
    if dtype.name not in _FOUR_BITS:
        numbers: NDArray[Any] = np.frombuffer(bytearray(content), dtype)
        return numbers.reshape(shape)
    return unpack(np.frombuffer(content, np.uint8), 4, dtype, shape)
