"""Runners that are deliberately wrong, each in one way, and one that is right.

`test_runners.py` collects this file in a session of its own and looks at which tests fail.
"""

from __future__ import annotations

import time

import numpy as np

from polycmp.errors import BackendError, ModelError
from polycmp.runner import Runner
from polycmp.tensors import TensorMetadata, to_numpy
from polycmp.testing import RunnerContract


class Model:
    """Adds a vector to the rows of a matrix."""

    offset = np.array([1, 2, 3], np.float32)


def compute(x, k):
    total = x + k + Model.offset
    return {"total": total, "copy": total.copy(), "sign": np.sign(total).astype(np.int64)}


class Right(Runner):
    def __init__(self, load, name="right"):
        super().__init__(name)
        self.load = load
        self.model = None

    def activate_impl(self):
        model = self.load()
        if not isinstance(model, Model):
            raise ModelError("that is no model")
        self.model = model

    def get_input_metadata_impl(self):
        return TensorMetadata().add("x", "float32", ("n", 3)).add("k", "float32", (3,))

    def infer_impl(self, feed_dict):
        feed = {name: to_numpy(array) for name, array in feed_dict.items()}
        if len(feed["x"]) > 100:
            raise BackendError("too many rows")
        return compute(**feed)

    def deactivate_impl(self):
        self.model = None


class Suite(RunnerContract):
    """The contract with the factories for all of these; a mutant names itself and the test meant for it."""

    mutant = Right
    caught_by: frozenset[str] = frozenset()
    capabilities = frozenset({"dynamic_shapes", "broken_model", "failing_inference"})

    def load(self):
        return Model()

    def load_broken(self):
        return "nonsense"

    def make_runner(self, load):
        return self.mutant(load)

    def feeds(self):
        k = np.array([0.5, -0.5, 4], np.float32)
        first = np.arange(6, dtype=np.float32).reshape(2, 3)
        return [{"x": first, "k": k}, {"x": -first, "k": 2 * k}]

    def other_shapes(self):
        return {"x": np.ones((5, 3), np.float32), "k": np.ones(3, np.float32)}

    def failing_feed(self):
        return {"x": np.ones((101, 3), np.float32), "k": np.ones(3, np.float32)}

    def expected(self, feed):
        return compute(**feed)


class TestRight(Suite):
    pass


class WrongName(Right):
    def infer_impl(self, feed_dict):
        outputs = super().infer_impl(feed_dict)
        outputs["sign_0"] = outputs.pop("sign")
        return outputs


class TestWrongName(Suite):
    mutant = WrongName
    caught_by = frozenset({"test_outputs_carry_the_names_of_the_model"})


class DroppedOutput(Right):
    def infer_impl(self, feed_dict):
        outputs = super().infer_impl(feed_dict)
        del outputs["sign"]
        return outputs


class TestDroppedOutput(Suite):
    mutant = DroppedOutput
    caught_by = frozenset({"test_no_output_is_missing"})


class ReusedBuffer(Right):
    """All instances write into one buffer: the outputs of one live only until another one runs."""

    buffer = {}

    def infer_impl(self, feed_dict):
        outputs = super().infer_impl(feed_dict)
        for name, array in outputs.items():
            key = (name, array.shape)
            self.buffer.setdefault(key, np.empty_like(array))[...] = array
            outputs[name] = self.buffer[key]
        return outputs


class TestReusedBuffer(Suite):
    mutant = ReusedBuffer
    caught_by = frozenset({"test_two_runners_are_independent"})


class OneBufferForTwoOutputs(Right):
    def infer_impl(self, feed_dict):
        outputs = super().infer_impl(feed_dict)
        outputs["copy"] = outputs["total"]
        return outputs


class TestOneBufferForTwoOutputs(Suite):
    mutant = OneBufferForTwoOutputs
    caught_by = frozenset({"test_outputs_share_no_memory_with_each_other"})


class StaleBuffer(Right):
    """Computes once and then hands out the same buffer whatever it is fed."""

    def activate_impl(self):
        super().activate_impl()
        self.kept = {}

    def infer_impl(self, feed_dict):
        shapes = tuple(array.shape for array in feed_dict.values())
        if shapes not in self.kept:
            self.kept[shapes] = super().infer_impl(feed_dict)
        return self.kept[shapes]


