"""`polycmp invariants` on the toy box: every check holds, fails, does not apply, or cannot be made."""

from __future__ import annotations

import sys

import pytest
from toymodels import node, number, small, write

ALL = ["repeat", "restart", "other-shape", "duplicates", "permute", "neighbours", "split", "fixed-shapes", "threads"]


def zeros(path, shape=("n", 8)):
    """y = 0 * x: every number of the output is what a fault adds."""
    return write(path, [node("Mul", "x zero", "y")], {"zero": number(0)}, {"x": ["float32", list(shape)]})


@pytest.fixture
def check(polycmp, tmp_path):
    """Check a model with a backend; return what came of it and the status of each check."""

    def run(backend, *words, make=zeros):
        make(tmp_path / "m.toy")
        done = polycmp("invariants", "m.toy", "-b", backend, "--report", "r.json", *words)
        [subject] = done.report()["invariants"].values()
        return done, {name: item["status"] for name, item in subject["checks"].items()}

    return run


def test_all_hold_for_a_sound_backend(check):
    done, found = check("toy", make=small)
    assert (done.status, found) == (0, dict.fromkeys(ALL, "passed"))
    assert "PASSED: 9 invariants hold" in done.out
    assert done.report()["invariants"]["toy"]["batch"] == "dimension 'n' of x"


@pytest.mark.parametrize(
    ("fault", "failing"),
    [
        ("place", {"duplicates", "permute", "split"}),
        ("neighbours", {"neighbours", "split"}),
        ("threads", {"threads"}),
        ("fixed", {"fixed-shapes"}),
    ],
)
def test_each_fault_breaks_the_invariants_that_are_about_it(check, fault, failing):
    make = small if fault == "neighbours" else zeros
    done, found = check(f"toy:fault={fault},at=y", make=make)
    assert done.status == 1
    assert {name for name, status in found.items() if status == "failed"} == failing
    assert f"FAILED: {len(failing)} of 9 invariants {'does' if len(failing) == 1 else 'do'} not hold" in done.out


def test_answers_that_a_restart_changes(check):
    found = check("toy:fault=restart,at=y", "--checks", "repeat", "duplicates", "fixed-shapes", "threads", "restart")[1]
    assert {name for name, status in found.items() if status == "failed"} == {"restart"}


def test_answers_that_change_break_what_repeats_them(check):
    _, found = check("toy:fault=noise,at=y")
    assert {found[name] for name in ("repeat", "restart", "other-shape", "threads")} == {"failed"}


def test_answers_that_depend_on_the_shape_before(check):
    assert check("toy:fault=memory,at=y", "--checks", "repeat", "restart")[1] == {
        "repeat": "passed", "restart": "passed",
    }  # fmt: skip
    done, found = check("toy:fault=memory,at=y", "--checks", "other-shape")
    assert found == {"other-shape": "failed"}
    assert "a batch of 4 after batches of 5 and 1" in done.words


# --- borders


@pytest.mark.parametrize(("amount", "status"), [("0.99e-5", "passed"), ("1.01e-5", "failed")])
def test_the_tolerance_is_a_hundred_thousandth_unless_given(check, amount, status):
    done, found = check(f"toy:fault=restart,at=y,amount={amount}", "--checks", "restart")
    assert found == {"restart": status}
    [subject] = done.report()["invariants"].values()
    assert subject["checks"]["restart"]["max_error"] == pytest.approx(float(amount))


@pytest.mark.parametrize(("amount", "status"), [(0.9, "passed"), (1.1, "failed")])
def test_a_tolerance_that_is_given_counts(check, amount, status):
    assert (
        check(f"toy:fault=restart,at=y,amount={amount}", "--checks", "restart", "--atol", "1")[1]["restart"] == status
    )


@pytest.mark.parametrize(("amount", "status"), [("0", "passed"), ("1e-30", "failed")])
def test_exact_means_the_last_bit(check, amount, status):
    backend = f"toy:fault=restart,at=y,amount={amount}"
    assert check(backend, "--checks", "restart")[1] == {"restart": "passed"}
    done, found = check(backend, "--checks", "restart", "--exact")
    assert found == {"restart": status}
    assert ("not bitwise equal" in done.words) is (status == "failed")


