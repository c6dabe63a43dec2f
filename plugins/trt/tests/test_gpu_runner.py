"""The runner on a real device: every kind of input and output, and what it leaves behind."""

from __future__ import annotations

import numpy as np
import pytest
from engines import identity, model, plan_of, runner_of
from onnx import TensorProto, helper

from polycmp.errors import BackendError, DataError, ModelError, UsageError
from polycmp.testing import RunnerContract
from polycmp_trt import (
    CreateConfig,
    EngineFromBytes,
    EngineFromNetwork,
    NetworkFromOnnxBytes,
    Profile,
    SetTensorFormats,
    TrtRunner,
    bytes_from_engine,
)

pytestmark = pytest.mark.gpu


class TestContract(RunnerContract):
    """The conformance kit."""

    capabilities = frozenset({"dynamic_shapes", "broken_model", "failing_inference"})

    plan: bytes = b""

    @pytest.fixture(autouse=True)
    def _plan(self, batch_plan):
        type(self).plan = batch_plan

    def load(self):
        return EngineFromBytes(self.plan)()

    def make_runner(self, load):
        return TrtRunner(load)

    def load_broken(self):
        return EngineFromBytes(self.plan[: len(self.plan) // 2])()

    def feeds(self):
        return [{"x": np.random.default_rng(seed).random((4, 3), np.float32)} for seed in range(3)]

    def other_shapes(self):
        return {"x": np.ones((7, 3), np.float32)}

    def failing_feed(self):
        return {"x": np.ones((9, 3), np.float32)}

    def expected(self, feed):
        return {"y": feed["x"] * 2 + 1, "z": feed["x"]}


class TestShapes:
    def test_profiles_by_argument_and_by_call(self, batch_plan):
        with runner_of(batch_plan, optimization_profile=1) as runner:
            feed = {"x": np.ones((32, 3), np.float32)}
            assert runner.infer(feed)["y"].shape == (32, 3)
            runner.set_profile(0)
            assert runner.get_input_metadata()["x"].max_shape == (8, 3)
            assert runner.infer({"x": np.ones((2, 3), np.float32)})["y"].shape == (2, 3)

    def test_a_shape_outside_the_profile_names_the_one_that_takes_it(self, batch_plan):
        with runner_of(batch_plan) as runner:
            with pytest.raises(DataError, match="outside optimization profile 0") as caught:
                runner.infer({"x": np.ones((20, 3), np.float32)})
            assert "--optimization-profile 1" in caught.value.hint
            assert runner.infer({"x": np.ones((8, 3), np.float32)})["y"].shape == (8, 3)

    def test_an_unknown_profile(self, batch_plan):
        with pytest.raises(BackendError, match="no optimization profile 7"):
            runner_of(batch_plan, optimization_profile=7).activate()

    def test_a_context_keeps_its_profile_and_stays_the_callers(self, batch_plan):
        engine = EngineFromBytes(batch_plan)()
        context = engine.create_execution_context()
        runner = TrtRunner(context)
        with runner:
            runner.set_profile(1)
        for _ in range(2):
            with runner:
                assert runner.infer({"x": np.ones((16, 3), np.float32)})["z"].shape == (16, 3)
        assert context.active_optimization_profile == 1

    def test_three_runners_on_one_engine(self, batch_plan):
        engine = EngineFromBytes(batch_plan)()
        first = TrtRunner(engine.create_execution_context())
        second = TrtRunner(engine.create_execution_context(), optimization_profile=1)
        with first, second:
            for _ in range(2):
                assert first.infer({"x": np.ones((3, 3), np.float32)})["y"].shape == (3, 3)
                assert second.infer({"x": np.ones((17, 3), np.float32)})["y"].shape == (17, 3)
        with second:
            assert second.infer({"x": np.ones((16, 3), np.float32)})["y"].shape == (16, 3)

    def test_a_profile_that_another_context_holds(self, batch_plan):
        engine = EngineFromBytes(batch_plan)()
        held = engine.create_execution_context()
        if engine.create_execution_context().active_optimization_profile >= 0:
            pytest.skip("this release shares profiles between contexts")
        with pytest.raises(BackendError, match="taken by another"):
            TrtRunner(engine).activate()
        assert held.active_optimization_profile == 0

    def test_shape_tensors(self):
        content = model(
            [helper.make_node("Reshape", ["x", "shape"], ["y"])],
            [("x", TensorProto.FLOAT, ["a", "b"]), ("shape", TensorProto.INT64, [2])],
            [("y", TensorProto.FLOAT, ["c", "d"])],
        )
        profile = Profile().add("x", (1, 1), (4, 6), (8, 8)).add("shape", (1, 1), (6, 4), (64, 64))
        with runner_of(plan_of(content, profiles=[profile])) as runner:
            x = np.arange(24, dtype=np.float32).reshape(4, 6)
            assert runner.get_input_metadata()["shape"].values in {(6, 4), None}  # 8.6 tells only the first of them
            for shape in ([6, 4], [2, 12], [2, 12], [24, 1]):
                out = runner.infer({"x": x, "shape": np.array(shape, np.int32)})["y"]
                np.testing.assert_array_equal(out, x.reshape(shape))
            out = runner.infer({"x": x, "shape": np.array([3, 8], np.int64)})["y"]  # narrowed, as it fits
            assert out.shape == (3, 8)
            with pytest.raises(DataError, match="outside optimization profile 0"):
                runner.infer({"x": x, "shape": np.array([65, 1], np.int32)})
            with pytest.raises(DataError, match="do not fit"):
                runner.infer({"x": x, "shape": np.array([2**40, 1], np.int64)})

    def test_shapes_that_depend_on_the_data(self):
        content = model(
            [helper.make_node("NonZero", ["x"], ["t"]), helper.make_node("Transpose", ["t"], ["y"])],
            [("x", TensorProto.FLOAT, ["m", 5])],
            [("y", TensorProto.INT64, ["n", 2])],
        )
        profile = Profile().add("x", (1, 5), (4, 5), (8, 5))
        with runner_of(plan_of(content, profiles=[profile])) as runner:
            for seed in range(4):
                x = (np.random.default_rng(seed).random((4, 5)) > 0.2 * seed).astype(np.float32)
                np.testing.assert_array_equal(runner.infer({"x": x})["y"], np.stack(np.nonzero(x), 1))
            assert runner.infer({"x": np.zeros((4, 5), np.float32)})["y"].shape == (0, 2)
            device = runner.infer({"x": np.ones((4, 5), np.float32)}, copy_outputs_to_host=False)["y"]
            assert device.shape == (20, 2)

    def test_the_same_without_a_profile_of_ones_own(self):
        content = model(
            [helper.make_node("NonZero", ["x"], ["y"])],
            [("x", TensorProto.FLOAT, [4, 5])],
            [("y", TensorProto.INT64, [2, "n"])],
        )
        with runner_of(plan_of(content)) as runner:
            assert runner.infer({"x": np.eye(4, 5, dtype=np.float32)})["y"].shape == (2, 4)

    def test_empty_tensors(self):
        content = model(
            [helper.make_node("Concat", ["x", "w"], ["y"], axis=0)],
            [("x", TensorProto.FLOAT, ["n", 3])],
            [("y", TensorProto.FLOAT, ["m", 3])],
            [("w", np.ones((2, 3), np.float32))],
        )
        with runner_of(plan_of(content, profiles=[Profile().add("x", (0, 3), (2, 3), (4, 3))])) as runner:
            assert runner.infer({"x": np.zeros((0, 3), np.float32)})["y"].shape == (2, 3)
            assert runner.infer({"x": np.zeros((4, 3), np.float32)})["y"].shape == (6, 3)

    def test_scalars(self):
        content = model(
            [helper.make_node("Add", ["x", "x"], ["y"])], [("x", TensorProto.FLOAT, [])], [("y", TensorProto.FLOAT, [])]
        )
        with runner_of(plan_of(content)) as runner:
            out = runner.infer({"x": np.array(1.5, np.float32)})["y"]
            assert out.shape == ()
            assert out == 3

    @pytest.mark.parametrize("strategy", ["static", "runtime"])
    def test_allocation_strategies(self, batch_plan, strategy):
        with runner_of(batch_plan, allocation_strategy=strategy) as runner:
            for batch in (1, 8, 3):
                x = np.random.default_rng(batch).random((batch, 3), np.float32)
                np.testing.assert_allclose(runner.infer({"x": x})["y"], x * 2 + 1, rtol=1e-6)

    def test_an_unknown_allocation_strategy(self, batch_plan):
        with pytest.raises(UsageError, match="statik"):
            runner_of(batch_plan, allocation_strategy="statik").activate()


class TestTypes:
    @pytest.mark.parametrize(
        ("kind", "dtype"),
        [(TensorProto.FLOAT, "float32"), (TensorProto.FLOAT16, "float16"), (TensorProto.INT32, "int32")],
    )
    def test_element_types(self, kind, dtype):
        x = np.arange(12).reshape(3, 4).astype(dtype)
        with runner_of(plan_of(identity((3, 4), kind), fp16=dtype == "float16")) as runner:
            out = runner.infer({"x": x})["y"]
        assert out.dtype == x.dtype
        np.testing.assert_array_equal(out, x)

    def test_bool(self):
        content = model(
            [helper.make_node("Not", ["x"], ["y"])], [("x", TensorProto.BOOL, [5])], [("y", TensorProto.BOOL, [5])]
        )
        x = np.array([True, False, True, True, False])
        with runner_of(plan_of(content)) as runner:
            np.testing.assert_array_equal(runner.infer({"x": x})["y"], ~x)

    @pytest.mark.parametrize("form", ["hwc", "chw16", "hwc8", "chw2", "chw4"])
    def test_vectorised_formats(self, form):
        network = SetTensorFormats(NetworkFromOnnxBytes(half_channels()), {"x": [form], "y": [form]})
        if form == "hwc":
            network = SetTensorFormats(NetworkFromOnnxBytes(identity((2, 5, 3, 4))), {"x": [form], "y": [form]})
        try:
            plan = bytes_from_engine(EngineFromNetwork(network, CreateConfig(fp16=True)))
        except BackendError as error:
            pytest.skip(f"TensorRT has no kernel for {form}: {error.why[:80]}")
        dtype = np.float32 if form == "hwc" else np.float16
        x = np.random.default_rng(0).random((2, 5, 3, 4)).astype(dtype)
        with runner_of(plan) as runner:
            np.testing.assert_array_equal(runner.infer({"x": x})["y"], x)
            device = runner.infer({"x": x}, copy_outputs_to_host=False)["y"]
            assert device.__cuda_array_interface__["strides"] is not None


def half_channels():
    return identity((2, 5, 3, 4), TensorProto.FLOAT16)


class TestRefusals:
    def test_no_such_device(self, batch_plan):
        with pytest.raises(BackendError, match="no CUDA device 99"):
            runner_of(batch_plan, device=99).activate()

    @pytest.mark.parametrize("content", [b"", b"no engine", bytes(4096), b"\x00ptrt" * 999])
    def test_bytes_that_are_no_engine(self, content):
        with pytest.raises(ModelError, match=r"engine") as caught:
            EngineFromBytes(content)()
        assert caught.value.hint

    def test_a_truncated_engine(self, batch_plan):
        for length in (len(batch_plan) - 100, len(batch_plan) // 2, 200):
            with pytest.raises(ModelError, match="cannot load"):
                EngineFromBytes(batch_plan[:length])()

    def test_something_that_is_no_engine(self):
        with pytest.raises(BackendError, match="instead of an engine"):
            TrtRunner(lambda: 3).activate()

    def test_too_little_memory(self, batch_plan):
        from polycmp_trt.run.cuda import DeviceBuffer, current, errors_as

        with pytest.raises(BackendError, match="out of memory"), errors_as("test", "me"), current(0):
            DeviceBuffer().reserve(1 << 50)

    def test_time_comes_from_events(self, batch_plan):
        with runner_of(batch_plan) as runner:
            runner.infer({"x": np.ones((8, 3), np.float32)})
            assert 0 < runner.last_inference_time() < 1
