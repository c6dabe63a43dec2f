"""Values of options become a plan."""

from __future__ import annotations

import pytest

from polycmp.options import OptionValues
from polycmp.plan.build import make_plan
from polycmp.plan.flags import build_table
from polycmp.plan.sections import SECTIONS
from polycmp.plugins import Registry

TABLE = build_table(Registry.discover())
#: Options of the command and not of the run, and one that means something beside another alone.
BESIDE_THE_PLAN = {"config", "write_config", "data_loader_func_name"}
CORE = [
    key
    for key in TABLE.targets
    if key.kind == "core" and key.owner in SECTIONS and key.owner != "log" and key.field not in BESIDE_THE_PLAN
]
#: Words for options that take no arbitrary text.
WORDS = {
    "input_shapes": "x:[1,2]",
    "map_input": "a=b",
    "map_output": "a=b",
    "compare": "l2",
    "data_loader": "ramp",
    "max_memory": "1M",
    "tolerance": "auto",
}


@pytest.mark.parametrize("key", CORE, ids=lambda key: key.field)
def test_each_option_of_the_core_makes_another_plan(toybox, key):
    field = TABLE.targets[key].field
    word = "true" if field.kind == "flag" else WORDS.get(key.field, "7" if field.item in {int, float} else "text")
    registry = Registry.discover()
    given = OptionValues({key: TABLE.targets[key].convert([[word]])}, TABLE.classes)
    assert make_plan(given, registry) != make_plan(OptionValues({}, TABLE.classes), registry)
