"""`python -m truth.ablation` sets the numbers that judge, and says which answers need them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from truth.ablation import LIMITS, Limit, answers

JUDGING = Path(__file__).parents[1] / "core" / "src" / "polycmp" / "builtin" / "judging"
MARGIN = Limit("polycmp.builtin.judging.limits", "MARGIN", "how much noise a pass may have")
#: Numbers that say what measuring may cost and how it goes on, and the values of masks.
OF_COST = {"AFFORDABLE", "BLOCK", "LOOKS", "MASKS", "_LARGE", "_MOVED_COST", "_NOTICEABLE"}
HEALTHY = "gru: float16 asked for"


def numbers_in(path: Path) -> set[str]:
    """Return the names of the numbers that a module defines for itself."""
    found = set()
    for statement in ast.parse(path.read_text("utf-8")).body:
        if isinstance(statement, ast.Assign) and any(
            isinstance(item, ast.Constant) and isinstance(item.value, int | float) for item in ast.walk(statement.value)
        ):
            found |= {
                item.id for target in statement.targets for item in ast.walk(target) if isinstance(item, ast.Name)
            }
    return found


def test_every_number_of_the_table_is_one_of_the_product():
    assert [limit.key for limit in LIMITS if not isinstance(limit.value, int | float)] == []


@pytest.mark.parametrize("path", sorted(JUDGING.glob("*.py")), ids=lambda path: path.stem)
def test_no_number_of_the_judge_is_left_out(path):
    asked = {limit.name for limit in LIMITS if limit.module == f"polycmp.builtin.judging.{path.stem}"}
    assert numbers_in(path) - OF_COST == asked


@pytest.mark.parametrize(("limit", "status"), [(None, 0), (MARGIN, 1)])
def test_a_number_is_set_where_it_was_imported(limit, status, tmp_path):
    (_, answer, _), *_ = answers([HEALTHY], limit, 0.0, folder=tmp_path)
    assert answer.exit == status


def test_what_a_scenario_reads_is_noted(tmp_path):
    (_, _, read), *_ = answers([HEALTHY], tracing=True, folder=tmp_path)
    assert MARGIN.key in read


def test_a_number_changes_only_in_the_process_of_the_scenario(tmp_path):
    list(answers([HEALTHY], MARGIN, 0.0, folder=tmp_path))
    assert MARGIN.value > 0.0
