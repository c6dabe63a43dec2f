"""Of three backends, the odd one out."""

from __future__ import annotations

from toymodels import small


def test_of_three_backends_the_odd_one_out_is_named(locate, tmp_path):
    small(tmp_path / "m.toy")
    done, found = locate("-b", "toy:name=bad,fault=add,at=h", "-b", "toy:name=good", "-b", "plain")
    assert found["odd_one_out"] == "bad"
    assert "the odd one out is bad: good and plain agree with each other" in done.words
    words = ("-b", "toy:name=one,fault=add,at=h", "-b", "toy:name=two,fault=add,at=h,amount=2", "-b", "plain")
    done, found = locate(*words)
    assert found["odd_one_out"] is None
    assert "no single backend is the odd one out" in done.words
