"""`polycmp run --vote`: which of three runs or more is alone."""

from __future__ import annotations

import itertools

import pytest
from toymodels import drawn, node, write

GOOD = ("-b", "toy:name=a"), ("-b", "toy:name=b")
BAD = ("-b", "faulty:name=bad,backend=toy,fault=row-noise,at=h")
OTHER = ("-b", "faulty:name=other,backend=toy,fault=layout,at=h")


@pytest.fixture
def vote(polycmp, tmp_path):
    """Run a model on some backends and let them vote; return what was printed, and the run that is alone."""
    nodes = [node("MatMul", "x w", "h"), node("Relu", "h", "y")]
    write(tmp_path / "m.toy", nodes, {"w": drawn(4, 4, scale=2)}, {"x": ["float32", [6, 4]]})

    def run(*backends, more=("--atol", "1e-5")):
        done = polycmp("run", "m.toy", *itertools.chain(*backends), "--vote", *more, "--report", "r.json")
        return done, done.report().get("vote", {}).get("odd_one_out") if done.status != 2 else None

    return run


@pytest.mark.parametrize("order", list(itertools.permutations((*GOOD, BAD))), ids=lambda order: order[-1][-1][:6])
def test_the_run_that_is_alone_is_named_in_any_place(vote, order):
    done, alone = vote(*order)
    assert (done.status, alone) == (1, "bad"), done.out
    assert "vote: the odd one out is bad: " in done.words
    assert ("and it is the reference: --reference names another" in done.words) == (order[-1] == BAD)


@pytest.mark.parametrize("more", [(), ("--atol", "1e-5"), ("--iterations", "3")], ids=" ".join)
def test_all_agree(vote, more):
    done, alone = vote(*GOOD, ("-b", "toy:name=c"), more=more)
    assert (done.status, alone) == (0, ""), done.out
    assert "vote: all 3 agree" in done.words


def test_two_against_two_is_no_majority(vote):
    done, alone = vote(*GOOD, BAD, OTHER)
    assert (done.status, alone) == (1, "")
    assert "vote: no single backend is the odd one out: several pairs disagree" in done.words


def test_a_run_that_fails_has_no_vote(vote):
    done, alone = vote(*GOOD, ("-b", "faulty:name=dead,backend=toy,fault=crash,at=h"))
    assert (done.status, alone) == (3, "")
    assert "vote: all 2 agree" in done.words


def test_two_runs_cannot_vote(vote):
    done, _ = vote(*GOOD)
    assert done.status == 2
    assert "--vote needs 3 runs, and there are 2" in done.err