@pytest.mark.parametrize(
    ("times", "after", "status"), [(1, 9, "skipped"), (2, 1, "failed"), (4, 4, "passed"), (5, 4, "failed")]
)
def test_inputs_are_repeated_as_often_as_asked_for(check, times, after, status):
    """The fault begins with the call behind the first `after`."""
    backend = f"toy:fault=add,at=y,after={after}"
    assert check(backend, "--checks", "repeat", "--repeat", times)[1] == {"repeat": status}
    assert check("toy:fault=add,at=y,after=5", "--checks", "repeat")[1] == {"repeat": "passed"}
    assert check("toy:fault=add,at=y,after=4", "--checks", "repeat")[1] == {"repeat": "failed"}


@pytest.mark.parametrize(
    ("rows", "skipped"),
    [(1, {"duplicates", "permute", "neighbours", "split"}), (2, set())],
)
def test_some_checks_take_two_rows(check, rows, skipped):
    done, found = check("toy", "--batch", rows)
    assert {name for name, status in found.items() if status == "skipped"} == skipped
    assert ("the batch has 1 of the 2 rows that it takes" in done.words) is bool(skipped)


def test_the_batch_has_four_rows_unless_shapes_are_given(check):
    assert "4 rows reordered" in check("toy")[0].words
    assert "3 rows reordered" in check("toy", "--input-shapes", "x:[3,8]")[0].words


def test_two_rows_have_only_one_other_order_and_three_have_two(check):
    """The fault begins with the third call for another order: the first calls are for outputs and for their axes."""
    words = ("--checks", "permute")
    assert check("toy:fault=place,at=y,after=3", "--batch", 2, *words)[1] == {"permute": "passed"}
    assert check("toy:fault=place,at=y,after=3", "--batch", 3, *words)[1] == {"permute": "failed"}


# --- what does not apply, what cannot be made


def test_without_a_batch_most_checks_do_not_apply(check):
    done, found = check("toy", make=lambda path: zeros(path, (4, 8)))
    assert {name for name, status in found.items() if status == "passed"} == {"repeat", "restart", "threads"}
    assert (
        "it cannot be told which dimension of the inputs is the batch (x[4,8]); --batch-axis says which axis it is"
        in done.words
    )
    assert "all shapes are fixed already" in done.words
    assert "PASSED: 3 invariants hold, 6 do not apply" in done.words


def test_a_fixed_batch_can_be_named(check):
    done, found = check("toy", "--batch-axis", 0, make=lambda path: zeros(path, (4, 8)))
    assert done.status == 0
    skipped = {name for name, status in found.items() if status == "skipped"}
    assert skipped == {"other-shape", "split", "fixed-shapes"}
    assert "the model fixes the batch at 4" in done.words


def test_a_batch_on_another_axis_can_be_named(check):
    done, found = check("toy", "--batch-dim", "rows", make=lambda path: zeros(path, (8, "rows")))
    assert (done.status, set(found.values())) == (0, {"passed"})
    assert "dimension 'rows' of x" in done.words


def test_a_backend_without_options_or_parts_skips_what_needs_them(check):
    _, found = check("plain")
    assert {name for name, status in found.items() if status == "skipped"} == {"threads"}
    _, found = check("shut")
    assert {name for name, status in found.items() if status == "skipped"} == {"threads", "fixed-shapes"}


@pytest.mark.parametrize(("after", "status"), [(0, 3), (1, 3)])
def test_a_backend_that_fails_has_not_passed(check, after, status):
    done, found = check(f"toy:fault=raise,at=y,after={after}", "--checks", "repeat")
    assert done.status == status
    assert found == ({"repeat": "error"} if after else {})
    assert "has had enough" in done.words
    assert "ERROR: " in done.words


def test_nothing_that_applies_is_no_success(check):
    done, found = check("plain", "--checks", "threads")
    assert (done.status, found) == (3, {"threads": "skipped"})
    assert "no check applies" in done.words


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("-b", "toy", "--batch-axis", "0", "--batch-dim", "n"), "both choose the batch"),
        (("-b", "toy", "--batch-dim", "m"), "no input has a dimension 'm'"),
        (("-b", "toy", "--batch-axis", "2"), "no input has an axis 2"),
        (("-b", "toy", "--batch", "0"), "it must be 1 or more"),
        (("-b", "toy", "--report", "r.pdf"), "no report is written as .pdf"),
        ((), "no backend given"),
    ],
)
def test_wrong_usage(polycmp, tmp_path, words, says):
    zeros(tmp_path / "m.toy")
    done = polycmp("invariants", "m.toy", *words)
    assert done.status == 2
    assert says in done.err


def test_a_worker_is_checked_like_anybody(check):
    done, found = check(f"toy:python={sys.executable}", "--checks", "repeat", "fixed-shapes", make=small)
    assert (done.status, found) == (0, {"repeat": "passed", "fixed-shapes": "skipped"})
