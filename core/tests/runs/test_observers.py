"""Observers of runs, as a stranger's plugin brings them: they change, watch and finish, and fail in words."""

from __future__ import annotations

import re
import sys
from textwrap import dedent

import pytest
from fakes import FakeSite
from toymodels import node, write

from polycmp.spec import Hooks

LIGHT = """
    from polycmp.spec import ObserverSpec, hookimpl

    @hookimpl
    def polycmp_run_observers():
        yield ObserverSpec({name!r}, "Watches", "{name}_heavy:observe", changes={changes})
"""
HEAVY = """
    import os
    import numpy as np
    from polycmp.errors import DataError
    from polycmp.spec import RunObserver

    def observe(resolved):
        return Observer()

    class Observer(RunObserver):
"""


@pytest.fixture
def install(tmp_path_factory, monkeypatch, tmp_path):
    """Install a plugin with one observer, of which the methods are given; `m.toy` is a model of two outputs."""
    site = FakeSite(tmp_path_factory.mktemp("site"))
    monkeypatch.syspath_prepend(str(site.folder))
    write(tmp_path / "m.toy", [node("Relu", "x", "y"), node("Softmax", "y", "z")], outputs=["y", "z"])

    modules = []

    def go(name, methods, *, changes=False, heavy=HEAVY):
        body = "\n".join(f"        {line}" for line in methods.strip("\n").splitlines())
        files = {f"{name}_light.py": LIGHT.format(name=name, changes=changes), f"{name}_heavy.py": heavy + body + "\n"}
        modules.extend((f"{name}_light", f"{name}_heavy"))
        site.install(f"fake-{name}", {name: f"{name}_light"}, files)

    yield go
    for module in modules:  # other tests have others of these names
        sys.modules.pop(module, None)


EQUAL = ("run", "m.toy", "-b", "toy", "-b", "plain", "--iterations", "2")
WRONG = ("run", "m.toy", "-b", "toy:fault=add,at=y", "-b", "plain", "--iterations", "2")

EVERYTHING = """
def start(self, outcome):
    self.seen = [f"start {outcome.reference}: {[item.iterations for item in outcome.backends]}"]
def transform(self, step):
    assert not step.compared
    return {label: {name: np.zeros_like(array) for name, array in outputs.items()}
            for label, outputs in step.outputs.items()}
def on_step(self, step):
    made = any(np.any(array) for outputs in step.made.values() for array in outputs.values())
    shown = sorted({pair.output for pair in step.pairs() if not np.any(pair.made)})
    self.seen.append(f"step {step.index} made {made} shown {shown} of {[*step.compared]}")
def finish(self, outcome):
    outcome.notes.append("; ".join([*self.seen, f"finish {outcome.verdict}"]))
def close(self):
    print("closed")
"""


def test_one_of_a_stranger_changes_and_watches_and_finishes(polycmp, install):
    install("zero", EVERYTHING, changes=True)
    done = polycmp(*EQUAL)
    said = "start plain: [0, 0]; step 0 made True shown ['y', 'z'] of ['toy']; step 1 made True shown ['y', 'z'] of"
    assert said in done.words, done.err
    assert "closed" in done.out


def test_what_it_changes_is_what_is_compared(polycmp, install):
    assert polycmp(*WRONG).status == 1
    install("zero", EVERYTHING, changes=True)
    done = polycmp(*WRONG, "--allow-blind", "y", "z")
    assert done.status == 0, done.words


def test_it_is_listed_and_can_be_switched_off(polycmp, install, monkeypatch):
    install("zero", EVERYTHING, changes=True)
    assert "observer: zero" in polycmp("plugins", "list").words
    monkeypatch.setenv("POLYCMP_PLUGINS", "toybox")
    assert polycmp(*WRONG).status == 1
    assert "closed" not in polycmp(*WRONG).out


def test_those_that_change_are_asked_before_those_that_look(polycmp, install):
    watch = 'def on_step(self, step): print("saw", {bool(np.any(pair.made)) for pair in step.pairs()})'
    install("aaa", watch)
    install("zero", EVERYTHING, changes=True)
    assert "saw {False}" in polycmp(*EQUAL).out


