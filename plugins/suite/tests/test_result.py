"""The result of a case: what its file holds, and what is read of one that is not whole."""

from __future__ import annotations

import json
import math

import pytest

from polycmp_suite.result import CaseResult, read_result, result_from_json

RESULT = CaseResult(
    "one", "failed", "failed", reason="y differs", located="wrong: Mul", backends=("onnxrt", "onnx"), tags=("quick",),
    axes={"atol": "1"}, max_error=0.5, versions={"onnx": "1.18"}, times={"onnx": 0.25}, folder="one-1",
)  # fmt: skip


def written(folder, document):
    """Write the file of a case and return its path."""
    path = folder / "moved" / "result.json"
    path.parent.mkdir()
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return path


def test_a_result_is_read_back_as_it_was_written_with_the_folder_that_it_lies_in(tmp_path):
    found = read_result(written(tmp_path, RESULT.to_json()))
    assert found.to_json() == {**RESULT.to_json(), "folder": "moved"}


def test_keys_of_later_versions_are_left_out_and_infinity_is_a_text():
    found = result_from_json({**json.loads(json.dumps(RESULT.to_json())), "later": 1, "max_error": "inf"})
    assert math.isinf(found.max_error)
    assert found.backends == ("onnxrt", "onnx")


@pytest.mark.parametrize(
    "document",
    ['{"schema": 1', "[]", {**RESULT.to_json(), "schema": 2}, {"schema": 1, "case": "one", "state": "passed"},
     {**RESULT.to_json(), "max_error": "much"}],
    ids=["cut off", "no table", "other schema", "no verdict", "no number"],
)  # fmt: skip
def test_what_is_no_result_is_none(tmp_path, document):
    assert read_result(written(tmp_path, document)) is None
    assert read_result(tmp_path / "nothing.json") is None


@pytest.mark.parametrize(
    ("changed", "mark", "explanation"),
    [
        ({}, "failed", "locate: wrong: Mul; y differs"),
        ({"located": ""}, "failed", "y differs"),
        ({"state": "passed", "known": "bug 7", "located": "", "reason": ""}, "known", ""),
        ({"known": "bug 7", "located": ""}, "failed", "y differs"),
    ],
)
def test_what_is_said_of_a_case(changed, mark, explanation):
    found = CaseResult(**{**vars(RESULT), **changed})
    assert (found.mark, found.explanation) == (mark, explanation)
    assert found.versioned == "onnxrt · onnx 1.18"
