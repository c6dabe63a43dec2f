"""Trials of mixed models: each once, and no more than allowed."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from polycmp_locate.precision.rank.result import MixedTrial
from polycmp_locate.precision.rank.search import OutOfRuns
from polycmp_locate.precision.rank.trials import Trials, _ratios


@pytest.fixture
def trials(monkeypatch):
    """Trials in which what keeps both layers passes; `stages` are what was said before each."""
    monkeypatch.setattr(Trials, "_run", lambda self, kept: MixedTrial(kept, kept == {0, 1}, 0.0))
    backend = SimpleNamespace(label="new", plan=SimpleNamespace(backend="onnxrt"))
    stages = []
    made = Trials(None, ["a", "b"], backend, [], None, "old", stages.append)
    made.stages = stages
    return made


def test_each_choice_of_layers_is_run_once(trials):
    kept = [frozenset(), frozenset({0}), frozenset({0, 1}), frozenset({0})]
    assert [trials.passes(item) for item in kept] == [False, False, True, False]
    assert trials.stages == [
        "run 1: 0 of 2 layers in float", "run 2: 1 of 2 layers in float", "run 3: 2 of 2 layers in float",
    ]  # fmt: skip
    assert list(trials.done) == kept[:3]


def test_what_is_known_may_be_asked_for_though_no_run_is_left(trials):
    trials.limit = 1
    trials.passes(frozenset())
    with pytest.raises(OutOfRuns):
        trials.passes(frozenset({0}))
    assert trials.passes(frozenset()) is False


def test_only_real_numbers_of_one_shape_have_a_ratio():
    outputs = {"a": np.ones(2), "b": np.ones(2), "c": np.arange(2), "d": np.ones(2)}
    expected = {"a": np.full(2, 1.1), "b": np.ones(3), "c": np.arange(2)}
    assert _ratios(outputs, expected) == [pytest.approx(20.8, abs=0.1)]
