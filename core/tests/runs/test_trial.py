"""Feeds tried on the quickest backend there is: which one that is, and what is said of feeds that do not run."""

from __future__ import annotations

import numpy as np
import pytest
from fakes import FakeSite
from in_process import plugins_installed
from toymodels import node, small, write

from polycmp.options import Key, OptionValues
from polycmp.plan.build import make_plan
from polycmp.plan.sections import SECTIONS
from polycmp.runs import resolve
from polycmp.runs.trial import open_trial, quickest, with_plain_model

#: Two backends that may be tried on, one of which is quicker.
PLUGIN = """\
from polycmp.spec import RunnerSpec, RunnerTools, hookimpl


@hookimpl
def polycmp_runners():
    yield RunnerSpec("slow", "Slow", "toybox.runner:make_plain", accepts=("toy",), tools="fake_trials:Slow")
    yield RunnerSpec("swift", "Swift", "toybox.runner:make_plain", accepts=("toy",), tools="fake_trials:Swift")
    yield RunnerSpec("lacking", "Lacks", "toybox.runner:make_plain", accepts=("toy",), needs=("no_such_module",),
                     tools="fake_trials:Swift")


class Slow(RunnerTools):
    trial_cost = 9


class Swift(RunnerTools):
    trial_cost = 2
"""
FEED = {"x": np.ones((1, 8), np.float32)}


@pytest.fixture
def resolved(toybox, tmp_path, monkeypatch):
    """Return what a plan of some backends names, where others are installed that are quick."""
    site = FakeSite(tmp_path / "site")
    site.plugin("trials", PLUGIN)
    monkeypatch.syspath_prepend(str(site.folder))

    def of(*backends, make=small, values=()):
        registry = plugins_installed()
        given = OptionValues(dict(values), SECTIONS, model=str(make(tmp_path / "m.toy")), backends=backends)
        return resolve(make_plan(given, registry), registry)

    return of


@pytest.mark.parametrize(
    ("backends", "name"), [(("slow",), "swift"), (("plain", "toy"), "swift"), (("swift", "slow"), "swift")]
)
def test_the_quickest_of_all_that_are_installed_is_taken(resolved, backends, name):
    run = resolved(*backends)
    assert quickest(run.backends, run.registry).plan.backend == name


def tried(run, feed=FEED, **more):
    inputs = run.backends[0].model.describe().inputs
    with open_trial(run.backends, run.registry, inputs, **more) as trial:
        return trial.run(feed)


def test_a_feed_that_runs_gives_its_outputs(resolved):
    outputs = tried(resolved("plain"))
    assert outputs["y"].sum() == pytest.approx(1.0, rel=1e-5)


@pytest.mark.parametrize(
    ("feed", "said"),
    [
        ({"x": np.ones((1, 7), np.float32)}, "shape"),
        ({"x": np.ones((1, 8), "S1")}, "x"),
    ],
)
def test_a_feed_that_does_not_run_gives_the_reason_in_words(resolved, feed, said):
    reason = tried(resolved("plain"), feed)
    assert isinstance(reason, str)
    assert said in reason


def test_a_model_that_cannot_be_run_is_an_error_in_words(resolved):
    def unheard(path):
        return write(path, [node("Unheard", "x", "y")])

    assert "Unheard" in tried(resolved("plain", make=unheard))


def test_outputs_that_options_add_are_left_out_where_the_model_is_to_be_plain(resolved):
    run = resolved("plain", values={Key("loader", "toy", "mark_all"): True})
    assert set(tried(run)) == {"h", "r", "y"}
    assert set(tried(run, plain=True)) == {"y"}
    assert list(with_plain_model(run.backends[0], run.backends[0].model).model.describe().outputs) == ["y"]
