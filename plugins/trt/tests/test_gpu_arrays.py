"""Arrays wherever they live, pinned or on a device, and whoever made them; and giving memory back."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from engines import affine, batches, identity, plan_of, runner_of
from process_memory import least_growth, used_by_process

from polycmp.errors import BackendError, DataError
from polycmp_trt import (
    Calibrator,
    CreateConfig,
    DeviceView,
    EngineBytesFromNetwork,
    NetworkFromOnnxPath,
    TrtRunner,
    engine_from_network,
    network_from_onnx_bytes,
)

pytestmark = pytest.mark.gpu


class TestDeviceArrays:
    def test_device_arrays_in_and_out(self, batch_plan):
        from polycmp_trt.run.cuda import current, driver

        cuda = driver()
        x = np.random.default_rng(5).random((6, 3), np.float32)
        with runner_of(batch_plan) as runner, current(0):
            address = cuda.mem_alloc(x.nbytes)
            cuda.memcpy_htod(address, x)

            class Foreign:  # what Numba or CuPy give
                dtype, shape = x.dtype, x.shape
                __cuda_array_interface__ = {
                    "shape": x.shape,
                    "typestr": "<f4",
                    "data": (int(address), False),
                    "version": 3,
                    "strides": None,
                    "stream": 1,
                }

            for given in (DeviceView(int(address), x.shape, x.dtype), Foreign()):
                np.testing.assert_array_equal(runner.infer({"x": given})["z"], x)
            out = runner.infer({"x": given}, copy_outputs_to_host=False)
            assert isinstance(out["y"], DeviceView)
            np.testing.assert_allclose(out["y"].numpy(), x * 2 + 1, rtol=1e-6)
            again = runner.infer({"x": out["y"]})["y"]  # an output left on the device may be fed again
            np.testing.assert_allclose(again, (x * 2 + 1) * 2 + 1, rtol=1e-6)
            np.testing.assert_array_equal(runner.infer({"x": x})["z"], x)
            address.free()

    def test_calls_on_the_device_one_after_another(self, batch_plan):
        from polycmp_trt.run.cuda import current, driver

        rng, cuda = np.random.default_rng(6), driver()
        arrays = [rng.random((rows, 3), np.float32) for rows in (6, 6, 6, 4, 4, 6)]
        with runner_of(batch_plan) as runner, current(0):
            places = [cuda.mem_alloc(array.nbytes) for array in arrays]
            for place, array in zip(places, arrays, strict=True):
                cuda.memcpy_htod(place, array)
            for _ in range(2):
                for place, array in zip(places, arrays, strict=True):
                    view = DeviceView(int(place), array.shape, array.dtype)
                    out = runner.infer({"x": view}, copy_outputs_to_host=False)
                    assert out["y"].shape == array.shape
                    np.testing.assert_allclose(out["y"].numpy(), array * 2 + 1, rtol=1e-6)
                    assert runner.last_inference_time() > 0
                np.testing.assert_allclose(runner.infer({"x": arrays[0]})["y"], arrays[0] * 2 + 1, rtol=1e-6)
            with pytest.raises(DataError):
                runner.infer({"x": DeviceView(int(places[0]), (6, 3), np.int64)}, copy_outputs_to_host=False)
            view = DeviceView(int(places[0]), (6, 3), np.float32)
            np.testing.assert_allclose(
                runner.infer({"x": view}, copy_outputs_to_host=False)["y"].numpy(), arrays[0] * 2 + 1, rtol=1e-6
            )
            for place in places:
                place.free()

    def test_a_bare_address(self):
        from polycmp_trt.run.cuda import current, driver

        cuda = driver()
        x = np.float32([[[[1, 2], [3, 4]]]])
        with runner_of(plan_of(identity())) as runner, current(0):
            address = cuda.mem_alloc(x.nbytes)
            cuda.memcpy_htod(address, x)
            np.testing.assert_array_equal(runner.infer({"x": int(address)})["y"], x)
            address.free()

    def test_pinned_and_large_arrays(self):
        from polycmp_trt import pinned_empty
        from polycmp_trt.run.cuda import current

        shape = (3, 1 << 20)  # 12 MiB: staged in pieces
        plan = plan_of(identity(shape))
        x = np.random.default_rng(1).random(shape, np.float32)
        with runner_of(plan) as runner:
            np.testing.assert_array_equal(runner.infer({"x": x})["y"], x)
            with current(0):
                pinned = pinned_empty(shape, np.float32)
            pinned[...] = -x
            np.testing.assert_array_equal(runner.infer({"x": pinned})["y"], -x)
            wide = np.random.default_rng(2).random((3, 2 << 20), np.float32)[:, ::2]
            np.testing.assert_array_equal(runner.infer({"x": wide})["y"], wide)


class Only:
    """An array of somebody's of which nothing is seen but one protocol."""

    def __init__(self, array, *protocol):
        for name in protocol:
            setattr(self, name, getattr(array, name))


