"""Dataclasses that are made quickly behave as those of the standard library do."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any

import pytest

from polycmp.records import dataclass, field, fields, replace


@dataclass(frozen=True)
class Quick:
    name: str
    sizes: tuple[int, ...] = ()
    seen: dict[str, int] = field(default_factory=dict, hash=False)
    note: str = field(default="", repr=False, compare=False)


@dataclasses.dataclass(frozen=True)
class Usual:
    name: str
    sizes: tuple[int, ...] = ()
    seen: dict[str, int] = dataclasses.field(default_factory=dict, hash=False)
    note: str = dataclasses.field(default="", repr=False, compare=False)


@dataclass
class Open:
    count: int = 0


@dataclass(frozen=True)
class Longer(Quick):
    more: int = 0


@dataclasses.dataclass(frozen=True)
class LongerByTheLibrary(Quick):
    more: int = 0


class Own:
    def __repr__(self) -> str:
        return "mine"


VALUES: list[dict[str, Any]] = [
    {"name": "a"},
    {"name": "a", "note": "x"},
    {"name": "a", "seen": {"k": 1}},
    {"name": "b", "sizes": (1, 2)},
]


def test_text_equality_and_hash_are_those_of_the_standard_library():
    for one in VALUES:
        assert repr(Quick(**one)) == repr(Usual(**one)).replace("Usual", "Quick")
        assert hash(Quick(**one)) == hash(Usual(**one))
        for other in VALUES:
            assert (Quick(**one) == Quick(**other)) == (Usual(**one) == Usual(**other))
    assert Quick("a") != Usual("a")
    assert Quick("a") != Longer("a")
    nan = float("nan")
    assert Open(nan) == Open(nan)  # the very same object, as in a tuple


@pytest.mark.parametrize("kind", [Quick, Longer, LongerByTheLibrary])
def test_fields_keep_the_value_that_they_have(kind):
    made = kind("a")
    with pytest.raises(dataclasses.FrozenInstanceError, match="name"):
        made.name = "b"
    with pytest.raises(dataclasses.FrozenInstanceError, match="other"):
        made.other = 1
    with pytest.raises(dataclasses.FrozenInstanceError, match="name"):
        del made.name
    assert made == kind("a")


def test_tools_for_dataclasses_work():
    made = Quick("a", (1,))
    assert replace(made, name="b") == Quick("b", (1,))
    assert dataclasses.asdict(made) == {"name": "a", "sizes": (1,), "seen": {}, "note": ""}
    assert [item.name for item in fields(Longer)] == ["name", "sizes", "seen", "note", "more"]
    assert copy.deepcopy(made) == pickle.loads(pickle.dumps(made)) == made
    assert Quick.__match_args__ == Usual.__match_args__
    with pytest.raises(TypeError):
        Quick()


def test_what_is_not_frozen_can_change_and_has_no_hash():
    made = Open()
    made.count = 2
    assert made == Open(2)
    with pytest.raises(TypeError, match="unhashable"):
        hash(made)


def test_methods_of_the_class_stay():
    class Shown(Own):
        value: int

        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = None

    made = dataclass(frozen=True, repr=False)(Shown)
    assert repr(made(1)) == "mine"
    assert made(1) == 3
