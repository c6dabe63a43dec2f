"""`locate`: which operators it runs alone, and what it calculates in float64; borders from both sides, on real runs."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from located_rows import part
from toymodels import node, number, write

from polycmp_locate.measure.operators import OperatorTester

FOUR = {"x": ["float32", [4]]}


@pytest.fixture
def search(polycmp, tmp_path):
    """Search with inputs of 1 for what makes one model differ from another; return the report and its rows."""

    def run(make, candidate, reference, *words):
        make(tmp_path / "candidate.toy", candidate)
        make(tmp_path / "reference.toy", reference)
        backends = ("-b", "toy:model=candidate.toy", "-b", "plain:name=ref,model=reference.toy")
        words = (*backends, "--val-range", "[1,1]", "--report", "r.json", "--explain", *words)
        done = polycmp("locate", "candidate.toy", *words)
        found = done.report()
        return done, found, {item["tensor"]: item for item in found["tensors"]}

    return run


def difference(path, weights):
    """y = x * k - c: an error of k in `a` is 1 / (1 - c) times as large in `y`."""
    factor, minus = weights
    nodes = [node("Mul", "x k", "a"), node("Sub", "a c", "y")]
    write(path, nodes, {"k": number(factor), "c": number(minus)}, FOUR)


LOOSE = ("--atol", "10")


@pytest.mark.parametrize(("minus", "jump"), [(0.875, 8.0), (0.875 + 2**-12, 8.0157)])
def test_an_operator_runs_alone_where_the_error_grows_more_than_eightfold(search, minus, jump):
    _, _, rows = search(difference, (1 + 2**-8, minus), (1, minus), *LOOSE)
    assert rows["y"]["jump"] == pytest.approx(jump, rel=1e-4)
    assert (rows["y"]["own_error"] is not None) is (jump > 8)


@pytest.mark.parametrize(("error", "looked_at"), [(2**-18, False), (2**-18 + 2**-23, True)])
def test_an_error_that_rounding_explains_is_not_looked_at(search, error, looked_at):
    _, _, rows = search(difference, (1 + error, 0), (1, 0), *LOOSE)
    assert rows["a"]["relative_error"] == error
    assert (rows["a"]["own_error"] is not None) is looked_at


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


def branches(path, weights):
    """As many operators side by side, each with the same error of its own."""
    count, factor = weights
    nodes = [node("Mul", "x k", f"t{index}") for index in range(count)]
    write(path, nodes, {"k": number(factor)}, FOUR, [f"t{count - 1}"])


@pytest.mark.parametrize("count", [23, 24, 25, 30])
def test_as_many_operators_run_alone_on_a_busy_machine_as_on_any(search, count, monkeypatch):
    monkeypatch.setattr("polycmp_locate.measure.measure._MANY", 24)
    _, _, rows = search(branches, (count, 1.5), (count, 1), *LOOSE)
    measured = [name for name, item in rows.items() if item["own_error"] is not None]
    assert measured == [f"t{index}" for index in range(min(count, 24))]


def test_the_operator_on_which_the_verdict_hangs_runs_alone_however_many_come_before_it(search, monkeypatch):
    monkeypatch.setattr("polycmp_locate.measure.measure._MANY", 24)
    done, found, rows = search(branches, (30, 1.5), (30, 1), "--atol", "1e-6", "--rtol", "1e-6")
    assert rows["t29"]["own_error"]["relative_error"] == 0.5
    assert (done.status, found["first_bad"], found["words"]) == (1, "t29", "wrong")


def test_the_first_tensor_outside_the_tolerance_is_looked_at_though_its_error_does_not_jump(search):
    _, found, rows = search(difference, (1 + 2**-8, 0.75), (1, 0.75), "--atol", str(2**-8), "--rtol", "0.01")
    assert rows["y"]["jump"] == 4
    assert rows["y"]["own_error"] is None
    _, found, rows = search(difference, (1 + 2**-8, 0.75), (1, 0.75), "--atol", "1e-9", "--rtol", "0.01")
    assert found["first_bad"] == "y"
    assert rows["y"]["own_error"]["relative_error"] == 0
    assert found["origin"] == "a"


def test_a_search_that_distrusts_what_it_saw_runs_all_operators_alone(polycmp, tmp_path):
    """A fusion changes the outputs; seen one by one, each of 261 operators is off from the reference's by a little."""
    names = ["x", *(f"t{index}" for index in range(260)), "y"]
    nodes = [node("Mul", f"{one} k", two) for one, two in pairwise(names)]
    for path, factor in (("candidate.toy", 1 + 2**-16), ("reference.toy", 1)):
        write(tmp_path / path, nodes, {"k": number(factor)}, FOUR)
    backends = ("-b", "toy:model=candidate.toy,fault=add,at=y,fused=t9", "-b", "plain:name=ref,model=reference.toy")
    words = ("--val-range", "[1,1]", "--atol", 1e-9, "--rtol", 1e-9, "--report", "r.json", "--no-float64")
    found = polycmp("locate", "candidate.toy", *backends, *words).report()
    assert not found["probe"]["trusted"]
    measured = [item["tensor"] for item in found["tensors"] if item["own_error"] is not None]
    assert measured == names[1:]


def large(path, weights):
    """y = x * k on as many numbers as asked for."""
    count, factor = weights
    write(path, [node("Mul", "x k", "y")], {"k": number(factor)}, {"x": ["float32", [count]]})


@pytest.mark.parametrize(("count", "in_float64"), [(2**21 - 1, True), (2**21, False)])
def test_a_model_is_calculated_in_float64_up_to_four_million_numbers(search, count, in_float64):
    """x and y are `count` numbers each, k is one."""
    _, _, rows = search(large, (count, 1), (count, 1))
    assert (rows["y"]["float64"] is not None) is in_float64


@pytest.mark.parametrize(
    ("count", "floor"),
    [(2**19, "the reference against float64"), (2**19 + 1, "inputs moved by one unit in the last place")],
)
def test_an_operator_is_calculated_in_float64_up_to_a_million_numbers(search, count, floor):
    done, _, _ = search(large, (count, 1.5), (count, 1))
    assert floor in done.words


class Rounding:
    """A reference that rounds what it reads to whole steps."""

    def run_part(self, feed, names):
        return {name: np.rint(feed["x"]).astype(np.int8) for name in names}


@pytest.mark.parametrize(
    ("value", "width", "tie"), [(10.15, 8.0, False), (10.2, 8.0, True), (10.3, 4.0, False), (10.4, 4.0, True)]
)
def test_a_step_is_a_tie_where_inputs_a_few_units_away_make_it(value, width, tie):
    tester = OperatorTester.__new__(OperatorTester)
    tester.reference = Rounding()
    row = part(input_unit=2.0**-8)
    pair = np.array([11], np.int8), np.array([10], np.int8)
    assert tester._are_ties(row, {"x": np.array([value])}, pair, width) is tie
