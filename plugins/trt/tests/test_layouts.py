"""Layouts, element types and views of device memory: everything about memory that needs no device."""

from __future__ import annotations

import ctypes
import gc
import math

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polycmp.errors import BackendError, DataError
from polycmp_onnx.packing import pack
from polycmp_trt.run.layout import Layout, is_packed, numpy_dtype, storage_bytes
from polycmp_trt.run.views import DeviceView, capsule_pointer, device_view, is_pinned


def strides_of(dims, order):
    """Strides of dimensions laid out in an order, outermost first."""
    strides, step = [0] * len(dims), 1
    for axis in reversed(order):
        strides[axis] = step
        step *= dims[axis]
    return tuple(strides)


@settings(deadline=None)
@given(st.permutations(range(4)), st.sampled_from([1, 2, 4, 8, 16, 32]), st.tuples(*[st.integers(0, 7)] * 4))
def test_what_goes_in_comes_out(order, components, shape):
    vectors = [shape[0], -(-shape[1] // components), *shape[2:]]
    layout = Layout(shape, strides_of(vectors, order), 1 if components > 1 else -1, components)
    x = np.arange(math.prod(shape), dtype=np.float32).reshape(shape) + 1
    flat = np.full(layout.count, np.nan, np.float32)
    layout.fill(flat, x)
    np.testing.assert_array_equal(layout.extract(flat), x)
    assert np.count_nonzero(flat) == x.size, "padding is zero"


def test_channels_last_and_vectors_lie_where_tensorrt_expects_them():
    x = np.arange(2 * 3 * 2 * 2, dtype=np.float16).reshape(2, 3, 2, 2)
    hwc = Layout(x.shape, strides_of(x.shape, (0, 2, 3, 1)))
    flat = np.empty(hwc.count, x.dtype)
    hwc.fill(flat, x)
    np.testing.assert_array_equal(flat, x.transpose(0, 2, 3, 1).reshape(-1))
    chw4 = Layout(x.shape, (4, 4, 2, 1), 1, 4)  # one vector of four channels, the last of them padding
    flat = np.empty(chw4.count, x.dtype)
    chw4.fill(flat, x)
    np.testing.assert_array_equal(flat.reshape(2, 2, 2, 4)[..., :3], x.transpose(0, 2, 3, 1))
    assert not flat.reshape(2, 2, 2, 4)[..., 3].any()


@pytest.mark.parametrize(
    ("layout", "linear"),
    [
        (Layout((2, 3), (3, 1)), True),
        (Layout((2, 1, 3), (3, 99, 1)), True),
        (Layout((0, 3), (7, 7)), True),
        (Layout((), ()), True),
        (Layout((2, 3), (1, 2)), False),
        (Layout((2, 3), (3, 1), 1, 4), False),
    ],
)
def test_plain_order_is_recognised(layout, linear):
    assert layout.linear is linear


@pytest.mark.parametrize("name", ["int4", "uint4", "float4_e2m1fn"])
@pytest.mark.parametrize("shape", [(0,), (1,), (3, 3), (2, 8)])
def test_four_bit_elements_share_bytes(name, shape):
    dtype = np.dtype(getattr(ml_dtypes, name))
    x = np.zeros(shape, dtype)
    assert is_packed(dtype)
    assert pack(x, 4).size == storage_bytes(x.size, dtype) == (x.size + 1) // 2


def test_types_of_tensorrt():
    class Member:
        name = "BF16"

    assert numpy_dtype(Member).name == "bfloat16"
    Member.name = "COMPLEX"
    with pytest.raises(BackendError, match="COMPLEX"):
        numpy_dtype(Member)


class RegisteredHostMemory:
    """Pinned memory by its type's name."""

    __array_interface__ = np.zeros(4, np.float32).__array_interface__


class TestViews:
    def test_what_others_see(self):
        view = DeviceView(4096, (2, 3), "float16")
        assert view.nbytes == 12
        assert view.__cuda_array_interface__ == {
            "shape": (2, 3),
            "typestr": "<f2",
            "data": (4096, False),
            "strides": None,
            "version": 3,
            "stream": None,
        }
        assert DeviceView(1, (2,), "bfloat16").__cuda_array_interface__["typestr"] == "<u2"

    def test_arrays_on_the_host_are_none(self):
        assert device_view(np.zeros(3)) is None
        assert device_view([1, 2]) is None
        assert device_view(OnHost()) is None

    def test_the_array_interface_is_understood(self):
        view = device_view(Foreign(shape=(2, 3), strides=(12, 4)))
        assert (view.ptr, view.shape, view.dtype) == (640, (2, 3), np.float32)
        with pytest.raises(DataError, match="not contiguous"):
            device_view(Foreign(shape=(2, 3), strides=(24, 8)))
        assert device_view(Foreign(shape=(2, 1, 3), strides=(12, 999, 4))).shape == (2, 1, 3)

    def test_dlpack_is_understood_and_given_back(self):
        source = OnDevice(np.arange(12, dtype=np.int16).reshape(3, 4)[1:])
        view = device_view(source, stream=77)
        assert view.shape == (2, 4)
        assert view.dtype == np.int16
        assert source.asked == 77
        again = np.frombuffer(ctypes.string_at(view.ptr, view.nbytes), np.int16).reshape(view.shape)
        np.testing.assert_array_equal(again, source.array)
        assert view.owner[1] is source

    def test_pinned_arrays_are_recognised_by_their_owner(self):
        assert is_pinned(np.asarray(RegisteredHostMemory())[1:])
        assert not is_pinned(np.zeros((4, 4))[1:])
        assert not is_pinned(np.zeros(4))

    def test_a_view_that_can_only_be_read_is_pinned_where_its_memory_is(self):
        from polycmp._arrays import read_only

        assert is_pinned(read_only(np.asarray(RegisteredHostMemory())))
        assert not is_pinned(read_only(np.zeros(4)))


class Foreign:
    dtype = np.dtype(np.float32)

    def __init__(self, shape, strides):
        self.shape = shape
        self.__cuda_array_interface__ = {
            "shape": shape,
            "typestr": "<f4",
            "data": (640, False),
            "strides": strides,
            "version": 3,
        }


class OnHost:
    def __dlpack__(self, stream=None):
        raise AssertionError("not asked")

    def __dlpack_device__(self):
        return (1, 0)


class OnDevice:
    """A host array that says it is on a device, so that its capsule can be read here."""

    def __init__(self, array):
        self.array = array
        self.asked = None

    def __dlpack__(self, stream=None):
        self.asked = stream
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return (2, 0)


def test_a_capsule_that_was_not_taken_over_frees_its_tensor():
    array = np.zeros(5)
    view = device_view(OnDevice(array))
    assert capsule_pointer(view.owner[0], b"dltensor")
    del view
    gc.collect()
