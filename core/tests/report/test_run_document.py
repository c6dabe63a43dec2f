"""The JSON report of a run: the keys of schema 1 are there whatever happened, and all of it is plain JSON."""

from __future__ import annotations

import json

import numpy as np
import pytest
from judges import simple

from polycmp.compare.pair import PairComparer
from polycmp.report.run_document import document_of
from polycmp.results.outcome import BackendResult, Invalid, Outcome, Timing
from polycmp.tensors import TensorMetadata

X = np.linspace(-1.0, 1.0, 10, dtype=np.float32)
#: Keys that scripts rely on.
PAIR = {"candidate", "reference", "passed", "outputs"}
OUTPUT = {
    *("passed", "reason", "max_error", "mean_error", "median_error", "max_relative_error"),
    *("error_distribution", "required_tolerance", "metrics"),
}


def document(candidate, reference, **more):
    comparer = PairComparer("new", "old", {"simple": simple(atol=0.01, rtol=0.0, detail=True)})
    comparer.add(candidate, reference)
    inputs = TensorMetadata().add("x", np.float32, (1, 8))
    backends = [BackendResult("new", "toy", "1", {"threads": "2"}, "m.toy", 1, Timing.of([0.5]), inputs)]
    backends += [BackendResult("old", "toy", error="has had enough", hint="give it a rest")]
    made = document_of(Outcome("old", backends, [comparer.result()], expected=True, inputs=inputs, **more))
    return json.loads(json.dumps(made, default=lambda value: value.item()))


@pytest.mark.parametrize(
    ("candidate", "reference"), [(X, X), (X + 1, X), (X, X[:5]), (np.array(["a"]), np.array(["b"]))]
)
def test_each_output_has_the_promised_keys(candidate, reference):
    made = document({"y": candidate}, {"y": reference})
    [pair] = made["comparison_results"]
    assert pair.keys() >= PAIR
    assert pair["outputs"]["y"].keys() >= OUTPUT
    assert made["schema"] == 1


def test_figures_of_an_output_are_those_of_its_errors():
    item = document({"y": X + np.float32(0.5)}, {"y": X})["comparison_results"][0]["outputs"]["y"]
    assert item["max_error"] == pytest.approx(0.5)
    assert item["required_tolerance"]["abs"] == pytest.approx(0.5)
    assert item["functions"]["simple"]["tolerance"] == {"atol": 0.01, "rtol": 0.0}
    assert item["error_distribution"]["p90"] == pytest.approx(0.5)
    assert sum(item["error_distribution"]["histogram"]["counts"]) == 10
    assert (item["elements"], item["failed_elements"], len(item["worst"]["index"])) == (10, 10, 1)


def test_where_nothing_was_computed_figures_are_null():
    item = document({"y": X}, {"z": X})["comparison_results"][0]["outputs"]["y"]
    assert [item[name] for name in ("max_error", "worst", "error_distribution", "required_tolerance")] == [None] * 4


def test_runs_have_times_or_an_error():
    results = document({"y": X}, {"y": X})["inference_results"]
    assert results["new"]["runtime"]["median"] == 0.5
    assert results["new"]["outputs"] == {"x": {"dtype": "float32", "shape": [1, 8]}}
    assert (results["new"]["error"], results["old"]["error"]) == (None, "has had enough")
    assert (results["old"]["runtime"], results["old"]["hint"]) == (None, "give it a rest")


def test_what_recorders_add_takes_the_place_of_no_key():
    made = document({"y": X}, {"y": X}, extra={"schema": 99, "mine": 1}, invalid=[Invalid("new", "y", 0, 1, 0, (3,))])
    assert (made["schema"], made["mine"], made["verdict"], made["exit_code"]) == (1, 1, "error", 3)
    [invalid] = made["invalid_outputs"]
    assert (invalid["output"], invalid["nan"], invalid["first"]) == ("y", 1, [3])
