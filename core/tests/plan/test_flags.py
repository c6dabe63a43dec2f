"""The table of a command's options: whose each flag is, and what help shows."""

from __future__ import annotations

import pytest

from polycmp.options import Key
from polycmp.plan.flags import build_table, core_targets
from polycmp.plugins import Registry


@pytest.fixture
def table(toybox):
    return build_table(Registry.discover())


@pytest.mark.parametrize(
    ("flag", "key"),
    [
        ("--warm-up", Key("core", "run", "warm_up")),
        ("--atol", Key("compare_func", "simple", "atol")),  # the core has no prefix
        ("--seed", Key("data_loader", "random", "seed")),
        ("--toy-threads", Key("runner", "toy", "threads")),
        ("--toy-workers", Key("runner", "toy", "threads")),
        ("--ramp-count", Key("data_loader", "ramp", "count")),
        ("--gap-allowed", Key("compare_func", "gap", "allowed")),
    ],
)
def test_each_flag_belongs_to_one_option(table, flag, key):
    assert table.by_flag[flag].key == key


def test_a_backend_and_a_loader_of_one_name_each_keep_their_options(table):
    assert table.by_flag["--toy-outputs"].key == Key("loader", "toy", "outputs")
    assert table.by_flag["--toy-dtype"].key == Key("runner", "toy", "dtype")


def test_a_backend_is_a_flag_and_a_switch_can_be_turned_off(table):
    assert table.backends["--toy"] == "toy"
    assert table.targets[Key("core", "run", "use_subprocess")].negative == "--no-use-subprocess"
    assert table.targets[Key("core", "run", "warm_up")].negative == ""


def test_options_of_plugins_are_folded_and_those_of_the_core_are_not(table):
    assert "Backend toy" in table.folded
    assert table.sections["Backend toy"] == "Toys on NumPy, with faults on demand"
    assert not [heading for heading in table.folded if heading.endswith((" simple", " random"))]


def test_a_command_chooses_sections_single_options_and_kinds(toybox):
    registry = Registry.discover()
    few = build_table(registry, chosen=("run.warm_up", "log"), kinds=("runner",))
    assert {key.owner for key in few.targets if key.kind == "core"} == {"run", "log"}
    assert [key.field for key in few.targets if key.owner == "run"] == ["warm_up"]
    assert {key.kind for key in few.targets} == {"core", "runner"}
    assert "--atol" not in few.by_flag
    assert len(core_targets(chosen=())) == 0
