"""The base of all runners: what it makes of the four methods that a backend writes."""

from __future__ import annotations

import numpy as np
import pytest

from polycmp.errors import BackendError, DataError
from polycmp.runner import Runner, infer, input_metadata, version_of
from polycmp.tensors import TensorMetadata

FEED = {"x": np.ones(4, np.float32)}


class Doubling(Runner):
    """Doubles its input and notes what is called."""

    default_name = "doubling"

    def __init__(self, name="", fails_in="", outputs=None):
        super().__init__(name)
        self.calls, self.fails_in, self.outputs = [], fails_in, outputs

    def _note(self, call):
        self.calls.append(call)
        if call == self.fails_in:
            raise OSError("no device")

    def activate_impl(self):
        self._note("activate")

    def deactivate_impl(self):
        self._note("deactivate")

    def get_input_metadata_impl(self):
        self._note("inputs")
        return TensorMetadata().add("x", np.float32, (4,))

    def infer_impl(self, feed_dict):
        self._note("infer")
        return {"y": feed_dict["x"] * 2} if self.outputs is None else self.outputs(feed_dict)


def test_its_life_is_activation_calls_and_deactivation():
    runner = Doubling()
    assert (runner.name, runner.is_active) == ("doubling", False)
    with runner as active:
        assert active is runner
        assert runner.infer(FEED)["y"].tolist() == [2.0] * 4
        assert runner.infer(FEED, check_inputs=False)["y"].tolist() == [2.0] * 4
        assert runner.last_inference_time() >= 0
    runner.deactivate()  # does nothing
    assert runner.calls == ["activate", "inputs", "infer", "infer", "deactivate"]
    with runner:
        assert runner.calls.count("activate") == 2


def test_a_failed_activation_leaves_nothing_to_end():
    runner = Doubling(fails_in="activate")
    with pytest.raises(OSError, match="no device"):
        runner.activate()
    runner.deactivate()
    assert (runner.is_active, runner.calls) == (False, ["activate"])


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (lambda runner: runner.infer(FEED), r"infer\(\) needs an active runner"),
        (lambda runner: runner.get_input_metadata(), r"get_input_metadata\(\) needs an active runner"),
        (lambda runner: runner.last_inference_time(), "has not run yet"),
        (lambda runner: runner.activate().activate(), "is active already"),
    ],
)
def test_a_call_out_of_turn_says_what_to_call_first(call, what):
    with pytest.raises(BackendError, match=what) as caught:
        call(Doubling("mine"))
    assert caught.value.whose == "mine"
    assert "call" in caught.value.hint


def test_inputs_are_described_once_until_something_changes_them():
    with Doubling() as runner:
        assert runner.get_input_metadata() is runner.get_input_metadata()
        runner.forget_inputs()
        runner.get_input_metadata()
        assert runner.calls.count("inputs") == 2
        with pytest.raises(DataError, match="x"):
            runner.infer({"x": np.ones(5, np.float32)})


def test_a_backend_may_know_better_how_long_it_took():
    def outputs(feed):
        runner.inference_time = 0.25
        return feed

    runner = Doubling(outputs=outputs)
    with runner:
        runner.infer(FEED)
        assert runner.last_inference_time() == 0.25


def write_into(feed):
    feed["x"] += 1
    return {"y": feed["x"]}


@pytest.mark.parametrize(
    ("outputs", "what"),
    [
        (write_into, "writes into its inputs, which belong to all backends"),
        (lambda feed: [feed["x"]], "infer_impl returned list instead of a dict"),
        (lambda feed: {"y": None}, "y"),
    ],
)
def test_what_a_session_does_not_take_is_the_backends_failure(outputs, what):
    kept = FEED["x"].copy()
    with Doubling("mine", outputs=outputs) as runner, pytest.raises(BackendError, match=what) as caught:
        infer(runner, FEED)
    assert caught.value.whose == "mine"
    np.testing.assert_array_equal(FEED["x"], kept)


def test_inputs_have_to_be_described_as_metadata():
    class Odd(Doubling):
        def get_input_metadata_impl(self):
            return {"x": "float32"}

    with Odd() as runner, pytest.raises(BackendError, match="by dict instead of TensorMetadata"):
        input_metadata(runner)


def test_a_version_is_the_runners_own_or_that_of_the_first_module_that_has_one():
    runner = Doubling()
    assert version_of(runner, ("no_such_module", "sys", "numpy")) == np.__version__
    assert version_of(runner, ()) == ""
    runner.backend_version = "7"
    assert version_of(runner, ("numpy",)) == "7"
