"""Values of options on their way from words and run files to a plan."""

from __future__ import annotations

import pytest

from polycmp.errors import UsageError
from polycmp.options import Key, OptionValues
from polycmp.options.text import read_plain
from polycmp.options.values import is_empty_value, is_named, parse_shape, unknown_names
from polycmp.plan.flags import build_table
from polycmp.plan.sections import SECTIONS
from polycmp.plugins import Registry

REGISTRY = Registry.discover()
TABLE = build_table(REGISTRY)
RTOL = Key("compare_func", "simple", "rtol")


def test_what_is_typed_wins_over_a_run_file():
    file = read_plain({"model": "file.onnx", "backend": ["onnx"], "rtol": 1e-3, "seed": 5}, TABLE, "run.toml")
    typed = OptionValues({RTOL: {"": 0.5}}, TABLE.classes, model="typed.onnx")
    merged = typed.over(file)
    assert (merged.model, merged.backends, merged.whose) == ("typed.onnx", ("onnx",), "run.toml")
    assert merged.of("compare_func", "simple") == {"rtol": {"": 0.5}}
    assert merged.of("data_loader", "random") == {"seed": 5}


def test_backends_that_are_typed_take_the_place_of_all_of_a_run_file():
    file = read_plain({"backend": [{"backend": "onnx", "name": "a"}]}, TABLE, "run.toml")
    merged = OptionValues({}, TABLE.classes, backends=("openvino",)).over(file)
    assert (merged.backends, merged.whose) == (("openvino",), "")


def test_a_section_has_what_was_given_and_defaults():
    values = OptionValues({Key("core", "run", "warm_up"): 3}, TABLE.classes)
    section = values.section(SECTIONS["run"])
    assert (section.warm_up, section.timeout) == (3, 0.0)


def test_a_value_that_an_option_refuses_names_the_flag():
    with pytest.raises(UsageError) as caught:
        TABLE.targets[Key("core", "run", "warm_up")].convert([["-1"]])
    assert caught.value.whose == "--warm-up"


@pytest.mark.parametrize("value", ["", " ", "\t", [], (), {}, ["a", ""], [["a"], []], {"x": ""}, {"x": [" "]}])
def test_what_says_nothing_is_empty(value):
    assert is_empty_value(value)


@pytest.mark.parametrize("value", ["a", " a", 0, False, None, 0.0, ["a"], [0], {"x": False}, {"": "a"}])
def test_what_says_something_is_not_empty(value):
    assert not is_empty_value(value)


def test_values_as_typed():
    assert parse_shape("[1,8]") == (1, 8)
    with pytest.raises(UsageError, match="is not a shape"):
        parse_shape("[1,a]")


def test_names_are_told_by_themselves_or_by_a_pattern():
    assert is_named("x[0]", ["x[0]"])  # a name that reads as a pattern is a name first
    assert is_named("layer1.bn", ["head", "layer?.*"])
    assert not is_named("layer1.bn", ["bn", "Layer1.*"])
    assert unknown_names(["x[0]", "head", "", "layer*"], ["x[0]", "layer1.bn"]) == ["head"]
