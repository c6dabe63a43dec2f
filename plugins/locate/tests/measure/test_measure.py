"""Which operators `locate` runs alone: where the error jumps, or the verdict hangs on them; borders from both sides."""

from __future__ import annotations

from itertools import pairwise

import pytest
from toymodels import node, number, write

FOUR = {"x": ["float32", [4]]}


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


def test_what_one_operator_does_not_round_runs_alone_where_no_suspect_explains_the_outputs(polycmp, tmp_path):
    """Nine operators are off by 2**-20 each: no tensor by more than rounding adds up to, from t4 on by over 2**-18."""
    names = ["x", *(f"t{index}" for index in range(8)), "y"]
    nodes = [node("Mul", f"{one} k", two) for one, two in pairwise(names)]
    for path, factor in (("candidate.toy", 1 + 2**-20), ("reference.toy", 1)):
        write(tmp_path / path, nodes, {"k": number(factor)}, FOUR)
    backends = ("-b", "toy:model=candidate.toy", "-b", "plain:name=ref,model=reference.toy")
    words = ("--val-range", "[1,1]", "--atol", 1e-9, "--rtol", 1e-9, "--report", "r.json", "--no-float64")
    found = polycmp("locate", "candidate.toy", *backends, *words).report()
    measured = [item["tensor"] for item in found["tensors"] if item["own_error"] is not None]
    assert measured == names[5:]
