"""A backend that compiles, and refuses a segment as a whole, runs it in pieces."""

from __future__ import annotations

import pytest
from toy_backend import install_forge
from toymodels import chain

EVERY = {"h1", "r1", "h2", "r2", "h3", "r3", "h4", "y"}


@pytest.mark.parametrize(("hidden", "iterations"), [({"h2"}, 1), ({"h2", "r3"}, 1), ({"h2", "r3"}, 3)])
def test_all_but_what_it_refuses_is_compared_in_every_iteration(toybox, site, run, tmp_path, hidden, iterations):
    install_forge(site, compiles="True")
    chain(tmp_path / "m.toy", 4)
    names = ",".join(sorted(hidden))
    words = ("-b", f"forge:name=shy,hides=[{names}]", "-b", "plain", "--toy-mark-all", "--iterations", iterations)
    done, report = run(*words)
    assert done.status == 0, done.err
    [pair] = report["comparison_results"]
    assert set(pair["outputs"]) == EVERY - hidden
    assert {item["iterations"] for item in pair["outputs"].values()} == {iterations}
    [note] = report["inference_results"]["shy"]["notes"]
    assert f"not compared: {', '.join(map(repr, sorted(hidden)))} (cannot give out 'h2'" in note


def test_one_that_refuses_what_others_need_is_a_failing_backend(toybox, site, run, tmp_path):
    install_forge(site, compiles="True")
    chain(tmp_path / "m.toy", 4)
    done, report = run("-b", "forge:refuses=[Relu]", "-b", "plain", "--toy-mark-all")
    assert done.status == 3
    assert "has no operator Relu" in report["inference_results"]["forge:refuses=[Relu]"]["error"]
