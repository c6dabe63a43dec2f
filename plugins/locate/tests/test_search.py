"""`locate`: what one stage hands to the next, on models of twelve layers of which the fifth has other weights."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from toymodels import chain

from polycmp.layerwise import final_outputs, open_partitioned_runs
from polycmp.plan import from_values
from polycmp.plugins import Registry
from polycmp.runs import make_functions, resolve
from polycmp_locate.judge import judge
from polycmp_locate.measure.measure import measure
from polycmp_locate.report.report import report
from polycmp_locate.setting import Setting
from polycmp_locate.sweep.bisect import bisect
from polycmp_locate.sweep.sweep import open_way, sweep
from polycmp_locate.trials.whole import WholeModel

FEED = {"x": np.random.default_rng(0).standard_normal((4, 8)).astype(np.float32)}


@pytest.fixture
def setting(toybox, tmp_path):
    """A candidate and a reference whose fifth layers differ, with memory for a few tensors at a time."""
    mine, other = chain(tmp_path / "mine.toy", changed=5, shape=(4, 8)), chain(tmp_path / "other.toy", shape=(4, 8))
    registry = Registry.discover()
    backends = [f"toy:model={mine}", f"plain:name=ref,model={other}"]
    plan = from_values({"model": str(mine), "backend": backends}, registry)
    candidate, reference = open_partitioned_runs(resolve(plan, registry))
    return Setting(candidate, reference, None, make_functions(plan.compare, registry), max_memory=2048)


def whole_of(setting):
    final = final_outputs(setting.reference.graph)
    plain, expected = (side.run_whole(FEED, final) for side in (setting.candidate, setting.reference))
    return WholeModel(setting, FEED, plain, expected)


def test_a_window_holds_no_tensors_once_the_next_is_asked_for(setting):
    with open_way(setting, FEED) as way:
        windows = list(sweep(way).windows)
    assert len(windows) > 1
    assert [name for window in windows for name in window.rows] == [
        name for layer in range(1, 13) for name in (f"h{layer}", "y" if layer == 12 else f"r{layer}")
    ]
    assert not any(window.reference or window.candidate for window in windows)
    assert [list(window.finals) for window in windows][-1] == ["y"]


def test_operators_of_suspicious_tensors_are_measured_and_others_not(setting):
    with open_way(setting, FEED) as way:
        rows = {row.tensor: row for row in measure(sweep(way), setting).rows}
    assert rows["h4"].standalone is None
    assert rows["h5"].standalone.relative > 0.1
    assert rows["h5"].inputs.keys() == {"r4"}
    with open_way(setting, FEED) as way:
        rows = {row.tensor: row for row in measure(sweep(way), setting, extent="all").rows}
    assert rows["h4"].standalone is None
    assert rows["y"].standalone.relative == 0.0


@pytest.mark.parametrize("look", [sweep, bisect])
def test_the_layer_with_other_weights_is_named(setting, look):
    whole = whole_of(setting)
    with open_way(setting, FEED) as way:
        judged = judge(measure(look(way), setting), whole)
    assert (judged.verdict, judged.first_bad.tensor, judged.open_until) == ("wrong", "h5", None)
    assert judged.is_whole is (look is sweep)
    found = report(judged, setting)
    assert found.sentence.startswith("wrong: MatMul 'n_h5' computes 'h5'")


def test_no_stage_changes_what_another_one_made(setting):
    with open_way(setting, FEED) as way:
        measured = measure(sweep(way), setting)
        judged = judge(measured, whole_of(setting))
    for value, name in ((measured, "rows"), (measured.rows[0], "relative"), (judged, "verdict")):
        with pytest.raises(FrozenInstanceError):
            setattr(value, name, None)
