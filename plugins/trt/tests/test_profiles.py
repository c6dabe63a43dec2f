"""Optimization profiles: from options to ranges, without anything passing from one profile to the next."""

from __future__ import annotations

import logging

import pytest

from polycmp.errors import UsageError
from polycmp.loader import to_source
from polycmp_trt import Profile
from polycmp_trt.build.profile import profiles_from_options

LOW, BEST, HIGH = (1, 3), (4, 3), (8, 3)


def one(low="", best="", high="", **input_shapes):
    """The only profile that these texts for input `x` make."""
    groups = [(((text,),) if text else ()) for text in (low, best, high)]
    (profile,) = profiles_from_options(*groups, input_shapes)
    return profile["x"]


def test_nothing_given_means_no_profile() -> None:
    assert profiles_from_options((), (), ()) == []


def test_input_shapes_alone_make_one_profile() -> None:
    (profile,) = profiles_from_options((), (), (), {"x": (2, 3), "seq*": (7,)})
    assert dict(profile) == {"x": ((2, 3),) * 3, "seq*": ((7,),) * 3}


def test_a_complete_profile_says_nothing(caplog) -> None:
    with caplog.at_level(logging.WARNING):
        assert one("x:[1,3]", "x:[4,3]", "x:[8,3]", x=(2, 3)) == (LOW, BEST, HIGH)
    assert not caplog.records


def test_a_missing_bound_comes_from_the_input_shape_where_that_fits(caplog) -> None:
    with caplog.at_level(logging.WARNING):
        assert one("x:[1,3]", "", "x:[8,3]", x=(2, 3)) == (LOW, (2, 3), HIGH)
    assert "'x'" in caplog.text
    assert "min=[1, 3], opt=[2, 3], max=[8, 3]" in caplog.text
    assert one("x:[1,3]", "", "", x=(2, 3)) == (LOW, (2, 3), (2, 3))


def test_a_missing_bound_else_comes_from_the_nearest_given(caplog) -> None:
    assert one("x:[1,3]", "", "x:[8,3]", x=(20, 3)) == (LOW, HIGH, HIGH)
    assert one("x:[1,3]") == (LOW, LOW, LOW)
    assert one("", "x:[4,3]", "x:[8,3]") == (BEST, BEST, HIGH)
    assert one("", "", "x:[8,3]", x=(2, 3)) == ((2, 3), (2, 3), HIGH)
    assert "profile 0 is incomplete" in caplog.text


def test_nothing_passes_from_one_profile_to_the_next() -> None:
    first, second = profiles_from_options([["x:[1,3]"]], [["x:[4,3]"], ["x:[64,3]"]], [["x:[8,3]"], ["x:[128,3]"]])
    assert first["x"] == (LOW, BEST, HIGH)
    assert second["x"] == ((64, 3), (64, 3), (128, 3))


def test_several_inputs_per_group() -> None:
    (profile,) = profiles_from_options([["a:[1]", "b:[2,2]"]], [["a:[1]", "b:[2,2]"]], [["a:[9]", "b:[2,4]"]])
    assert profile["b"].max == (2, 4)
    assert profile["a"].opt == (1,)


def test_bounds_of_different_rank_are_refused() -> None:
    with pytest.raises(UsageError, match="1 and 2 dimensions"):
        one("x:[1]", "x:[1,3]")


def test_a_profile_prints_as_the_code_that_makes_it() -> None:
    profile = Profile().add("x", min=LOW, opt=BEST, max=HIGH).add("y", (1,), (1,), (1,))
    assert eval(to_source([profile]), {"Profile": Profile}) == [profile]
    assert profile.copy() == profile
    assert profile.copy() is not profile


def test_a_profile_is_a_mapping() -> None:
    profile = Profile({"x": (LOW, BEST, HIGH)})
    assert profile["x"].opt == BEST
    assert [*profile] == ["x"]
    low, best, high = profile["x"]
    assert (low, best, high) == (LOW, BEST, HIGH)
    del profile["x"]
    assert not profile
