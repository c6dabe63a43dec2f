"""A backend that shows a run which is over: its inputs are those of all backends, and its value follows its flag."""

from __future__ import annotations

import numpy as np
import pytest
from fakes import FakeSite
from toymodels import node, number, write

from polycmp.results.files import open_inputs

PLUGIN = """\
from dataclasses import dataclass
from polycmp.spec import RunnerSpec, RunnerTools, hookimpl, opt


@dataclass(frozen=True)
class Options:
    reel: str = opt("", help="File of the tape.", alias="--tape", metavar="FILE")


@hookimpl
def polycmp_runners():
    yield RunnerSpec("tape", "A tape", "tape_heavy:make", Options, ("toy",), (), tools="fake_tape:Tools")


class Tools(RunnerTools):
    def precision(self, model, options):
        return "float16"

    def recorded_inputs(self, model, options):
        from tape_heavy import recorded

        return recorded(options.reel)
"""
HEAVY = """\
import numpy as np
from polycmp.runner import Runner
from polycmp.tensors import TensorMetadata


def recorded(reel):
    reel = np.load(reel)
    return [{"x": x} for x in reel["x"]]


class Tape(Runner):
    def get_input_metadata_impl(self):
        return TensorMetadata().add("x", "float32", ["n"])

    def infer_impl(self, feed_dict):
        reel = np.load(self.reel)
        (at,) = (index for index, x in enumerate(reel["x"]) if np.array_equal(x, feed_dict["x"]))
        return {"y": reel["y"][at]}


def make(model, options, *, name):
    tape = Tape(name)
    tape.reel = options.reel
    return tape
"""


@pytest.fixture
def taped(toybox, polycmp, tmp_path, monkeypatch):
    """A model that doubles, a tape of it, and a plugin that plays tapes."""
    site = FakeSite(tmp_path / "site")
    site.plugin("tape", PLUGIN)
    (site.folder / "tape_heavy.py").write_text(HEAVY)
    monkeypatch.syspath_prepend(str(site.folder))
    write("m.toy", [node("Mul", "x two", "y")], {"two": number(2.0)}, {"x": ["float32", ["n"]]})
    x = np.arange(8, dtype=np.float32).reshape(2, 4) + 1
    np.savez("reel.npz", x=x, y=2 * x)
    return polycmp


def test_recorded_inputs_are_fed_to_all_backends(taped):
    done = taped("run", "m.toy", "--tape", "reel.npz", "-b", "plain", "--save-inputs", "i.npz", "--report", "r.json")
    assert (done.status, "PASSED" in done.out) == (0, True), done.out + done.err
    assert [feed["x"].tolist() for feed in open_inputs(["i.npz"])] == [[1, 2, 3, 4], [5, 6, 7, 8]]
    report = done.report()
    assert "inputs: those that were recorded with tape:reel=reel.npz" in report["notes"]
    assert report["inference_results"]["tape:reel=reel.npz"]["precision"] == "float16"


def test_inputs_that_are_given_are_taken_instead(taped):
    np.savez("given.npz", x=np.float32([5, 6, 7, 8]))
    words = ("run", "m.toy", "--tape=reel.npz", "-b", "plain", "--load-inputs", "given.npz", "--save-inputs", "i.npz")
    assert taped(*words).status == 0
    assert [feed["x"].tolist() for feed in open_inputs(["i.npz"])] == [[5, 6, 7, 8]]


def test_a_flag_that_takes_a_value_says_so(taped):
    assert "--tape VALUE" in taped("run", "--help", "tape").out
    done = taped("run", "m.toy", "-b", "plain", "--tape")
    assert (done.status, "--tape needs a value" in done.err) == (2, True)
