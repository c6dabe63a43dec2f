"""Accuracy results that Polygraphy wrote, judged again."""

from __future__ import annotations

import json
import math

import pytest


def write(path, results, aggregation="per_sample"):
    pairs = [[["onnxrt-runner-N0", "pluginref-runner-N0"], [{"y": result} for result in results]]]
    one = {"lst": pairs, "aggregation": aggregation, "polygraphy_class": "AccuracyResult"}
    path.write_text(json.dumps({"lst": [one], "polygraphy_class": "AccuracyResults"}))
    return path


def simple(passed, statistic="elemwise", largest=0.01):
    names = ("max", "mean", "median")
    figures = {f"{name}_{kind}diff": largest for name in names for kind in ("abs", "rel")}
    thresholds = {"check_error_stat": statistic, "atol": 1e-5, "rtol": 1e-5, "polygraphy_class": "SimpleThreshold"}
    extra = {"quantile_absdiff": None, "quantile_reldiff": None, "polygraphy_class": "OutputCompareResult"}
    return {**figures, **extra, "thresholds": thresholds, "passed": passed}


@pytest.mark.parametrize(("passed", "status"), [(True, 0), (False, 1)])
def test_saved_verdict_counts_without_options(polycmp, tmp_path, passed, status):
    path = write(tmp_path / "a.json", [simple(True), simple(passed)])
    assert polycmp("check", "accuracy", path).status == status


def test_statistics_are_judged(polycmp, tmp_path):
    path = write(tmp_path / "a.json", [simple(None, "max")])
    assert polycmp("check", "accuracy", path).status == 1
    assert polycmp("check", "accuracy", path, "--atol", 0.02).status == 0


def test_nan_written_as_a_bare_word(polycmp, tmp_path):
    path = write(tmp_path / "a.json", [simple(None, "max", math.nan)])
    assert polycmp("check", "accuracy", path, "--atol", 1e9, "--rtol", 1e9).status == 1


def test_single_metrics_and_bare_verdicts(polycmp, tmp_path):
    l2 = {"l2_norm": 0.5, "thresholds": {"threshold": 1e-5}, "polygraphy_class": "L2Result"}
    path = write(tmp_path / "a.json", [l2])
    assert polycmp("check", "accuracy", path).status == 1
    assert polycmp("check", "accuracy", path, "--l2-threshold", 0.6).status == 0
    path = write(tmp_path / "b.json", [True, False])
    assert polycmp("check", "accuracy", path).status == 1