@pytest.mark.parametrize(
    ("method", "what"),
    [("on_step(self, step)", "cannot observe iteration 0"), ("finish(self, outcome)", "cannot finish")],
)
@pytest.mark.parametrize("words", [EQUAL, WRONG])
def test_its_failure_does_not_hide_the_verdict(polycmp, install, method, what, words):
    expected = polycmp(*words, "--report", "r.json")
    verdict = expected.report()["verdict"]
    assert verdict in {"passed", "failed"}
    install("bad", f"def {method}: raise RuntimeError('no more room')")
    done = polycmp(*words, "--report", "r.json")
    assert (done.status, done.report()["verdict"]) == (3, verdict)
    said = f"observer 'bad' of fake-bad: {what}"
    assert said in done.err and "RuntimeError: no more room" in done.err and "polycmp plugins check bad" in done.err
    assert any(said in note for note in done.report()["notes"])


def test_one_that_fails_takes_part_no_longer_but_is_closed(polycmp, install):
    install("bad", 'def on_step(self, step): print("step"); raise OSError("x")\ndef close(self): print("closed")')
    done = polycmp(*EQUAL)
    assert (done.status, done.out.count("step"), done.out.count("closed")) == (3, 1, 1)


@pytest.mark.parametrize("method", ["start(self, outcome)", "transform(self, step)", "__init__(self)"])
def test_without_what_it_changes_nothing_is_compared(polycmp, install, method):
    install("bad", f"def {method}: raise RuntimeError('broken')", changes=True)
    done = polycmp(*EQUAL)
    assert (done.status, "observer 'bad' of fake-bad" in done.err, "PASSED" in done.out) == (3, True, False)


def test_a_change_that_fails_later_does_not_hide_a_difference(polycmp, install):
    install("bad", "def transform(self, step):\n    if step.index: raise DataError('not these')", changes=True)
    done = polycmp(*WRONG, "--report", "r.json")
    assert (done.status, done.report()["verdict"], "not these" in done.err) == (3, "failed", True)
    equal = polycmp(*EQUAL)
    assert (equal.status, "PASSED" in equal.out, "not these" in equal.err) == (3, False, True)


def test_what_is_no_observer_is_said_to_be_none(polycmp, install):
    install("odd", "", heavy="def observe(resolved):\n    return 7\n")
    done = polycmp(*EQUAL)
    assert done.status == 3
    assert "its factory gave int, which is not derived from polycmp.spec.RunObserver" in done.err


def test_the_example_of_the_hook_runs(polycmp, tmp_path_factory, monkeypatch, tmp_path):
    light, heavy = re.findall(r"::\n\n(.*?)(?=\n +with, in|\Z)", Hooks.polycmp_run_observers.__doc__, re.DOTALL)
    site = FakeSite(tmp_path_factory.mktemp("site"))
    monkeypatch.syspath_prepend(str(site.folder))
    files = {"drift/__init__.py": "", "drift/plugin.py": dedent(light), "drift/watch.py": dedent(heavy)}
    assert "drift.watch:observe" in light
    site.install("drift", {"drift": "drift.plugin"}, files)
    monkeypatch.setenv("WATCH_DRIFT", "1")
    write(tmp_path / "m.toy", [node("Relu", "x", "y")])
    assert "- toy: error of y by iteration: [0.0, 0.0]" in polycmp(*EQUAL).words
    monkeypatch.delenv("WATCH_DRIFT")
    assert "by iteration" not in polycmp(*EQUAL).words


def test_tolerances_and_pairings_are_open_to_strangers(polycmp, tmp_path_factory, monkeypatch, tmp_path):
    light, heavy = re.findall(r"::\n\n(.*?)(?=\n +with, in|\Z)", Hooks.polycmp_tolerances.__doc__, re.DOTALL)
    site = FakeSite(tmp_path_factory.mktemp("site"))
    monkeypatch.syspath_prepend(str(site.folder))
    files = {"share/__init__.py": "", "share/plugin.py": dedent(light), "share/judge.py": dedent(heavy)}
    site.install("share", {"share": "share.plugin"}, files)
    write(tmp_path / "m.toy", [node("Relu", "x", "y")])
    assert "tolerance: share" in polycmp("plugins", "list").words
    done = polycmp(*WRONG, "--tolerance", "share")
    assert (done.status, "allowed" in done.words) == (1, True), done.err
    assert polycmp(*EQUAL, "--tolerance", "share").status == 0
    slip = polycmp(*EQUAL, "--tolerance", "sahre")
    assert (slip.status, "there is no tolerance 'sahre'" in slip.err, "'share'" in slip.err) == (2, True, True)
