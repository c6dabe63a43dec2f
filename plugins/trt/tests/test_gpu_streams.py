"""Streams and device arrays of a program's own, and TensorRT driven with them as diffusion pipelines do."""

from __future__ import annotations

import numpy as np
import pytest
from engines import affine, batches, plan_of

from polycmp.errors import BackendError, DataError
from polycmp_trt import DeviceArray, DeviceView, EngineFromBytes, Stream

pytestmark = pytest.mark.gpu


def test_an_engine_runs_on_a_stream_and_arrays_of_the_programs_own():
    import tensorrt as trt

    engine = EngineFromBytes(plan_of(affine(), profiles=batches()))()
    context = engine.create_execution_context()
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    with Stream() as stream:
        context.set_optimization_profile_async(0, stream.ptr)
        context.set_input_shape("x", x.shape)
        tensors = {}
        for index in range(engine.num_io_tensors):
            name = engine.get_tensor_name(index)
            tensors[name] = DeviceArray(
                tuple(context.get_tensor_shape(name)), trt.nptype(engine.get_tensor_dtype(name))
            )
            context.set_tensor_address(name, tensors[name].ptr)
        y = np.empty_like(x)
        tensors["x"].copy_from(x, stream)
        assert context.execute_async_v3(stream.ptr)
        assert tensors["y"].copy_to(y, stream) is y
        stream.synchronize()
        np.testing.assert_allclose(y, x * 2 + 1, rtol=1e-6)
        np.testing.assert_array_equal(tensors["z"].numpy(), x)
        for array in tensors.values():
            array.free()


def test_an_array_keeps_its_memory_while_it_fits():
    with DeviceArray((4, 3), np.float32) as array:
        address, held = array.ptr, array.allocated_nbytes
        assert (array.nbytes, array.itemsize) == (48, 4)
        assert array.resize((2, 3)) is array
        assert (array.ptr, array.shape, array.nbytes, array.allocated_nbytes) == (address, (2, 3), 24, held)
        array.resize((1000, 1000))
        assert array.allocated_nbytes >= 4_000_000
    assert (array.ptr, array.shape, array.allocated_nbytes) == (0, (), 0)
    array.free()
    array.resize((2,))
    np.testing.assert_array_equal(array.copy_from(np.float32([1, 2])).numpy(), np.float32([1, 2]))


def test_raw_memory_takes_any_type_and_is_seen_as_another():
    x = np.arange(6, dtype=np.int64)
    with DeviceArray.raw((64,)) as array:
        array.copy_from(x)
        view = array.view((2, 3), np.int64)
        assert isinstance(view, DeviceView)
        np.testing.assert_array_equal(view.numpy(), x.reshape(2, 3))
        with pytest.raises(DataError, match="does not fit"):
            array.view((9,), np.int64)


def test_without_a_shape_it_holds_one_element():
    with DeviceArray() as array:
        assert (array.shape, array.nbytes) == ((), 4)
        assert array.ptr != 0
        assert float(array.copy_from(np.float32(2.5)).numpy()) == 2.5


def test_no_elements_are_copied_without_a_word():
    with DeviceArray((0, 3), np.float32) as array:
        assert array.copy_from(np.empty((0, 3), np.float32)).numpy().shape == (0, 3)
        assert array.copy_to(np.empty((0, 3), np.float32)).shape == (0, 3)


@pytest.mark.parametrize("stream", [False, True])
def test_what_does_not_fit_is_refused(stream):
    with DeviceArray((4,), np.float32) as array, Stream() as other:
        given = other if stream else None
        with pytest.raises(DataError, match="20 bytes do not fit into the 16"):
            array.copy_from(np.zeros(5, np.float32), given)
        with pytest.raises(DataError, match="16 bytes do not fit into the 12"):
            array.copy_to(np.zeros(3, np.float32), given)
        with pytest.raises(DataError, match="not contiguous"):
            array.copy_from(np.zeros((4, 4), np.float32)[:, 0], given)


def test_a_freed_stream_says_so():
    stream = Stream()
    assert stream.ptr != 0
    stream.synchronize()
    stream.free()
    stream.free()
    assert stream.ptr == 0
    with pytest.raises(BackendError, match="was freed"):
        stream.synchronize()


def test_memory_is_given_back():
    from polycmp_trt.run.cuda import current, driver

    with current():
        free, total = driver().mem_get_info()
    size = free // 4
    for _ in range(6):  # what is not given back would be more than there is
        with DeviceArray.raw((size,)) as array:
            assert array.ptr
    assert total > size


def test_pytorch_works_on_the_same_stream_and_memory():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("this PyTorch has no CUDA")
    with Stream() as stream, DeviceArray((3,), np.float32) as array:
        array.copy_from(np.float32([1, 2, 3]), stream)
        with torch.cuda.stream(torch.cuda.ExternalStream(stream.ptr)):
            seen = torch.as_tensor(array, device="cuda")
            seen *= 2
        stream.synchronize()
        host = torch.empty(3)
        assert array.copy_to(host) is host
        assert host.tolist() == [2, 4, 6]
