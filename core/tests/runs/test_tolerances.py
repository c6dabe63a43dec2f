"""When measured rounding judges, and what takes its place."""

from __future__ import annotations

import pytest
from toymodels import node, write

TWO = ("-b", "toy", "-b", "plain")
#: A difference that rounding cannot explain, and a tolerance that a user types would let pass.
FAULT = ("-b", "toy:fault=add,at=y,amount=1e-3", "-b", "plain")


@pytest.fixture
def model(tmp_path):
    """A model with a dimension that is open."""
    return write(tmp_path / "m.toy", [node("Relu", "x", "y")], inputs={"x": ["float32", ["batch", "m"]]})


def test_tolerances_by_rounding_come_with_the_core(polycmp, model):
    assert polycmp("run", "m.toy", *TWO, "--report", "r.json", "--tolerance", "auto").status == 0


@pytest.mark.parametrize(
    ("words", "measured"),
    [
        ((), True),
        (("--tolerance", "auto"), True),
        (("--atol", "y:1e-9"), True),  # for this output alone it is final, and there is no other
        (("--atol", "1e-2"), False),
        (("--check-error-stat", "mean", "--atol", "1e-2"), False),
        (("--compare", "l2", "--l2-threshold", "1e-2"), False),
    ],
)
def test_what_is_typed_takes_the_place_of_measured_rounding(polycmp, model, words, measured):
    assert polycmp("run", "m.toy", *FAULT, *words).status == (1 if measured else 0)


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (("--tolerance", "auto", "--atol", "0.1"), 2, "--atol and --rtol are given, too"),
        (("--tolerance", "auto", "--compare", "l2"), 2, "the compare function simple, which does not take part"),
        (("--tolerance", "auto", "--check-error-stat", "mean"), 2, "it looks at every element and at the mean square"),
        (("--tolerance", "outo"), 2, "did you mean 'auto'"),
    ],
)
def test_a_method_that_makes_no_sense_here_is_wrong_usage(polycmp, model, words, status, says):
    done = polycmp("run", "m.toy", *TWO, *words)
    assert (done.status, says in done.err) == (status, True), done.err