class TestStaleBuffer(Suite):
    mutant = StaleBuffer
    caught_by = frozenset({"test_each_inference_stands_alone"})


class BufferOfFirstShape(Right):
    """Allocates for the first shape it sees and never again."""

    def activate_impl(self):
        super().activate_impl()
        self.buffers = {}

    def infer_impl(self, feed_dict):
        outputs = super().infer_impl(feed_dict)
        for name, array in outputs.items():
            buffer = self.buffers.setdefault(name, array)
            rows = min(len(buffer), len(array))
            buffer[:rows] = array[:rows]
            outputs[name] = buffer
        return outputs


class TestBufferOfFirstShape(Suite):
    mutant = BufferOfFirstShape
    caught_by = frozenset({"test_other_shapes_without_another_activation"})


class OverwrittenEarly(Right):
    """Uses the memory of its outputs for something else before the next inference."""

    last = {}

    def infer_impl(self, feed_dict):
        self.last = super().infer_impl(feed_dict)
        return self.last

    def last_inference_time(self):
        for array in self.last.values():
            array[...] = 0
        return super().last_inference_time()


class TestOverwrittenEarly(Suite):
    mutant = OverwrittenEarly
    caught_by = frozenset({"test_outputs_stay_until_the_next_inference"})


class ChangedInput(Right):
    def infer_impl(self, feed_dict):
        outputs = super().infer_impl(feed_dict)
        x = feed_dict["x"]
        if isinstance(x, np.ndarray) and x.flags.writeable:
            x[...] = 0
        return outputs


class TestChangedInput(Suite):
    mutant = ChangedInput
    caught_by = frozenset({"test_inputs_are_not_changed"})


class OutputIsInput(Right):
    """Gives an input back as an output, without a copy."""

    def infer_impl(self, feed_dict):
        outputs = super().infer_impl(feed_dict)
        outputs["k"] = feed_dict["k"]
        return outputs


class TestOutputIsInput(Suite):
    mutant = OutputIsInput
    caught_by = frozenset({"test_outputs_share_no_memory_with_inputs"})

    def expected(self, feed):
        return {**compute(**feed), "k": feed["k"]}


class WiderType(Right):
    def infer_impl(self, feed_dict):
        outputs = super().infer_impl(feed_dict)
        outputs["total"] = outputs["total"].astype(np.float64)
        return outputs


class TestWiderType(Suite):
    mutant = WiderType
    caught_by = frozenset({"test_outputs_have_the_declared_element_types"})


class WrongNumbers(Right):
    def infer_impl(self, feed_dict):
        outputs = super().infer_impl(feed_dict)
        outputs["total"] *= 1.001
        return outputs


class TestWrongNumbers(Suite):
    mutant = WrongNumbers
    caught_by = frozenset(
        {
            "test_outputs_are_right",
            # Every other test that looks at numbers sees it too.
            "test_inputs_may_be_strided",
            "test_inputs_may_be_read_only",
            "test_each_inference_stands_alone",
            "test_other_shapes_without_another_activation",
            "test_a_failing_inference_is_an_error_and_not_the_end",
            "test_activating_again_gives_the_same",
            "test_two_runners_are_independent",
        }
    )


class LateActivation(Right):
    """Does the heavy work when it is made."""

    def __init__(self, load, name="late"):
        try:
            self.made = load()
        except BackendError:
            self.made = None
        super().__init__(load, name)

    def deactivate_impl(self):
        super().deactivate_impl()
        self.made = None


class TestLateActivation(Suite):
    mutant = LateActivation
    caught_by = frozenset({"test_construction_loads_nothing"})


class LeakedState(Right):
    """What an earlier activation left behind changes the next one."""

    lives = 0

    def activate_impl(self):
        super().activate_impl()
        self.lives += 1

    def infer_impl(self, feed_dict):
        outputs = super().infer_impl(feed_dict)
        outputs["total"] += self.lives - 1
        return outputs


