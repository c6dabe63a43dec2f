"""Commands to type after a run that could not have failed."""

from __future__ import annotations

import numpy as np
import pytest
from toymodels import small


def steps(report):
    return [item["command"] for item in report["next_steps"]]


def test_tolerances_that_pass_anything_are_left_out_of_the_command(run):
    done, report = run("-b", "toy", "-b", "plain", "--atol", "100", "--rtol", "0")
    assert done.status == 3
    first, last = steps(report)
    assert "--atol" not in first
    assert first.startswith("polycmp run m.toy -b toy -b plain")
    assert last.endswith("--allow-blind y")


@pytest.fixture
def blind(run, tmp_path):
    """Run a comparison that passes whatever it is given."""
    (tmp_path / "c.py").write_text("def compare_outputs(result, other):\n    return {name: True for name in result}\n")

    def go(*words):
        done, report = run("-b", "toy", "-b", "plain", "--compare-func-script", "c.py", *words)
        assert done.status == 3, done.out
        return steps(report)

    return go


def test_random_inputs_give_way_to_real_ones(blind):
    install, own, accept = blind()
    assert install == "pip install polycmp-samples"
    assert own.endswith("--load-inputs FILE")
    assert accept.endswith("--allow-blind y")


def test_inputs_that_were_given_give_way_to_others(blind, tmp_path):
    np.savez(tmp_path / "i.npz", x=np.ones((1, 8), np.float32))
    own, accept = blind("--load-inputs", "i.npz")
    assert "--load-inputs FILE" in own
    assert "i.npz" not in own
    assert accept.endswith("--allow-blind y")


def test_a_run_that_passes_or_differs_has_none(run, polycmp, tmp_path):
    _, report = run("-b", "toy", "-b", "plain")
    assert steps(report) == []
    small(tmp_path / "m.toy")
    done = polycmp("run", "m.toy", "-b", "toy:fault=add,at=y", "-b", "plain", "--report", "r.json")
    assert not any("--allow-blind" in command for command in steps(done.report()))
