"""The contract of runners."""

from __future__ import annotations

import gc
import itertools
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

from polycmp.errors import BackendError, DataError, PolycmpError
from polycmp.runner import Runner
from polycmp.tensors import as_dtype, dtype_class, dtype_of, is_low_bit, same_bits, to_numpy
from polycmp.testing.contract import Contract, needs

Arrays = dict[str, Any]


class _LoadCounter:
    """Counts how often a model was loaded, and tells whether the last one is still alive."""

    def __init__(self, load: Callable[[], Any]) -> None:
        self.load = load
        self.calls = 0
        self.last: weakref.ref[Any] | None = None

    def __call__(self) -> Any:
        self.calls += 1
        model = self.load()
        try:
            self.last = weakref.ref(model)
        except TypeError:  # this kind of object cannot be watched
            self.last = None
        return model


class RunnerContract(Contract):
    """Requirements on every runner.

    Write the four factories. Give the model at least two outputs if the backend can, and one of them equal to another
    (an identity): that is where buffers that are shared by mistake show.

    Attributes:
        rtol: Tolerance of floating-point outputs, relative to `expected`.
        atol: The same, absolutely.
    """

    KNOWN_CAPABILITIES: ClassVar[Mapping[str, str]] = {
        "dynamic_shapes": "takes inputs of another shape without being activated again: write `other_shapes`",
        "broken_model": "can be given a model that does not load: write `load_broken`",
        "torch": "takes torch tensors",
        "failing_inference": "a feed that fits can still fail: write `failing_feed`",
    }
    rtol: ClassVar[float] = 1e-5
    atol: ClassVar[float] = 1e-6

    def load(self) -> Any:
        """Return the model, in the form that the runner's loader gives it."""
        raise NotImplementedError

    def make_runner(self, load: Callable[[], Any]) -> Runner:
        """Return a new, inactive runner that gets its model from `load`."""
        raise NotImplementedError

    def feeds(self) -> Sequence[Arrays]:
        """Return at least two feeds of one shape with different numbers."""
        raise NotImplementedError

    def expected(self, feed: Arrays) -> Arrays:
        """Return all outputs for a feed, of the right element types, computed by other means."""
        raise NotImplementedError

    def other_shapes(self) -> Arrays:
        """Return a feed of other shapes (capability `dynamic_shapes`)."""
        raise NotImplementedError

    def load_broken(self) -> Any:
        """Return something that is no model (capability `broken_model`)."""
        raise NotImplementedError

    def failing_feed(self) -> Arrays:
        """Return a feed of the right names and types that the model cannot compute (`failing_inference`)."""
        raise NotImplementedError

    # --- fixtures

    @pytest.fixture
    def runner(self) -> Iterator[Runner]:
        """An active runner."""
        runner = self.make_runner(self.load)
        runner.activate()
        yield runner
        runner.deactivate()

    # --- life

    def test_construction_loads_nothing(self) -> None:
        """Require that the model is loaded by `activate`: a run makes all runners before it starts the first."""
        watch = _LoadCounter(self.load)
        runner = self.make_runner(watch)
        assert watch.calls == 0, "the model was loaded before activate()"
        assert not runner.is_active
        with runner:
            if not watch.calls:
                pytest.skip("this runner does not take its model from `load`")

    def test_use_before_activation_is_an_error(self) -> None:
        """Require a `BackendError` from `infer` and `get_input_metadata` of a runner that is not active."""
        runner = self.make_runner(self.load)
        with pytest.raises(BackendError):
            runner.infer(self.feeds()[0])
        with pytest.raises(BackendError):
            runner.get_input_metadata()

    def test_activating_twice_is_an_error(self, runner: Runner) -> None:
        """Require a `BackendError` from a second `activate`, after which the runner still works."""
        with pytest.raises(BackendError):
            runner.activate()
        runner.infer(self.feeds()[0])

    def test_deactivation_ends_its_use(self) -> None:
        """Require a `BackendError` from `infer` after `deactivate`, which may be called again."""
        runner = self.make_runner(self.load)
        runner.activate()
        runner.deactivate()
        assert not runner.is_active
        with pytest.raises(BackendError):
            runner.infer(self.feeds()[0])
        runner.deactivate()

    def test_deactivation_frees_the_model(self) -> None:
        """Require that nothing of the runner keeps the model alive after `deactivate`."""
        watch = _LoadCounter(self.load)
        runner = self.make_runner(watch)
        with runner:
            runner.infer(self.feeds()[0])
        if watch.last is None:
            pytest.skip("this kind of model cannot be watched")
        gc.collect()
        assert watch.last() is None, "the model is still alive after deactivate()"

    def test_a_failing_load_leaves_it_inactive(self) -> None:
        """Require that the loader's own error comes through `activate`, and that it can be tried again."""

        def fail() -> Any:
            raise BackendError("no model today")

        runner = self.make_runner(fail)
        for _ in range(2):
            with pytest.raises(BackendError, match="no model today"):
                runner.activate()
            assert not runner.is_active

    @needs("broken_model")
    def test_a_broken_model_is_an_error_in_words(self) -> None:
        """Require a `PolycmpError` from `activate` where `load_broken` gives no model."""
        runner = self.make_runner(self.load_broken)
        with pytest.raises(PolycmpError):
            runner.activate()
        assert not runner.is_active

    def test_name_and_repr(self) -> None:
        """Require that `name` is what the factory was given, and part of `repr`."""
        runner = self.make_runner(self.load)
        assert runner.name
        assert runner.name in repr(runner)

    # --- inputs

    def test_input_metadata_describes_the_feeds(self, runner: Runner) -> None:
        """Require the names, element types and shapes of `feeds`; what the backend does not know is None or open."""
        metadata = runner.get_input_metadata()
        for feed in self.feeds():
            assert set(metadata) == set(feed)
            for name, entry in metadata.items():
                assert entry.dtype is None or entry.dtype == dtype_of(feed[name]), name
                assert entry.accepts_shape(feed[name].shape), name

    @pytest.mark.parametrize("fault", ["missing", "unknown", "element type", "rank"])
    def test_wrong_feeds_are_refused(self, runner: Runner, fault: str) -> None:
        """Require a `DataError` for a feed with a missing or unknown name, another element type or another rank."""
        feed = dict(self.feeds()[0])
        name = next(iter(feed))
        if fault == "missing":
            del feed[name]
        elif fault == "unknown":
            feed["there is no such input"] = feed[name]
        elif fault == "element type":
            feed[name] = feed[name].astype(np.float32 if feed[name].dtype != np.float32 else np.int32)
        else:
            feed[name] = feed[name][None]
        if fault == "rank" and runner.get_input_metadata()[name].shape is None:
            pytest.skip("the backend does not know the rank of its inputs")
        with pytest.raises(DataError):
            runner.infer(feed)

    def test_inputs_are_not_changed(self, runner: Runner) -> None:
        """Require that `infer` neither writes to the feed's arrays nor changes the mapping: others are fed the same."""
        feed = _copies(self.feeds()[0])
        kept = _copies(feed)
        runner.infer(feed)
        assert list(feed) == list(kept)
        for name in feed:
            assert same_bits(feed[name], kept[name]), f"infer() wrote to its input {name!r}"

    def test_inputs_may_be_strided(self, runner: Runner) -> None:
        """Require that arrays with gaps between their elements are read as what they hold."""
        feed = {name: _strided(array) for name, array in self.feeds()[0].items()}
        self._check(runner.infer(feed), self.feeds()[0])

    def test_inputs_may_be_read_only(self, runner: Runner) -> None:
        """Require that arrays that cannot be written to are taken, as they come from files and from other runs."""
        feed = _copies(self.feeds()[0])
        for array in feed.values():
            array.flags.writeable = False
        self._check(runner.infer(feed), self.feeds()[0])

    @needs("torch")
    def test_torch_tensors_are_taken(self, runner: Runner) -> None:
        """Require the same outputs for torch tensors as for arrays (capability `torch`)."""
        torch = pytest.importorskip("torch")
        feed = {name: torch.from_numpy(array.copy()) for name, array in self.feeds()[0].items()}
        self._check(runner.infer(feed), self.feeds()[0])

    # --- outputs

    def test_outputs_carry_the_names_of_the_model(self, runner: Runner) -> None:
        """Require no output under a name that `expected` does not have."""
        feed = self.feeds()[0]
        assert set(runner.infer(feed)) <= set(self.expected(feed))

    def test_no_output_is_missing(self, runner: Runner) -> None:
        """Require as many outputs as `expected` has, also where two of them are equal."""
        feed = self.feeds()[0]
        assert len(runner.infer(feed)) >= len(self.expected(feed))

    def test_outputs_have_the_declared_element_types(self, runner: Runner) -> None:
        """Require the element types of `expected`, bfloat16 and others of `ml_dtypes` included."""
        feed = self.feeds()[0]
        for name, array, wanted in _pairs(runner.infer(feed), self.expected(feed)):
            assert as_dtype(array.dtype) == as_dtype(wanted.dtype), name

    def test_outputs_are_right(self, runner: Runner) -> None:
        """Require outputs within `rtol` and `atol` of `expected`."""
        self._check(runner.infer(self.feeds()[0]), self.feeds()[0])

    def test_each_inference_stands_alone(self, runner: Runner) -> None:
        """Require right outputs in any order of the feeds: nothing of a call may stay for the next."""
        feeds = list(self.feeds())
        assert len(feeds) >= 2, "feeds() must give at least two"
        for feed in [*feeds[1:], *feeds]:
            self._check(runner.infer(_copies(feed)), feed)

    def test_outputs_stay_until_the_next_inference(self, runner: Runner) -> None:
        """Require that outputs do not change before `infer` is called again, even if the feed is freed."""
        given = _copies(self.feeds()[0])
        outputs = runner.infer(given)
        kept = {name: to_numpy(array).copy() for name, array in outputs.items()}
        del given
        gc.collect()
        runner.get_input_metadata()
        runner.last_inference_time()
        for name, array in outputs.items():
            assert same_bits(to_numpy(array), kept[name]), f"output {name!r} changed by itself"

    def test_outputs_stay_for_good_where_that_is_promised(self) -> None:
        """Require, where `outputs_stay_valid` is true, that neither later calls nor `deactivate` change them."""
        runner = self.make_runner(self.load)
        with runner:
            if not runner.outputs_stay_valid:
                pytest.skip("outputs_stay_valid is not promised")
            outputs = {name: to_numpy(array) for name, array in runner.infer(_copies(self.feeds()[0])).items()}
            kept = _copies(outputs)
            for feed in [*self.feeds()[1:], self.feeds()[0], *self.feeds()[1:]]:
                runner.infer(_copies(feed))
                self._check_same(outputs, kept, "a later inference")
        gc.collect()
        self._check_same(outputs, kept, "deactivate()")

    def test_outputs_share_no_memory_with_each_other(self, runner: Runner) -> None:
        """Require memory of its own for each output: who changes one must not change another."""
        outputs = {name: to_numpy(array) for name, array in runner.infer(self.feeds()[0]).items()}
        for one, other in itertools.combinations(outputs, 2):
            assert not np.may_share_memory(outputs[one], outputs[other]), f"{one!r} and {other!r} share memory"

    def test_outputs_share_no_memory_with_inputs(self, runner: Runner) -> None:
        """Require outputs that are no views of the feed, not even where an operator passes it through."""
        feed = _copies(self.feeds()[0])
        for name, array in runner.infer(feed).items():
            for given in feed:
                shared = np.may_share_memory(to_numpy(array), feed[given])
                assert not shared, f"output {name!r} is the memory of input {given!r}"

    @needs("dynamic_shapes")
    def test_other_shapes_without_another_activation(self, runner: Runner) -> None:
        """Require right outputs for `other_shapes` in between (capability `dynamic_shapes`)."""
        for feed in (self.feeds()[0], self.other_shapes(), self.feeds()[0]):
            self._check(runner.infer(_copies(feed)), feed)

    @needs("failing_inference")
    def test_a_failing_inference_is_an_error_and_not_the_end(self, runner: Runner) -> None:
        """Require a `PolycmpError` for `failing_feed`, after which it still runs (capability `failing_inference`)."""
        with pytest.raises(PolycmpError):
            runner.infer(self.failing_feed())
        self._check(runner.infer(self.feeds()[0]), self.feeds()[0])

    # --- state and time

    def test_activating_again_gives_the_same(self) -> None:
        """Require right outputs from a runner that was deactivated and activated again."""
        runner = self.make_runner(self.load)
        for _ in range(2):
            with runner:
                self._check(runner.infer(self.feeds()[0]), self.feeds()[0])

    def test_two_runners_are_independent(self) -> None:
        """Require right outputs from two active runners of one model, also after one of them is deactivated."""
        first_feed, second_feed = (_copies(feed) for feed in self.feeds()[:2])
        with self.make_runner(self.load) as first, self.make_runner(self.load) as second:
            outputs = first.infer(first_feed)
            second.infer(second_feed)
            self._check(outputs, self.feeds()[0])
            second.deactivate()
            self._check(first.infer(_copies(self.feeds()[0])), self.feeds()[0])

    def test_time_is_measured(self, runner: Runner) -> None:
        """Require seconds from `last_inference_time`, no more than the call took; an error before the first call."""
        with pytest.raises(BackendError):
            runner.last_inference_time()
        feed = self.feeds()[0]
        start = time.perf_counter()
        runner.infer(feed)
        around = time.perf_counter() - start
        seconds = runner.last_inference_time()
        assert 0 < seconds <= 1.05 * around + 1e-4, f"{seconds} seconds of the {around} that infer() took"

    @staticmethod
    def _check_same(outputs: Arrays, kept: Arrays, what: str) -> None:
        for name, array in outputs.items():
            assert same_bits(array, kept[name]), f"{what} changed output {name!r}, which was to stay valid"

    def _check(self, outputs: Mapping[str, Any], feed: Arrays) -> None:
        for name, array, wanted in _pairs(outputs, self.expected(feed)):
            assert_close(name, array, wanted, self.rtol, self.atol)


