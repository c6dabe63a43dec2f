"""What `locate` calculates of an operator that runs alone; borders from both sides."""

from __future__ import annotations

import numpy as np
import pytest
from located_rows import part
from toymodels import node, number, write

from polycmp_locate.measure import operators
from polycmp_locate.measure.operators import OperatorTester

FOUR = {"x": ["float32", [4]]}


def product(path, weights):
    """y = x * k * l: of an error in k, the operator behind it is innocent."""
    one, two = weights
    write(path, [node("Mul", "x k", "a"), node("Mul", "a l", "y")], {"k": number(one), "l": number(two)}, FOUR)


@pytest.mark.parametrize(("error", "explained"), [(2**-18, False), (2**-18 + 2**-23, True)])
def test_an_own_error_that_rounding_explains_needs_no_floor(search, error, explained):
    """`a` may be off by as much as it likes, so `y` is the first bad tensor, whose own error is known exactly."""
    done, found, rows = search(product, (1.5, 1 + error), (1, 1), "--atol", "a:10", "y:1e-9", "--rtol", "1e-9")
    assert found["first_bad"] == "y"
    assert rows["y"]["own_error"]["relative_error"] == error
    assert ("noise floor of the operator" in done.words) is explained


def large(path, weights):
    """y = x * k on as many numbers as asked for."""
    count, factor = weights
    write(path, [node("Mul", "x k", "y")], {"k": number(factor)}, {"x": ["float32", [count]]})


@pytest.mark.parametrize(
    ("count", "floor"),
    [(2**9, "the reference against float64"), (2**9 + 1, "inputs moved by one unit in the last place")],
)
def test_an_operator_is_calculated_in_float64_up_to_a_million_numbers(search, monkeypatch, count, floor):
    assert operators._AFFORDABLE_ALONE == 2**20
    monkeypatch.setattr(operators, "_AFFORDABLE_ALONE", 2**10)
    done, _, _ = search(large, (count, 1.5), (count, 1))
    assert floor in done.words


class Rounding:
    """A reference that rounds what it reads to whole steps."""

    def run_part(self, feed, names):
        return {name: np.rint(feed["x"]).astype(np.int8) for name in names}


@pytest.mark.parametrize(
    ("value", "width", "tie"), [(10.15, 8.0, False), (10.2, 8.0, True), (10.3, 4.0, False), (10.4, 4.0, True)]
)
def test_a_step_is_a_tie_where_inputs_a_few_units_away_make_it(monkeypatch, value, width, tie):
    monkeypatch.setattr("polycmp_locate.measure.operators.TIE_WIDTH", width)
    tester = OperatorTester.__new__(OperatorTester)
    tester.reference = Rounding()
    row = part(input_unit=2.0**-8)
    made, expected = np.array([11], np.int8), np.array([10], np.int8)
    assert tester._are_ties(row, {"x": np.array([value])}, made, expected) is tie
