"""Values of options, from words or files: by owner, replaced for one owner, and typed ones over a file's."""

from __future__ import annotations

from polycmp.options import Key, OptionValues
from polycmp.plan.sections import SECTIONS, RunSection

THREADS, WARM_UP, DEPTH = (
    Key("runner", "toy", "threads"),
    Key("core", "run", "warm_up"),
    Key("runner", "other", "depth"),
)
GIVEN = OptionValues({THREADS: 2, WARM_UP: 3, DEPTH: 1}, SECTIONS, model="m.toy")


def test_values_are_found_by_kind_and_owner():
    assert GIVEN.of_kind("runner") == {"toy": {"threads": 2}, "other": {"depth": 1}}
    assert GIVEN.of("runner", "toy") == {"threads": 2}
    assert GIVEN.of("runner", "nobody") == {}


def test_a_section_has_what_was_given_and_defaults():
    assert GIVEN.section(RunSection).warm_up == 3
    assert OptionValues(classes=SECTIONS).section(RunSection) == RunSection()


def test_the_values_of_one_owner_are_replaced_as_a_whole():
    changed = GIVEN.replaced("runner", "toy", {"dtype": "float16"})
    assert changed.of_kind("runner") == {"toy": {"dtype": "float16"}, "other": {"depth": 1}}
    assert GIVEN.of("runner", "toy") == {"threads": 2}
    assert changed.section(RunSection).warm_up == 3
    assert GIVEN.replaced("core", "run", {"warm_up": 5}).section(RunSection).warm_up == 5


def test_typed_values_come_before_a_files():
    file = OptionValues({THREADS: 8, DEPTH: 4}, SECTIONS, model="file.toy", backends=("toy",), whose="run.toml")
    typed = OptionValues({THREADS: 2}, SECTIONS).over(file)
    assert typed.of_kind("runner") == {"toy": {"threads": 2}, "other": {"depth": 4}}
    assert (typed.model, typed.backends, typed.whose) == ("file.toy", ("toy",), "run.toml")
    assert typed.wins == {"toy": {"threads": 2}}  # also over what a table of `backends` says of it


def test_backends_that_are_typed_replace_all_of_a_files():
    file = OptionValues(classes=SECTIONS, model="file.toy", backends=("toy", "plain"), whose="run.toml")
    typed = OptionValues(classes=SECTIONS, model="m.toy", backends=("shut",)).over(file)
    assert (typed.model, typed.backends, dict(typed.wins)) == ("m.toy", ("shut",), {})