class TestTorch:
    @pytest.fixture
    def torch(self):
        torch = pytest.importorskip("torch")
        if not torch.cuda.is_available():
            pytest.skip("this torch cannot use CUDA")
        return torch

    def test_tensors_in_host_and_device_memory(self, torch, batch_plan):
        x = torch.rand(4, 3)
        leaf = x.cuda().requires_grad_()
        with runner_of(batch_plan) as runner:
            for given in (x, x.pin_memory(), x.pin_memory().numpy(), x.cuda(), leaf, x.T.contiguous().cuda().T):
                np.testing.assert_array_equal(runner.infer({"x": given})["z"], x.numpy())

    def test_one_protocol_is_enough(self, torch, batch_plan):
        x = torch.rand(4, 3, device="cuda")
        with runner_of(batch_plan) as runner:
            for protocol in (("__dlpack__", "__dlpack_device__"), ("__cuda_array_interface__",)):
                np.testing.assert_array_equal(runner.infer({"x": Only(x, *protocol)})["z"], x.cpu().numpy())

    def test_new_data_in_the_same_shape_and_a_new_shape(self, torch, batch_plan):
        with runner_of(batch_plan) as runner:
            for rows in (4, 4, 4, 7, 7, 1):
                x = torch.rand(rows, 3, device="cuda")
                np.testing.assert_array_equal(runner.infer({"x": x})["z"], x.cpu().numpy())
                host = np.random.default_rng(rows).random((rows, 3), np.float32)
                np.testing.assert_array_equal(runner.infer({"x": host})["z"], host)

    def test_work_that_is_still_going_on_is_waited_for(self, torch, batch_plan):
        matrix = torch.rand(8192, 8192, device="cuda")
        side = torch.cuda.Stream()
        with runner_of(batch_plan) as runner:
            for value in range(1, 6):
                with torch.cuda.stream(side):
                    x = torch.zeros(4, 3, device="cuda")
                    for _ in range(4):  # some 10 ms of work
                        matrix @ matrix
                    x += value
                    got = runner.infer({"x": x})["z"].copy()
                np.testing.assert_array_equal(got, np.full((4, 3), value, np.float32))

    def test_outputs_on_the_device_become_tensors_without_a_copy(self, torch, batch_plan):
        x = torch.rand(5, 3, device="cuda")
        with runner_of(batch_plan) as runner:
            out = runner.infer({"x": x}, copy_outputs_to_host=False)["y"]
            tensor = torch.as_tensor(out, device="cuda")
            assert tensor.data_ptr() == out.ptr
            torch.testing.assert_close(tensor, x * 2 + 1)

    def test_integers_are_narrowed_and_other_types_are_refused(self, torch):
        from onnx import TensorProto

        plan = plan_of(identity((2, 3), TensorProto.INT32))
        with runner_of(plan) as runner:
            x = torch.arange(6, device="cuda").reshape(2, 3)
            np.testing.assert_array_equal(runner.infer({"x": x})["y"], x.cpu().numpy())
            with pytest.raises(DataError, match="do not fit"):
                runner.infer({"x": x + (1 << 40)})
            with pytest.raises(DataError, match="float16"):
                runner.infer({"x": x.half()})

    def test_calibration_data_on_the_device(self, torch, convolutions):
        def feeds(device):
            generator = torch.Generator().manual_seed(3)
            for _ in range(3):
                yield {"x": torch.randn(2, 64, 32, 32, generator=generator).to(device)}

        caches = []
        for device in ("cuda", "cpu"):
            with Calibrator(feeds(device)) as calibrator:
                config = CreateConfig(int8=True, calibrator=calibrator)
                assert EngineBytesFromNetwork(NetworkFromOnnxPath(convolutions), config)()
                caches.append(calibrator.read_calibration_cache())
        assert caches[0] == caches[1]
        assert caches[0].startswith(b"TRT-")


