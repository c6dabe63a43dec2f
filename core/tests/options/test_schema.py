"""The JSON Schema of an option accepts what its reader accepts, and refuses values of another kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from polycmp.errors import UsageError
from polycmp.options import option_fields, option_schema
from polycmp.spec import opt

jsonschema = pytest.importorskip("jsonschema", reason="it comes with check-jsonschema, of the group dev")


@dataclass(frozen=True)
class Options:
    """One option of each kind."""

    flag: bool = opt(False, help="A switch.")
    count: int = opt(3, help="A number.")
    share: float = opt(0.5, help="A share.")
    word: str = opt("", help="A word.")
    kind: str = opt("a", help="One of two.", choices=("a", "b"))
    names: tuple[str, ...] = opt((), help="Names.")
    bare: tuple[str, ...] = opt((), help="All, or some.", bare="*")
    bounds: Mapping[str, float] = opt({}, help="By name.")
    groups: tuple[tuple[str, ...], ...] = opt((), help="Sets of names.")


FIELDS = {item.name: item for item in option_fields(Options)}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("flag", True), ("flag", "yes"), ("count", 7), ("count", "1_000"), ("share", 1), ("share", 0.1),
        ("share", "1e-3"), ("share", "inf"), ("share", float("inf")), ("word", "x"), ("word", 3), ("kind", "b"),
        ("names", "x"), ("names", ["x", 3]), ("names", {"x": [1, 2]}), ("bare", True), ("bare", "x"),
        ("bounds", 1e-3), ("bounds", "y:1e-3"), ("bounds", ["y:1e-3", "1"]), ("bounds", {"y": 1e-3}),
        ("groups", [["a", "b"], ["c"]]), ("groups", ["a", "b"]), ("groups", "a"),
    ],
)  # fmt: skip
def test_what_is_read_is_accepted(name, value):
    FIELDS[name].from_plain(value)
    assert jsonschema.Draft7Validator(option_schema(FIELDS[name])).is_valid(value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("flag", "maybe"), ("flag", 2), ("count", "many"), ("count", 0.5), ("count", [3]), ("share", "half"),
        ("word", ["x"]), ("kind", "c"), ("names", [["x"]]),
    ],
)  # fmt: skip
def test_what_is_refused_is_marked(name, value):
    with pytest.raises(UsageError):
        FIELDS[name].from_plain(value)
    assert not jsonschema.Draft7Validator(option_schema(FIELDS[name])).is_valid(value)


def test_an_editor_shows_help_and_default():
    assert option_schema(FIELDS["count"])["description"] == "A number."
    assert option_schema(FIELDS["count"])["default"] == 3
    assert "default" not in option_schema(FIELDS["names"])
