"""Reports of runs of the toy box."""

from __future__ import annotations

import json

import pytest
from toymodels import residual, small

from polycmp.report import Result
from polycmp.report.writers import write_json


@pytest.fixture
def outcome(polycmp, tmp_path):
    """Run a good, a bad and a broken backend; write the report that the core has."""
    small(tmp_path / "m.toy")
    backends = ("-b", "toy:name=<good>", "-b", "toy:name=bad,fault=add,at=y", "-b", "toy:name=broken,fault=raise,at=y")
    return polycmp("run", "m.toy", *backends, "-b", "plain", "--iterations", "2", "--report", "r.json")


def test_the_report_tells_what_the_exit_status_does(outcome):
    assert outcome.status == 3
    report = outcome.report()
    assert (report["verdict"], report["exit_code"]) == ("error", 3)
    passed = {pair["candidate"]: pair["passed"] for pair in report["comparison_results"] if pair["outputs"]}
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


def test_figures_of_every_tensor_inside(polycmp, tmp_path):
    residual(tmp_path / "m.toy")
    words = ("-b", "toy:name=bad,fault=add,at=b", "-b", "plain", "--toy-mark-all", "--report", "r.json", "-v")
    done = polycmp("run", "m.toy", *words)
    assert done.status == 1
    assert all(f"'{name}'" in done.out or f" {name} " in done.out for name in ("ww", "left", "sf", "y"))
    assert {"ww", "left", "sf", "y"} <= set(done.report()["comparison_results"][0]["outputs"])


def test_the_document_is_written_as_it_is(tmp_path):
    document = {"schema": 1, "verdict": "passed", "seconds": float("nan"), "names": ("a", "b")}
    write_json(Result("run", "passed", "PASSED", "fine", document=document), str(tmp_path / "r.json"))
    report = json.loads((tmp_path / "r.json").read_text())
    assert list(report) == list(document)
    assert (report["seconds"], report["names"]) == ("nan", ["a", "b"])
