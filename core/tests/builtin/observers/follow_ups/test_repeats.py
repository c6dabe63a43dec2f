"""The command that repeats a failure alone, for feeds that say what they are, whoever makes them."""

from __future__ import annotations

from toymodels import small


def test_feeds_that_say_what_they_are_are_named_and_repeated(polycmp, tmp_path):
    small(tmp_path / "m.toy")
    backends = ("-b", "toy:name=bad,fault=add,at=y,amount=0.5", "-b", "plain")
    words = ("--data-loader", "edges", "--edges-values", "1", "3", "--gap-allowed", "0.1")
    done = polycmp("run", "m.toy", *backends, *words, "--compare", "gap", "--report", "r.json")
    assert (done.status, "all 3" in done.words, "--edges-values 3" in done.words) == (1, True, True)
