"""Options dataclasses: what their annotations mean, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Optional

import pytest

from polycmp.errors import PluginError, UsageError
from polycmp.options import changed_options, find_field, make_options, option_fields
from polycmp.spec import opt


@dataclass(frozen=True)
class Options:
    """Every annotation that `opt()` allows."""

    flag: bool = opt(False, help="h")
    count: int = opt(3, help="h", alias="--number")
    maybe: Optional[float] = opt(None, help="h")  # noqa: UP045
    either: int | None = opt(None, help="h")
    kind: str = opt("a", help="h", choices=("a", "b"))
    names: tuple[str, ...] = opt((), help="h")
    groups: tuple[tuple[int, ...], ...] = opt((), help="h")
    bounds: Mapping[str, float] = opt({}, help="h")
    many: Mapping[str, tuple[str, ...]] = opt({}, help="h")
    shape: object = opt("", help="h", metavar="FILE.py", parse=str)

    def __post_init__(self):
        if self.count < 0:
            raise ValueError("count must not be negative")


@pytest.mark.parametrize(
    ("name", "kind", "item", "metavar"),
    [
        ("flag", "flag", bool, ""),
        ("count", "value", int, "N"),
        ("maybe", "value", float, "X"),
        ("either", "value", int, "N"),
        ("kind", "value", str, "a|b"),
        ("names", "list", str, "TEXT"),
        ("groups", "groups", int, "N"),
        ("bounds", "mapping", float, "[NAME:]X"),
        ("many", "mapping", str, "[NAME:]TEXT"),
        ("shape", "value", str, "FILE.py"),
    ],
)
def test_an_annotation_says_how_values_are_given(name, kind, item, metavar):
    field = find_field(Options, name)
    assert (field.kind, field.item, field.metavar) == (kind, item, metavar)
    assert field.accumulates is (name == "many")
    assert bool(field.executes) is (name == "shape")


@pytest.mark.parametrize(
    ("key", "name"), [("count", "count"), (" COUNT ", "count"), ("number", "count"), ("nobody", "")]
)
def test_a_key_is_a_name_or_an_alias(key, name):
    field = find_field(Options, key)
    assert (field.name if field else "") == name


def test_only_what_was_changed_is_told():
    assert changed_options(Options(count=4, names=("a",))) == {"count": 4, "names": ("a",)}
    assert changed_options(Options()) == changed_options(None) == {}
    assert (option_fields(None), make_options(None, {}, "x")) == ((), None)


@pytest.mark.parametrize(
    ("values", "why"), [({"count": -1}, "count must not be negative"), ({"nobody": 1}, "unexpected keyword")]
)
def test_values_that_the_class_refuses_are_wrong_usage_of_its_owner(values, why):
    with pytest.raises(UsageError, match="these options are invalid") as caught:
        make_options(Options, values, "toy")
    assert (caught.value.whose, why in caught.value.why) == ("toy", True)


def test_a_class_that_can_be_written_to_or_cannot_be_read_is_its_plugins_fault():
    @dataclass
    class Thawed:
        a: int = 1

    Broken = dataclass(frozen=True)(type("Broken", (), {"__annotations__": {"a": "NoSuchType"}, "a": 1}))
    with pytest.raises(PluginError, match="is not a frozen dataclass"):
        option_fields(Thawed)
    with pytest.raises(PluginError, match="cannot be resolved"):
        option_fields(Broken)
