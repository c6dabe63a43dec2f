"""Dataclasses that are made quickly behave as those of the standard library do."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from dataclasses import field
from functools import cached_property
from typing import Any, ClassVar

import pytest

from polycmp.records import dataclass


@dataclass(frozen=True)
class Quick:
    name: str
    sizes: tuple[int, ...] = ()
    seen: dict[str, int] = field(default_factory=dict, hash=False)
    note: str = field(default="", repr=False, compare=False)
    unit: ClassVar[str] = "s"

    @cached_property
    def longest(self) -> int:
        return max(self.sizes, default=0)


@dataclasses.dataclass(frozen=True)
class Usual:
    name: str
    sizes: tuple[int, ...] = ()
    seen: dict[str, int] = field(default_factory=dict, hash=False)
    note: str = field(default="", repr=False, compare=False)
    unit: ClassVar[str] = "s"


@dataclass
class Open:
    count: int = 0


@dataclass(frozen=True)
class Nothing:
    pass


@dataclass(frozen=True)
class Longer(Quick):
    more: int = 0


@dataclasses.dataclass(frozen=True)
class LongerByTheLibrary(Quick):
    more: int = 0


class Plain(Quick):
    """No dataclass, but derived from one."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.own = 1


@dataclass(frozen=True)
class Checked:
    size: int

    def __post_init__(self) -> None:
        if self.size < 0:
            raise ValueError(f"size {self.size}")


VALUES: list[dict[str, Any]] = [
    {"name": "a"},
    {"name": "a", "note": "x"},
    {"name": "a", "seen": {"k": 1}},
    {"name": "b", "sizes": (1, 2)},
]


def test_text_and_equality_are_those_of_the_standard_library():
    for one in VALUES:
        assert repr(Quick(**one)) == repr(Usual(**one)).replace("Usual", "Quick")
        for other in VALUES:
            assert (Quick(**one) == Quick(**other)) == (Usual(**one) == Usual(**other))
            assert Quick(**one) != Quick(**other) or hash(Quick(**one)) == hash(Quick(**other))
    assert Quick("a") != Usual("a")
    assert Quick("a") != Longer("a")
    assert Nothing() == Nothing()
    assert len({Nothing(), Nothing(), Checked(1), Checked(1)}) == 2
    nan = float("nan")
    assert Open(nan) == Open(nan)  # the very same object, as in a tuple


def test_what_was_worked_out_later_is_no_part_of_the_value():
    made = Quick("a", (1, 5))
    assert made.longest == 5
    assert made == Quick("a", (1, 5))
    assert hash(made) == hash(Quick("a", (1, 5)))
    assert "longest" not in repr(made)
    assert dataclasses.replace(made, sizes=(2,)).longest == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ((), {}),
        (("a",), {"name": "b"}),
        ((), {"name": "a", "size": 1}),
        (("a", (), {}, "", 1), {}),
        ((), {"sizes": ()}),
    ],
    ids=["none", "twice", "unknown", "too-many", "one-missing"],
)
def test_wrong_arguments_are_refused_as_by_the_standard_library(arguments):
    args, named = arguments
    for kind in (Usual, Quick, Longer if len(args) < 5 else Quick):
        with pytest.raises(TypeError, match=kind.__name__):
            kind(*args, **named)


def test_defaults_are_made_anew_for_each():
    first, second = Quick("a"), Quick("a")
    first.seen["k"] = 1
    assert second.seen == {}
    assert Quick(name="a", sizes=(1,)) == Quick("a", (1,))


@pytest.mark.parametrize("kind", [Quick, Longer, LongerByTheLibrary, Plain])
def test_fields_keep_the_value_that_they_have(kind):
    made = kind("a")
    with pytest.raises(dataclasses.FrozenInstanceError, match="name"):
        made.name = "b"
    with pytest.raises(dataclasses.FrozenInstanceError, match="name"):
        del made.name
    assert made == kind("a")


def test_only_fields_of_a_class_that_is_no_dataclass_itself_are_frozen():
    made = Plain("a")
    made.own = 2
    assert made.own == 2
    with pytest.raises(dataclasses.FrozenInstanceError, match="other"):
        Quick("a").other = 1  # type: ignore[attr-defined]


def test_values_are_checked_where_the_class_says_so():
    assert Checked(1).size == 1
    with pytest.raises(ValueError, match="size -1"):
        Checked(-1)
    with pytest.raises(ValueError, match="size -1"):
        dataclasses.replace(Checked(1), size=-1)


def test_tools_for_dataclasses_work():
    made = Quick("a", (1,))
    assert dataclasses.replace(made, name="b") == Quick("b", (1,))
    assert dataclasses.asdict(made) == {"name": "a", "sizes": (1,), "seen": {}, "note": ""}
    assert [item.name for item in dataclasses.fields(Longer)] == ["name", "sizes", "seen", "note", "more"]
    assert copy.deepcopy(made) == pickle.loads(pickle.dumps(made)) == made
    assert Quick.__match_args__ == Usual.__match_args__


def test_what_is_not_frozen_can_change_and_has_no_hash():
    made = Open()
    made.count = 2
    assert made == Open(2)
    with pytest.raises(TypeError, match="unhashable"):
        hash(made)


def test_methods_of_the_class_stay():
    class Own:
        value: int

        def __eq__(self, other: object) -> bool:
            return True

        def __repr__(self) -> str:
            return "mine"

        __hash__ = None

    made = dataclass(frozen=True)(Own)
    assert repr(made(1)) == "mine"
    assert made(1) == 3
    with pytest.raises(TypeError, match="unhashable"):
        hash(made(1))


def test_nothing_is_compiled_for_a_class():
    functions = {vars(kind)["__init__"] for kind in (Quick, Open, Nothing, Checked)}
    assert len(functions) == 1
