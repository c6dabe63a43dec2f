"""Reports of runs of the toy box, and metrics that are judged again."""

from __future__ import annotations

import pytest
from toymodels import residual, small


@pytest.fixture
def outcome(polycmp, tmp_path):
    """Run a good, a bad and a broken backend; write the report that the core has."""
    small(tmp_path / "m.toy")
    backends = ("-b", "toy:name=<good>", "-b", "toy:name=bad,fault=add,at=y", "-b", "toy:name=broken,fault=raise,at=y")
    return polycmp("run", "m.toy", *backends, "-b", "plain", "--iterations", "2", "--report", "r.json")


def test_the_report_tells_what_the_exit_status_does(outcome):
    assert outcome.status == 3
    found = outcome.report()
    assert (found["verdict"], found["exit_code"]) == ("error", 3)
    passed = {pair["candidate"]: pair["passed"] for pair in found["comparison_results"] if pair["outputs"]}
    assert passed["<good>"]
    assert not passed["bad"]


@pytest.mark.parametrize(
    ("words", "package"),
    [
        (("--report", "r.html"), "pip install polycmp-report"),
        (("--report", "r.xml"), "pip install polycmp-report"),
        (("--save-heatmaps", "maps"), "pip install 'polycmp-report[plot]'"),
    ],
)
def test_other_reports_name_their_package(polycmp, tmp_path, words, package):
    small(tmp_path / "m.toy")
    done = polycmp("run", "m.toy", "-b", "toy", "-b", "plain", *words)
    assert (done.status, done.out) == (3, "")
    assert package in done.err


# --- check accuracy


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


@pytest.mark.parametrize("content", ["", "[]", '{"schema": 1}', "no json"])
def test_what_holds_no_metrics(polycmp, tmp_path, content):
    (tmp_path / "a.json").write_text(content)
    done = polycmp("check", "accuracy", "a.json")
    assert done.status == 3
    assert "a.json" in done.err


def test_figures_of_every_tensor_inside(polycmp, tmp_path):
    residual(tmp_path / "m.toy")
    words = ("-b", "toy:name=bad,fault=add,at=b", "-b", "plain", "--toy-mark-all", "--report", "r.json", "-v")
    done = polycmp("run", "m.toy", *words)
    assert done.status == 1
    assert all(f"'{name}'" in done.out or f" {name} " in done.out for name in ("ww", "left", "sf", "y"))
    assert {"ww", "left", "sf", "y"} <= set(done.report()["comparison_results"][0]["outputs"])