def assert_close(name: str, got: NDArray[Any], wanted: NDArray[Any], rtol: float, atol: float) -> None:
    """Assert that an output has the shape and the content it should have; NaN equals NaN.

    Args:
        name: The output, for the message.
        got: The array from the backend.
        wanted: The array that it should have returned.
        rtol: Tolerance relative to `wanted`, for floating-point types.
        atol: Absolute tolerance, for floating-point types.
    """
    assert got.shape == wanted.shape, f"output {name!r}"
    if dtype_class(wanted.dtype) not in {"float", "complex"}:
        np.testing.assert_array_equal(_plain(got), _plain(wanted), err_msg=f"output {name!r}")
        return
    np.testing.assert_allclose(_plain(got), _plain(wanted), rtol=rtol, atol=atol, err_msg=f"output {name!r}")


def _plain(array: NDArray[Any]) -> NDArray[Any]:
    # NumPy's own testing functions cannot calculate with the types of ml_dtypes.
    return np.asarray(array, np.float64) if is_low_bit(array.dtype) else array


def _pairs(outputs: Mapping[str, Any], expected: Arrays) -> list[tuple[str, NDArray[Any], NDArray[Any]]]:
    return [(name, to_numpy(outputs[name]), np.asarray(expected[name])) for name in expected if name in outputs]


def _copies(feed: Arrays) -> Arrays:
    return {name: array.copy() for name, array in feed.items()}


def _strided(array: NDArray[Any]) -> NDArray[Any]:
    """Return equal numbers that lie two elements apart in memory."""
    if array.ndim == 0:
        return np.array(array)
    wide: NDArray[Any] = np.empty((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
    wide[..., ::2] = array
    return np.asarray(wide[..., ::2])
