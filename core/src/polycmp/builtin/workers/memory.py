"""Tensors in memory that two processes share, found by file descriptor and gone with the last of the two."""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Mapping
from typing import Any

import numpy as np

from polycmp.process import beside_standard
from polycmp.tensors import array_of_texts, as_dtype, describe_array, native, to_numpy

#: Tensors start at multiples of this many bytes, as vector instructions and libraries like it.
ALIGNMENT = 64


def create() -> int:
    """Return the file descriptor of new shared memory of size 0; it has no name anywhere."""
    if hasattr(os, "memfd_create"):
        return beside_standard(os.memfd_create("polycmp"))
    with tempfile.TemporaryFile() as file:
        return beside_standard(os.dup(file.fileno()))


class Arena:
    """Shared memory that one side fills and the other reads; it grows and never shrinks.

    Args:
        descriptor: From `create`, here or in the other process.
    """

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._map: mmap.mmap | None = None
        self._size = 0

    def put(self, tensors: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Copy tensors in and return where each one is; what was in before is overwritten."""
        arrays = {name: native(to_numpy(array)) for name, array in tensors.items()}
        places, offset = [], 0
        for name, array in arrays.items():
            place = describe_array(name, array)
            if "strings" not in place:
                place["offset"] = offset
                offset += -(-array.nbytes // ALIGNMENT) * ALIGNMENT
            places.append(place)
        self._grow(offset)
        for place, array in zip(places, arrays.values(), strict=True):
            if "offset" in place and array.size:
                self._view(place, array.dtype)[...] = array
        return places

    def get(self, places: list[dict[str, Any]]) -> dict[str, Any]:
        """Return the tensors at these places as views, valid until the other side puts new ones."""
        tensors = {}
        for place in places:
            is_text = "strings" in place
            tensors[place["name"]] = array_of_texts(place) if is_text else self._view(place, as_dtype(place["dtype"]))
        return tensors

    def close(self) -> None:
        """Let go of the memory; views that are still in use keep their part alive."""
        self._map = None
        os.close(self.descriptor)

    def _grow(self, size: int) -> None:
        if size > self._size:
            os.ftruncate(self.descriptor, size)
            self._map = None

    def _view(self, place: Mapping[str, Any], dtype: np.dtype[Any]) -> Any:
        count = int(np.prod(place["shape"], dtype=np.int64))
        if count == 0:
            return np.empty(place["shape"], dtype)
        size = os.fstat(self.descriptor).st_size
        if self._map is None or size > self._size:
            self._size = size
            self._map = mmap.mmap(self.descriptor, size)
        flat = np.frombuffer(self._map, np.uint8, count * dtype.itemsize, place["offset"])
        return flat.view(dtype).reshape(place["shape"])
