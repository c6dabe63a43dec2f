"""What `--save-accuracy-results` keeps of each iteration."""

from __future__ import annotations

import json
from pathlib import Path

import pytest


def records(path):
    return json.loads(Path(path).read_text())["records"]


@pytest.fixture
def differing(polycmp, model):
    """Save the metrics of four functions on two backends that differ, over two iterations."""
    functions = ("--compare", "simple", "l2", "cosine_similarity", "psnr", "--atol", "1e-5", "--rtol", "1e-5")
    backends = ("-b", "toy:name=bad,fault=add,at=y,amount=0.5", "-b", "plain", "--iterations", "2")
    assert polycmp("run", model, *backends, *functions, "--save-accuracy-results", "m.json").status == 1
    return "m.json"


def test_a_file_has_one_flat_record_per_iteration_and_function(differing):
    found = records(differing)
    assert len(found) == 2 * 4
    assert {(r["candidate"], r["reference"], r["output"]) for r in found} == {("bad", "plain", "y")}
    assert [r["iteration"] for r in found] == [0] * 4 + [1] * 4
    simple = found[0]
    assert simple["passed"] is False
    assert simple["settings"]["atol"] == 1e-5
    assert simple["metrics"]["required_abs"] == simple["metrics"]["max_abs"] > 1e-3


def test_what_was_read_is_written_again(polycmp, differing):
    assert polycmp("check", "accuracy", differing, "--save-accuracy-results", "again.json").status == 1
    assert records("again.json") == records(differing)


def test_infinite_metrics_survive(polycmp, model):
    words = ("--compare", "psnr", "--save-accuracy-results", "m.json")
    assert polycmp("run", model, "-b", "toy", "-b", "plain", *words).status == 0
    assert records("m.json")[0]["metrics"] == {"psnr": "inf"}
    assert polycmp("check", "accuracy", "m.json", "--psnr-threshold", 200).status == 0
