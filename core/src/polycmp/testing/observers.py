"""The contract of observers of runs."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from polycmp.compare import OutputComparison, PairComparison
from polycmp.results import BackendResult, IterationResult, Outcome
from polycmp.runs import RunStep
from polycmp.spec import RunObserver, Verdict
from polycmp.testing.contract import Contract

Arrays = Mapping[str, NDArray[Any]]
_PAIR = ("candidate", "reference")


def _made(iteration: int) -> dict[str, Arrays]:
    values = np.arange(1.0, 7.0, dtype=np.float32).reshape(2, 3) + iteration
    arrays_by_label: dict[str, Arrays] = {
        "candidate": {"y": values + 0.5, "mask": values > 3.0},
        "reference": {"y": values, "mask": values > 3.0},
    }
    for outputs in arrays_by_label.values():
        for array in outputs.values():
            array.flags.writeable = False
    return arrays_by_label


def _step(iteration: int, made: Mapping[str, Arrays]) -> RunStep:
    outputs = {label: IterationResult(arrays, 0.25, label) for label, arrays in made.items()}
    feed = {"x": np.ones((2, 3), np.float32)}
    return RunStep(iteration, 0, feed, made, outputs, dict.fromkeys(made, 0.25), "reference")


def _compared(step: RunStep) -> RunStep:
    comparisons = [
        OutputComparison(
            name, name, passed=name != "y", verdicts={"simple": Verdict(name != "y", "", {"max_abs": 0.5})}
        )
        for name in step.outputs["candidate"]
    ]
    sides = {"candidate": (step.outputs["candidate"], step.outputs["reference"])}
    return replace(step, compared={"candidate": comparisons}, sides=sides)


class ObserverContract(Contract):
    """Requirements on every observer. Write the factory."""

    def make_observer(self) -> RunObserver:
        """Return an observer that has something to do."""
        raise NotImplementedError

    def observe(self, iterations: int = 2) -> Outcome:
        """Take an observer through a run of two backends whose output `y` differs; return what it leaves."""
        observer = self.make_observer()
        outcome = Outcome("reference", [BackendResult(label, "any") for label in _PAIR], expected=True)
        try:
            observer.start(outcome)
            for iteration in range(iterations):
                step = _step(iteration, _made(iteration))
                changed = observer.transform(step)
                assert changed is None or set(changed) <= set(step.outputs), "there are no such runs"
                list(observer.as_made(step, "candidate"))
                observer.on_step(_compared(step))
            comparison = OutputComparison("y", "y", passed=False, reason="it differs")
            outcome.comparisons = [
                PairComparison(*_PAIR, passed=False, outputs={"y": comparison}, iterations=iterations)
            ]
            observer.finish(outcome)
        finally:
            observer.close()
        return outcome

    def test_it_is_derived_from_the_contract(self) -> None:
        """Require a class derived from `RunObserver`, whose methods do nothing where they are not written."""
        assert isinstance(self.make_observer(), RunObserver)

    def test_it_goes_through_a_run_and_writes_to_no_array(self) -> None:
        """Require that all methods take a run of two steps, whose arrays and list of runs stay as they are."""
        outcome = self.observe()
        assert [result.label for result in outcome.backends] == list(_PAIR), "the runs are not an observer's to change"

    def test_it_ends_well_where_no_backend_ran(self) -> None:
        """Require that `finish` takes an outcome without a single step."""
        self.observe(iterations=0)

    def test_it_can_be_closed_after_an_error_and_twice(self) -> None:
        """Require that `close` works before `start`, and again: it is called in any case."""
        observer = self.make_observer()
        observer.close()
        observer.close()

    def test_it_keeps_no_arrays(self) -> None:
        """Require that a step's arrays can be freed after `on_step`: memory is not to grow with the iterations."""
        observer, outcome = self.make_observer(), Outcome("reference", [BackendResult(label, "any") for label in _PAIR])
        observer.start(outcome)
        made = _made(0)
        alive = [weakref.ref(array) for arrays in made.values() for array in arrays.values()]
        step = _step(0, made)
        observer.transform(step)
        observer.on_step(_compared(step))
        del step, made
        gc.collect()
        kept = [ref for ref in alive if ref() is not None]
        observer.close()
        assert not kept, "the arrays of a step are gone with the next one: copy what is wanted later"

    def test_it_says_nothing_on_standard_output(self, capfd: pytest.CaptureFixture[str]) -> None:
        """Require that it prints nothing: standard output is for the result, notes belong to `outcome.notes`."""
        self.observe()
        assert capfd.readouterr().out == ""
