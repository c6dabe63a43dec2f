"""Names of tensors on the command line, before any backend starts."""

from __future__ import annotations

import pytest
from toymodels import small


@pytest.mark.parametrize(
    ("words", "what", "hint"),
    [
        (("--input-shapes", "X:[2,8]"), "--input-shapes: the model has no input 'X'", "its inputs are: x"),
        (("--val-range", "xx:[0,1]"), "--val-range: the model has no input 'xx'", "its inputs are: x"),
        (("--atol", "z:0.1"), "--atol: the model has no output 'z'", "its outputs are: y"),
        (("--postprocess", "z:top-1"), "--postprocess: the model has no output 'z'", "its outputs are: y"),
        (("--allow-blind", "z"), "--allow-blind: the model has no output 'z'", "its outputs are: y"),
    ],
)
def test_a_name_that_no_model_has_is_wrong_usage_with_those_there_are(polycmp, tmp_path, words, what, hint):
    small(tmp_path / "m.toy")
    done = polycmp("run", "m.toy", "-b", "toy", "-b", "plain", *words)
    assert done.status == 2
    assert what in done.err
    assert hint in done.err


@pytest.mark.parametrize(
    "words", [("--input-shapes", "x:[2,8]"), ("--atol", "y:1e-6"), ("--atol", "r:1e-6", "--toy-outputs", "r", "y")]
)
def test_names_of_the_model_and_of_tensors_that_are_outputs_are_taken(polycmp, tmp_path, words):
    small(tmp_path / "m.toy")
    assert polycmp("run", "m.toy", "-b", "toy", "-b", "plain", *words).status == 0
