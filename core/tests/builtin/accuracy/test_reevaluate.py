"""Metrics of runs of the toy box that are saved, and judged again."""

from __future__ import annotations

import pytest
from toymodels import small


@pytest.fixture
def metrics(polycmp, tmp_path):
    """Save the metrics of a backend that is off by 1e-3 in the second and third of three iterations."""
    small(tmp_path / "m.toy")
    backends = ("-b", "toy:name=bad,fault=add,at=y,amount=1e-3,after=1", "-b", "plain", "--iterations", "3")
    words = ("--compare", "simple", "l2", "--rtol", "0", "--check-error-stat", "max")
    done = polycmp("run", "m.toy", *backends, *words, "--save-accuracy-results", "a.json")
    assert done.status == 1
    return done


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ((), 1),
        (("--atol", "1.1e-3", "--l2-threshold", "0.1"), 0),
        (("--atol", "0.9e-3", "--l2-threshold", "0.1"), 1),
        (("--compare", "l2", "--l2-threshold", "0.1"), 0),
        (("--compare", "simple", "--atol", "0.7e-3", "--check-average"), 0),
        (("--compare", "simple", "--atol", "0.6e-3", "--check-average"), 1),
        (("--compare", "psnr"), 3),
        (("--compare", "nobody"), 3),
        (("--atol", "-1"), 2),
    ],
)
def test_metrics_are_judged_again(metrics, polycmp, words, status):
    done = polycmp("check", "accuracy", "a.json", *words)
    assert done.status == status, done.out + done.err


def test_a_new_judgement_is_reported_and_saved(metrics, polycmp):
    words = ("--atol", "1.1e-3", "--l2-threshold", "0.1", "--report", "r.json", "--save-accuracy-results", "b.json")
    done = polycmp("check", "accuracy", "a.json", *words)
    assert done.report()["verdict"] == "passed"
    assert polycmp("check", "accuracy", "b.json").status == 0
    assert polycmp("check", "accuracy", "a.json").status == 1


def test_saved_metrics_are_judged_again_by_a_plugins_function(polycmp, tmp_path):
    small(tmp_path / "m.toy")
    backends = ("-b", "toy:name=bad,fault=add,at=y,amount=0.5", "-b", "plain")
    words = ("run", "m.toy", *backends, "--compare", "gap", "--save-accuracy-results", "a.json")
    assert polycmp(*words).status == 1
    assert polycmp("check", "accuracy", "a.json", "--gap-allowed", "0.6").status == 0
    assert polycmp("check", "accuracy", "a.json", "--gap-allowed", "0.4").status == 1
