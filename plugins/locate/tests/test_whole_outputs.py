"""How outputs of a whole model are judged, where more than compare functions of tensors decides."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from polycmp.compare import SimpleOptions
from polycmp.errors import UsageError
from polycmp.plan import DEFAULT_COMPARE, Choice, ComparePlan
from polycmp_locate.whole_outputs import for_tensors, output_judge, refuse_means, why_failed

GIVEN = Choice(DEFAULT_COMPARE, SimpleOptions(atol={"": 0.5}))
BOXES = Choice("boxes")


@pytest.mark.parametrize(
    ("plan", "functions"),
    [
        (ComparePlan((BOXES,)), (BOXES,)),
        (ComparePlan((BOXES,), postprocess_script="p.py"), (Choice(DEFAULT_COMPARE, SimpleOptions()),)),
        (ComparePlan((BOXES, GIVEN), postprocess={"": "top-5"}), (GIVEN,)),
    ],
)
def test_inside_a_model_tensors_are_no_boxes(plan, functions):
    assert for_tensors(plan).functions == functions


@dataclass(frozen=True)
class Run:
    """The plan of a run, or the run."""

    compare: ComparePlan | None = None
    plan: Run | None = None


@pytest.mark.parametrize(
    ("changes", "together"),
    [
        ({}, False),
        ({"functions": (BOXES,), "map_output": {"y": "z"}}, False),
        ({"script": "c.py"}, True),
        ({"postprocess": {"": "top-5"}}, True),
        ({"postprocess_script": "p.py"}, True),
        ({"validate": True}, True),
        ({"shape_check": False}, True),
    ],
)
def test_what_reads_outputs_together_judges_them_together(changes, together):
    assert (output_judge(Run(plan=Run(ComparePlan(**changes))), "new", "old") is not None) is together


def outcome(*reasons, invalid=(), pair=""):
    """Return what a run found of outputs y0, y1 and so on."""
    named = {f"y{index}": reason for index, reason in enumerate(reasons)}
    items = {name: SimpleNamespace(output=name, reason=why, passed=not why) for name, why in named.items()}
    wrong = [SimpleNamespace(output=name, iteration=3) for name in invalid]
    return SimpleNamespace(invalid=wrong, comparisons=[SimpleNamespace(outputs=items, reason=pair)])


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (outcome(""), ""),
        (outcome("", "it differs", "so does this"), "y1: it differs"),
        (outcome("", pair="the mean is off"), "the mean is off"),
        (outcome("it differs", pair="the mean is off"), "y0: it differs"),
        (outcome("it differs", invalid=["z"]), "z: NaN or infinity in iteration 3"),
    ],
)
def test_the_first_reason_is_told(found, why):
    assert why_failed(found) == why


def test_means_are_refused_where_each_input_is_judged():
    refuse_means(ComparePlan(), "locate")
    with pytest.raises(UsageError, match="locate looks at one input at a time"):
        refuse_means(ComparePlan(check_average=True), "locate")
