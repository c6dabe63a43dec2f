"""`polycmp flaky` on the toy box: same bits, other bits in each run, in each session, with several threads."""

from __future__ import annotations

import pytest
from toymodels import chain, small


@pytest.fixture
def flaky(polycmp, tmp_path):
    """Run a chain of MatMul and Relu again and again; return what came of it and what is said about the backend."""

    def run(backend, *words, make=small):
        make(tmp_path / "m.toy")
        done = polycmp("flaky", "m.toy", "-b", backend, "--runs", "7", "--report", "r.json", *words)
        [subject] = done.report()["flaky"].values()
        return done, subject

    return run


def test_a_sound_backend_makes_the_same_bits(flaky):
    done, found = flaky("toy")
    assert done.status == 0
    assert "PASSED: the same bits in 7 runs" in done.words
    assert found["runs"]["outputs"] == {"y": {"different": 1, "most_frequent": 7, "max_difference": 0.0}}
    assert (found["restarts"], found["one_thread"], found["first_differing"]) == (None, None, None)


def test_a_hundred_runs_unless_asked_otherwise(polycmp, tmp_path):
    small(tmp_path / "m.toy")
    assert "PASSED: the same bits in 100 runs" in polycmp("flaky", "m.toy", "-b", "toy").words


def test_the_first_tensor_in_model_order_is_named(flaky):
    """h is wrong by up to 0.5; what follows it differs, too, but where a Relu makes 0 of all of it."""
    done, found = flaky("toy:fault=noise,at=h,amount=0.5")
    assert done.status == 1
    assert " different results in 7 runs; first differing tensor in model order: MatMul 'h'" in done.words
    first = found["first_differing"]
    assert (first["tensor"], first["name"], first["different"], first["most_frequent"]) == ("h", "n_h", 7, 1)
    assert 0.1 < first["max_difference"] <= 1.0
    assert 0.0 < found["runs"]["outputs"]["y"]["max_difference"] < 1.0


def test_one_run_that_is_another_one_is_found_and_measured(flaky):
    """Only the last of all calls goes wrong; its distance is known although nothing but hashes was kept."""
    done, found = flaky("toy:fault=add,at=h,amount=0.25,after=6")
    assert "FAILED: 2 different results in 7 runs" in done.words
    assert found["runs"]["outputs"]["y"]["most_frequent"] == 6
    assert found["first_differing"]["tensor"] == "h"
    assert found["first_differing"]["most_frequent"] == 6


@pytest.mark.parametrize("memory", [(), ("--max-memory", "1k")])
def test_windows_change_nothing(flaky, memory):
    done, found = flaky("toy:fault=noise,at=h5", *memory, make=chain)
    assert (done.status, found["first_differing"]["tensor"]) == (1, "h5")


def test_sessions_are_told_from_runs(flaky):
    done, found = flaky("toy:fault=session,at=h", "--restart")
    assert (found["runs"]["different"], found["restarts"]["different"]) == (1, 7)
    said = "FAILED: the same bits in 7 runs of one session, 7 different results in 7 sessions; first differing tensor"
    assert f"{said} in model order: MatMul 'h'" in done.words
    assert flaky("toy:fault=session,at=h")[0].status == 0
    assert flaky("toy", "--restart")[0].status == 0


def test_threads_are_told_from_the_rest(flaky):
    done, found = flaky("toy:fault=race,at=r,threads=4")
    assert (found["runs"]["different"], found["one_thread"]["different"]) == (7, 1)
    assert "with one thread: the same bits in 7 runs" in done.words
    assert found["first_differing"]["tensor"] == "r"
    assert flaky("toy:fault=noise,at=r,threads=4")[1]["one_thread"]["different"] == 7
    assert flaky("toy:fault=noise,at=r")[1]["one_thread"] is None  # it has one thread already


def test_what_goes_away_when_it_is_looked_at(flaky):
    done, found = flaky("toy:fault=noise,at=y,fused=h")
    assert (done.status, found["first_differing"]) == (1, None)
    assert "the first differing tensor cannot be named: toy:" in done.words
    assert "makes the same bits in all runs with the tensors inside shown" in done.words


def test_a_backend_that_shows_nothing_inside(flaky):
    done, found = flaky("shut:noise=y")
    assert (done.status, found["first_differing"]) == (1, None)
    assert "FAILED: 7 different results in 7 runs" in done.words
    assert "cannot be named: shut:noise=y shows no tensors inside the model" in done.words


@pytest.mark.parametrize("after", [0, 3])
def test_a_backend_that_fails_has_not_passed(flaky, after):
    done, found = flaky(f"toy:fault=raise,at=y,after={after}")
    assert done.status == 3
    assert "ERROR: toy:" in done.words
    assert "has had enough" in found["error"]


def test_nan_is_the_same_as_itself_and_not_as_a_number(flaky):
    assert flaky("toy:fault=nan,at=y")[0].status == 0
    done, found = flaky("toy:fault=nan,at=y,after=3")
    assert (done.status, found["runs"]["different"]) == (1, 2)
    assert "inf" in done.words


def test_each_of_several_backends_is_told(polycmp, tmp_path):
    small(tmp_path / "m.toy")
    words = ("-b", "toy:fault=noise,at=r,name=noisy", "-b", "toy:name=sound", "--runs", "3")
    done = polycmp("flaky", "m.toy", *words)
    assert done.status == 1
    assert "FAILED: noisy: 3 different results in 3 runs; first differing tensor" in done.words
    done = polycmp("flaky", "m.toy", *words[2:], "-b", "toy:name=other")
    assert "PASSED: sound: the same bits in 3 runs; other: the same bits in 3 runs" in done.words


@pytest.mark.parametrize(
    ("words", "says"),
    [((), "no backend given"), (("-b", "toy", "--runs", "1"), "it must be 2 or more")],
)
def test_wrong_usage(polycmp, tmp_path, words, says):
    small(tmp_path / "m.toy")
    done = polycmp("flaky", "m.toy", *words)
    assert done.status == 2
    assert says in done.err
