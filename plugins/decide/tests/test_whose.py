"""Whose error it is: what a new file makes, and what the device adds."""

from __future__ import annotations

import pytest
from commandline import Done, toybox  # noqa: F401 - fixtures
from commandline import polycmp as command  # noqa: F401 - a fixture
from toymodels import node, number, write

REFERENCE = "toy:name=old"


@pytest.fixture
def run(command, tmp_path):  # noqa: F811 - the fixture
    """Return what runs three backends; the new file is off by 0.3."""
    write(tmp_path / "old.toy", [node("Add", "x w", "y")], {"w": number(0.0)})
    write(tmp_path / "new.toy", [node("Add", "x w", "y")], {"w": number(0.3)})

    def go(*backends: str, reference: str = REFERENCE, more: tuple[str, ...] = ()) -> tuple[Done, dict]:
        words = [word for backend in backends for word in ("-b", backend)]
        done = command("run", "old.toy", *words, "-b", reference, *more, "--report", "r.json")
        return done, done.report().get("error_shares", {})

    return go


def device(amount: float) -> str:
    """Return a device that is off by an amount."""
    return f"toy:name=device,model=new.toy,fault=add,at=y,amount={amount}"


HOST = "toy:name=host,model=new.toy"


@pytest.mark.parametrize(("amount", "more"), [(0.4, "they add up"), (-0.4, "they cancel in part")])
def test_the_shares_are_those_of_the_squares(run, amount, more):
    done, shares = run(device(amount), HOST)
    assert done.status == 1
    assert shares["outputs"]["y"]["file"] == pytest.approx(0.36, abs=1e-5)
    assert shares["outputs"]["y"]["device"] == pytest.approx(0.64, abs=1e-5)
    expected = "y: the new file makes 36 % of the error (0.3 on average, on host), device 64 % (0.4)"
    assert expected in done.words
    assert more in done.words


def test_the_order_of_the_candidates_does_not_matter(run):
    assert run(HOST, device(0.4))[1]["device"] == run(device(0.4), HOST)[1]["device"] == "device"


@pytest.mark.parametrize(
    "backends",
    [(HOST,), (device(0.4),), ("plain:name=one", "plain:name=two"), (HOST, "toy:name=again,model=new.toy")],
    ids=["two runs", "device alone", "one file", "which is the device"],
)
def test_other_runs_say_nothing_of_it(run, backends):
    done, shares = run(*backends)
    assert shares == {}
    assert "whose error" not in done.out


def test_tensors_inside_have_no_shares(run, tmp_path):
    for name, value in (("old.toy", 0.0), ("new.toy", 0.3)):
        write(tmp_path / name, [node("Add", "x w", "h"), node("Relu", "h", "y")], {"w": number(value)})
    _, shares = run(device(0.4), HOST, more=("--toy-mark-all",))
    assert list(shares["outputs"]) == ["y"]


def test_errors_of_whole_numbers_and_other_shapes_have_no_shares(run, tmp_path):
    write(tmp_path / "old.toy", [node("Shape", "x", "y")])
    write(tmp_path / "new.toy", [node("Shape", "x", "y")])
    assert run(device(1.0), HOST)[1] == {}
