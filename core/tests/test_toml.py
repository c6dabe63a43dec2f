"""Reading TOML, whatever somebody wrote."""

from __future__ import annotations

import pytest

from polycmp._toml import parse_toml


def test_what_toml_says():
    assert parse_toml('a = 1\n[b]\nc = ["d"]\n') == {"a": 1, "b": {"c": ["d"]}}


@pytest.mark.parametrize("text", ["a = ", "a = 1\na = 2", "a = " + "[" * 100_000])
def test_what_is_no_toml_is_one_kind_of_error(text):
    with pytest.raises(ValueError, match=r".+"):
        parse_toml(text)
