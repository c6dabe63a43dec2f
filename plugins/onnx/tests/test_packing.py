"""Elements of less than a byte, in the layout that ONNX and the runtimes share."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from polycmp.tensors import as_dtype
from polycmp_onnx.packing import pack, unpack, unpacked


def test_the_first_element_is_the_lowest_and_the_last_byte_may_have_fewer():
    assert pack(np.array([1, 2, 15], np.uint8), 4).tolist() == [0x21, 0x0F]
    assert pack(np.array([-1, 1, -8], np.int8), 4).tolist() == [0x1F, 0x08]
    assert pack(np.array([1, 2, 3, 0, 2], np.uint8), 2).tolist() == [0b00_11_10_01, 0b10]
    raw = np.array([0x1F, 0x08], np.uint8)
    assert unpack(raw, 4, as_dtype("int4"), (3, 1)).astype(int).tolist() == [[-1], [1], [-8]]


def test_bytes_are_unpacked_only_where_the_type_is_smaller():
    raw = np.array([0x1F, 0x08], np.uint8)
    assert unpacked(raw, np.dtype(np.uint16), (1,)).tolist() == [0x081F]
    assert unpacked(raw, as_dtype("uint4"), (2, 2)).astype(int).tolist() == [[15, 1], [8, 0]]


@pytest.mark.parametrize("name", ["int4", "uint4", "int2", "uint2", "float4_e2m1fn"])
@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 5, 7, 8])
def test_packing_below_a_byte_and_back(name, size):
    if not hasattr(ml_dtypes, name):
        pytest.skip(f"ml_dtypes {ml_dtypes.__version__} has no {name}")
    dtype, bits = as_dtype(name), int("".join(filter(str.isdigit, name))[0])
    codes = np.arange(size, dtype=np.uint8) % (1 << bits)
    array = unpack(pack(codes, bits), bits, dtype, (size,))
    assert unpack(pack(array, bits), bits, dtype, (size,)).tobytes() == array.tobytes()
    assert (pack(array, bits) == pack(codes, bits)).all()
