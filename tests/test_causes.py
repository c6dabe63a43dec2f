"""Each cause of `locate` has a heading on the page, and a test that fails without it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from polycmp_locate.causes import rules
from polycmp_locate.values import judged

ROOT = Path(__file__).parents[1]
LOCATE, ONNX = "plugins/locate/tests/", "plugins/locate/tests/with_onnx/"
ASKED_BY_FILE = "test_a_file_that_asks_for_something_else_is_told_and_its_runtime_is_not_blamed"
HIDDEN = "test_a_constant_that_no_rounding_explains_is_found_where_nothing_shows_it"
NARROWED = "test_a_cast_to_a_coarser_type_than_the_rest_is_named"
OPEN = "test_a_kernel_for_open_dimensions_is_not_taken_for_a_backend_that_differs_from_itself"
OVERFLOWN = "test_numbers_that_float16_cannot_hold_are_told"
ROUNDED = "test_numbers_that_an_attribute_lets_a_product_round_are_told"
SATURATES = "test_a_kernel_that_saturates_is_accused_with_what_helps"
#: The test that fails without each cause; those of other environments are run there, as they are.
NEEDED_BY = {
    "Other numbers in each run": f"{ONNX}test_unsteady.py::test_a_side_whose_own_runs_differ_is_told_first",
    "Numbers that were made up": "tests/judging/test_invented_numbers.py::test_locate_accuses_no_operator_of_them",
    "Results that are left open": f"{ONNX}test_left_open.py",
    "Inputs in another order": f"{ONNX}test_other_order.py::test_a_picture_in_another_order_is_told",
    "Operators that are left out": f"{ONNX}test_left_out.py::test_casts_that_are_left_out",
    "Wrong together, right one by one": f"{LOCATE}test_judge.py::test_a_fault_that_hides_from_probes",
    "A coarser type than the rest": f"{ONNX}causes/test_narrowed.py::{NARROWED}",
    "Beyond rounding": f"{ONNX}test_beyond.py::test_what_operators_make_together_is_found_although_none_is_wrong",
    "Another network": f"{ONNX}test_other_network.py::{HIDDEN}",
    "Another constant": f"{ONNX}test_other_constant.py",
    "Numbers beyond the range of a type": f"{ONNX}test_beyond_range.py::{OVERFLOWN}",
    "A bias clipped to 32 bits": f"{ONNX}test_clipped_bias.py::test_a_bias_that_32_bits_do_not_hold_is_told",
    "Saturating 8-bit kernels": f"{ONNX}test_saturation.py::{SATURATES}",
    "Numbers rounded to 8 bits beside small weights": f"{ONNX}test_rounded_reading.py::{ROUNDED}",
    "Kernels for open dimensions": f"{ONNX}test_open_dimensions.py::{OPEN}",
    "A file that asks for something else": f"{ONNX}test_asked_by_file.py::{ASKED_BY_FILE}",
}
#: Tests of these need a framework.
ELSEWHERE = {
    "The exporting program's own reasons": "plugins/torch/tests/test_inside.py",
    "A constant frozen from the example inputs": "plugins/torch/tests/test_inside.py",
}
ASKED = (*rules.TOGETHER, *rules.SECOND_LOOKS, *rules.REASONS)
#: Takes a cause out of the lists in every interpreter that finds it, as those are that tests start.
WITHOUT = """
import os
from polycmp_locate.causes import rules
from polycmp_locate.values import judged
from polycmp_locate import judge
for part in ("TOGETHER", "SECOND_LOOKS", "REASONS"):
    setattr(judge, part, tuple(rule for rule in getattr(rules, part) if rule.name != os.environ["WITHOUT_CAUSE"]))
"""


def test_the_page_explains_every_cause_and_no_other():
    headings = re.findall(r"^### (.+)$", (ROOT / "docs" / "causes.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert headings == [rule.name for rule in (*rules.TOGETHER, rules.FAILS, *rules.SECOND_LOOKS, *rules.REASONS)]


def test_every_cause_is_needed_by_a_test():
    assert {rule.name for rule in ASKED} == {*NEEDED_BY, *ELSEWHERE}
    assert [name for name in NEEDED_BY.values() if not (ROOT / name.partition("::")[0]).exists()] == []


@pytest.mark.corpus
@pytest.mark.parametrize("name", NEEDED_BY)
def test_the_test_fails_without_the_cause(tmp_path, name):
    (tmp_path / "sitecustomize.py").write_text(WITHOUT)
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-n0", "--no-header", NEEDED_BY[name]],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": path, "WITHOUT_CAUSE": name},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stdout[-2000:] + done.stderr[-2000:]
    assert " failed" in done.stdout


def test_every_verdict_has_a_row_on_the_page():
    verdicts = {value for name, value in vars(judged).items() if name.isupper() and isinstance(value, str)}
    page = (ROOT / "docs" / "locating.md").read_text("utf-8")
    table = page.partition("## The verdict\n")[2].partition("\n\nThe verdict")[0]
    rows = {line.split("|")[1].strip() for line in table.splitlines() if line.startswith("| ")} - {"words"}
    assert rows == verdicts - {judged.OUTPUTS_AGREE}
