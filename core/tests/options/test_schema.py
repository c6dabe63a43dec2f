"""The JSON Schema of an option accepts what its reader accepts, and refuses values of another kind."""

from __future__ import annotations

import pytest
from option_kinds import FIELDS

from polycmp.errors import UsageError
from polycmp.options import option_schema

jsonschema = pytest.importorskip("jsonschema", reason="it comes with check-jsonschema, of the group dev")


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