class TestLeakedState(Suite):
    mutant = LeakedState
    caught_by = frozenset({"test_activating_again_gives_the_same"})


class KeptModel(Right):
    def deactivate_impl(self):
        pass


class TestKeptModel(Suite):
    mutant = KeptModel
    caught_by = frozenset({"test_deactivation_frees_the_model"})


class TakesAnything(Right):
    """Checks nothing: what is missing is zero, what does not fit is made to fit."""

    def infer(self, feed_dict, check_inputs=True, **kwargs):
        x = feed_dict.get("x", np.zeros((1, 3)))
        feed = {"x": np.asarray(x, np.float32).reshape(-1, 3), "k": np.asarray(feed_dict.get("k", 0), np.float32)}
        return super().infer(feed, check_inputs=False)


class TestTakesAnything(Suite):
    mutant = TakesAnything
    caught_by = frozenset({"test_wrong_feeds_are_refused"})


class NeedsOneBlock(Right):
    """Reads the memory of its inputs as if their elements were neighbours."""

    def infer_impl(self, feed_dict):
        x = feed_dict["x"]
        base = x if x.base is None or x.flags.c_contiguous else x.base.reshape(-1)[: x.size].reshape(x.shape)
        return super().infer_impl({**feed_dict, "x": base})


class TestNeedsOneBlock(Suite):
    mutant = NeedsOneBlock
    caught_by = frozenset({"test_inputs_may_be_strided"})


class PromisesToStay(Right):
    """Promises outputs that nothing overwrites, and overwrites them in the next inference."""

    outputs_stay_valid = True

    def activate_impl(self):
        super().activate_impl()
        self.buffers = {}

    def infer_impl(self, feed_dict):
        outputs = super().infer_impl(feed_dict)
        for name, array in outputs.items():
            buffer = self.buffers.setdefault((name, array.shape), np.empty_like(array))
            buffer[...] = array
            outputs[name] = buffer
        return outputs


class TestPromisesToStay(Suite):
    mutant = PromisesToStay
    caught_by = frozenset({"test_outputs_stay_for_good_where_that_is_promised"})


class FreedWithTheRunner(Right):
    """Promises outputs that stay, and gives their memory to others when it is deactivated."""

    outputs_stay_valid = True

    def activate_impl(self):
        super().activate_impl()
        self.given = []

    def infer_impl(self, feed_dict):
        outputs = super().infer_impl(feed_dict)
        self.given.extend(outputs.values())
        return outputs

    def deactivate_impl(self):
        for array in self.given:
            array[...] = 0
        super().deactivate_impl()


class TestFreedWithTheRunner(Suite):
    mutant = FreedWithTheRunner
    caught_by = frozenset({"test_outputs_stay_for_good_where_that_is_promised"})


class KeepsItsPromise(Right):
    outputs_stay_valid = True


class TestKeepsItsPromise(Suite):
    mutant = KeepsItsPromise


class Milliseconds(Right):
    """Tells its own time, in milliseconds."""

    def infer_impl(self, feed_dict):
        start = time.perf_counter()
        outputs = super().infer_impl(feed_dict)
        self.inference_time = 1000 * (time.perf_counter() - start)
        return outputs


class TestMilliseconds(Suite):
    mutant = Milliseconds
    caught_by = frozenset({"test_time_is_measured"})


class NoTime(Right):
    def last_inference_time(self):
        return 0.0


class TestNoTime(Suite):
    mutant = NoTime
    caught_by = frozenset({"test_time_is_measured"})


class RawError(Right):
    def activate_impl(self):
        self.model = self.load()
        self.model.offset  # noqa: B018


class TestRawError(Suite):
    mutant = RawError
    caught_by = frozenset({"test_a_broken_model_is_an_error_in_words"})


class DiesOnFailure(Right):
    def infer_impl(self, feed_dict):
        try:
            return super().infer_impl(feed_dict)
        except BackendError:
            raise ValueError("a raw exception") from None


class TestDiesOnFailure(Suite):
    mutant = DiesOnFailure
    caught_by = frozenset({"test_a_failing_inference_is_an_error_and_not_the_end"})
