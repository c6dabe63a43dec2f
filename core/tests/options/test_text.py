"""Values of options as words."""

from __future__ import annotations

from polycmp.options import Key
from polycmp.options.text import words_of
from polycmp.plan.flags import build_table
from polycmp.plugins import Registry

TABLE = build_table(Registry.discover())


def test_words_of_values_are_read_back():
    values = {Key("compare_func", "simple", "rtol"): {"": 0.5, "y": 0.25}, Key("core", "run", "warm_up"): 3}
    assert words_of(values, TABLE) == ["--rtol", "0.5", "y:0.25", "--warm-up", "3"]
