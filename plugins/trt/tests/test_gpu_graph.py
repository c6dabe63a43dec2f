"""Inference as a CUDA graph, and what a repeated inference records."""

from __future__ import annotations

import json

import faulty_models
import numpy as np
import pytest
from engines import affine, batches, model, plan_of, runner_of
from onnx import TensorProto, helper

from polycmp.cli.main import main
from polycmp.errors import BackendError
from polycmp_trt import DeviceBuffer, DeviceView, EngineFromBytes, Profile, TrtRunner

pytestmark = pytest.mark.gpu


def rows(count, seed=0):
    return np.random.default_rng(seed).random((count, 3), np.float32)


def recorded(runner):
    """Return how many graphs a runner holds."""
    return sum(graph is not None for graph in runner._graph._graphs.values())


class TestGraph:
    def test_new_numbers_give_new_results(self, batch_plan):
        with runner_of(batch_plan, cuda_graph=True) as runner:
            for seed in range(5):
                x = rows(4, seed)
                made = runner.infer({"x": x})
                np.testing.assert_allclose(made["y"], x * 2 + 1, rtol=1e-6)
                np.testing.assert_array_equal(made["z"], x)
            assert recorded(runner) == 1

    def test_other_shapes_are_recorded_anew(self, batch_plan):
        with runner_of(batch_plan, cuda_graph=True) as runner:
            for count in (4, 4, 4, 8, 8, 8, 2, 4, 4, 4):
                x = rows(count, count)
                np.testing.assert_allclose(runner.infer({"x": x})["y"], x * 2 + 1, rtol=1e-6)
            assert recorded(runner) == 1
            runner.set_profile(0)
            np.testing.assert_allclose(runner.infer({"x": rows(4)})["y"], rows(4) * 2 + 1, rtol=1e-6)

    def test_other_addresses_are_recorded_anew(self, batch_plan):
        from polycmp_trt.run.cuda import current, driver

        with runner_of(batch_plan, cuda_graph=True) as runner, current(0):
            buffers = [DeviceBuffer() for _ in range(3)]
            arrays = [rows(4, seed) for seed in range(3)]
            views = []
            for buffer, array in zip(buffers, arrays, strict=True):
                driver().memcpy_htod(buffer.reserve(array.nbytes), array)
                views.append(DeviceView(buffer.address, array.shape, np.float32))
            for _ in range(3):
                for view, array in zip(views, arrays, strict=True):
                    made = runner.infer({"x": view}, copy_outputs_to_host=False)
                    np.testing.assert_allclose(made["y"].numpy(), array * 2 + 1, rtol=1e-6)
            assert recorded(runner) == 3
            np.testing.assert_allclose(runner.infer({"x": arrays[1]})["y"], arrays[1] * 2 + 1, rtol=1e-6)
            for buffer in buffers:
                buffer.free()

    def test_addresses_that_never_come_again_are_not_recorded(self, batch_plan):
        from polycmp_trt.run.cuda import current, driver

        with runner_of(batch_plan, cuda_graph=True) as runner, current(0):
            large = DeviceBuffer()
            large.reserve(100 * 256)
            for number in range(100):
                x, address = rows(4, number), large.address + 256 * number
                driver().memcpy_htod(address, x)
                made = runner.infer({"x": DeviceView(address, x.shape, np.float32)})["y"]
                np.testing.assert_allclose(made, x * 2 + 1, rtol=1e-6)
            assert recorded(runner) == 0
            large.free()

    def test_shapes_that_depend_on_the_data_are_refused(self):
        content = model(
            [helper.make_node("NonZero", ["x"], ["y"])],
            [("x", TensorProto.FLOAT, ["m", 5])],
            [("y", TensorProto.INT64, [2, "n"])],
        )
        plan = plan_of(content, profiles=[Profile().add("x", (1, 5), (4, 5), (8, 5))])
        with (
            runner_of(plan, cuda_graph=True) as runner,
            pytest.raises(BackendError, match="cannot run as a CUDA graph") as caught,
        ):
            runner.infer({"x": np.ones((4, 5), np.float32)})
        assert "'y' depends on the data" in caught.value.why
        assert "trt:cuda_graph" in caught.value.hint

    def test_a_context_of_somebody_else_is_refused(self, batch_plan):
        context = EngineFromBytes(batch_plan)().create_execution_context()
        with pytest.raises(BackendError, match="cannot run as a CUDA graph"):
            TrtRunner(context, cuda_graph=True).activate()

    def test_all_memory_is_given_back(self, batch_plan):
        for _ in range(3):
            with runner_of(batch_plan, cuda_graph=True) as runner:
                for _ in range(3):
                    runner.infer({"x": rows(4)})
            assert runner._graph is None

    def test_as_an_option(self, tmp_path, capsys):
        path, report = faulty_models.chain(tmp_path / "chain.onnx"), tmp_path / "r.json"
        words = (
            "-b",
            "trt:name=trt,cuda_graph",
            "-b",
            "onnxrt",
            "--iterations",
            "4",
            "--atol",
            "1e-3",
            "--report",
            str(report),
        )
        assert main(["run", str(path), *words]) == 0, capsys.readouterr()
        assert json.loads(report.read_text("utf-8"))["inference_results"]["trt"]["options"] == {"cuda_graph": "True"}


class TestTime:
    def test_events_are_recorded_for_those_who_ask(self):
        with runner_of(plan_of(affine(), profiles=batches())) as runner:
            times = []
            for _ in range(4):
                runner.infer({"x": rows(4)})
                times.append(runner.last_inference_time())
                assert runner._has_events
            assert all(0 < seconds < 1 for seconds in times)

    def test_a_time_that_is_asked_for_late_is_the_clocks(self):
        with runner_of(plan_of(affine(), profiles=batches())) as runner:
            for _ in range(4):
                runner.infer({"x": rows(4)})
            assert not runner._has_events
            assert 0 < runner.last_inference_time() < 1
            assert runner.last_inference_time() == runner.last_inference_time()