class TestCuPy:
    def test_arrays_in_and_out(self, batch_plan):
        cupy = pytest.importorskip("cupy")
        x = cupy.arange(12, dtype=cupy.float32).reshape(4, 3)
        with runner_of(batch_plan) as runner:
            np.testing.assert_array_equal(runner.infer({"x": x})["z"], x.get())
            out = runner.infer({"x": x}, copy_outputs_to_host=False)["y"]
            np.testing.assert_array_equal(cupy.asarray(out).get(), x.get() * 2 + 1)
            with pytest.raises(DataError, match="contiguous"):
                runner.infer({"x": cupy.arange(12, dtype=cupy.float32).reshape(3, 4).T})


class TestSecondDevice:
    @pytest.fixture(autouse=True)
    def _two(self):
        from polycmp_trt.run.cuda import driver

        if driver().Device.count() < 2:
            pytest.skip("needs two CUDA devices")

    def test_an_engine_is_built_and_run_there(self):
        from polycmp_trt.run.cuda import current, device_of

        x = np.random.default_rng(0).random((64, 1 << 20), np.float32)  # 256 MiB
        before = used_by_process(0)

        def engine():
            return engine_from_network(network_from_onnx_bytes(identity(x.shape)))

        with TrtRunner(engine, device=1) as runner, current(1):
            np.testing.assert_array_equal(runner.infer({"x": x})["y"], x)
            made = runner.infer({"x": x}, copy_outputs_to_host=False)["y"]
            assert device_of(made.ptr) == 1
            if before is not None:  # the driver tells what this process has
                assert used_by_process(0) - before < 256 << 20

    @pytest.mark.parametrize("here", [0, 1])
    def test_arrays_of_the_other_device_are_fetched(self, here):
        torch = pytest.importorskip("torch")

        def engine():
            return engine_from_network(network_from_onnx_bytes(affine()), CreateConfig(profiles=batches()))

        with TrtRunner(engine, device=here) as runner:
            for device in (here, 1 - here):
                x = torch.rand(6, 3, device=f"cuda:{device}")
                for given in (x, Only(x, "__cuda_array_interface__"), DeviceView(x.data_ptr(), (6, 3), "float32")):
                    if isinstance(given, DeviceView):
                        given.device = device
                    np.testing.assert_array_equal(runner.infer({"x": given})["z"], x.cpu().numpy())
            out = runner.infer({"x": x}, copy_outputs_to_host=False)["y"]
            assert out.device == here
            assert torch.as_tensor(out, device=f"cuda:{here}").data_ptr() == out.ptr
            torch.testing.assert_close(torch.as_tensor(out, device=f"cuda:{here}").cpu(), x.cpu() * 2 + 1)

    def test_from_the_command_line(self, convolutions, tmp_path, capsys):
        from polycmp.cli.main import main

        words = ["run", convolutions, "-b", "trt:device=1", "-b", "trt", "-b", "onnxrt"]
        assert main(words) == 0, capsys.readouterr().err
        engine = str(tmp_path / "there.engine")
        assert main(["convert", convolutions, "-o", engine, "--trt-device", "1"]) == 0, capsys.readouterr().err
        assert main(["run", engine, "-b", "trt:device=1"]) == 0, capsys.readouterr().err


class TestGivingBack:
    def test_no_leak_over_a_thousand_activations(self):
        plan = plan_of(identity())
        runner = runner_of(plan)
        x = np.ones((1, 1, 2, 2), np.float32)

        def activate(times=200):
            for _ in range(times):
                with runner:
                    runner.infer({"x": x})
            gc.collect()

        activate(20)
        assert least_growth(activate, rounds=5) <= 1 << 20

    def test_a_failed_activation_leaves_nothing(self, batch_plan):
        def fail(times=10):
            for _ in range(times):
                runner = runner_of(batch_plan, optimization_profile=9)
                with pytest.raises(BackendError):
                    runner.activate()
                assert not runner.is_active
                assert runner.engine is None
            gc.collect()

        fail(1)
        assert least_growth(fail, rounds=3) <= 1 << 20

    def test_the_engine_of_the_caller_stays(self):
        engine = engine_from_network(network_from_onnx_bytes(identity()))
        for _ in range(2):
            with TrtRunner(engine) as runner:
                assert runner.infer({"x": np.ones((1, 1, 2, 2), np.float32)})["y"].all()
        assert engine.num_io_tensors == 2
