"""`polycmp selftest` and the backend `faulty` on the toy box."""

from __future__ import annotations

import pytest
from toymodels import drawn, node, number, small, write

from polycmp_checks.plugin import FATAL, FAULTS

QUIET = [fault for fault in FAULTS if fault not in FATAL]
FOUR = {"x": ["float32", ["n", 4]]}


@pytest.fixture
def selftest(polycmp, tmp_path):
    """Test a model that shows every fault; return what was printed, and the status of each fault."""
    nodes = [
        node("MatMul", "x w", "h"), node("Round", "x", "r"), node("Sqrt", "h", "root"),
        node("Relu", "root", "positive"), node("Add", "r positive", "y"),
    ]  # fmt: skip
    write(tmp_path / "m.toy", nodes, {"w": drawn(4, 4, scale=2)}, FOUR)

    def run(*words, model="m.toy"):
        done = polycmp("selftest", model, *words, "--report", "r.json")
        trials = next(iter(done.report()["selftest"].values()))
        return done, trials

    return run


def statuses(found):
    return {fault: item["status"] for fault, item in found["faults"].items()}


def test_all_faults_that_only_change_numbers_are_seen(selftest):
    done, found = selftest("-b", "toy", "--faults", *QUIET, "--atol", "1e-5", "--rtol", "1e-5")
    assert done.status == 0, done.out
    seen = statuses(found)
    assert set(seen) == set(QUIET)
    assert set(seen.values()) <= {"seen", "skipped"}
    assert {"fp16", "int32", "saturate", "layout", "shuffle", "row-noise", "ties"} <= {
        fault for fault, status in seen.items() if status == "seen"
    }


def test_a_fault_that_may_be_rounding_is_undecided_and_none_that_went_unnoticed(selftest):
    # Halves lie where rounding of the input turns the result of Round, too.
    done, found = selftest("-b", "toy", "--faults", "ties", "fp16")
    assert (done.status, statuses(found)) == (3, {"ties": "undecided", "fp16": "seen"})
    assert "rounding to float32 alone could move it by" in done.words
    assert "UNDECIDED: 1 of 2 faults may be rounding, too" in done.words
    assert done.report()["verdict"] == "undecided"


def test_faults_that_end_the_process_are_seen(selftest):
    done, found = selftest("-b", "plain", "--faults", "crash", "--at", "h")
    assert (done.status, statuses(found)) == (0, {"crash": "seen"})
    assert "died with signal 11 (SIGSEGV)" in done.words


def test_a_tolerance_that_hides_a_fault(selftest):
    done, found = selftest("-b", "toy", "--faults", "fp16", "--atol", "10")
    assert (done.status, statuses(found)) == (1, {"fp16": "unseen"})
    assert "FAILED: 1 of 1 fault went unnoticed" in done.words


def test_a_fault_that_these_inputs_do_not_show(selftest):
    done, found = selftest("-b", "toy", "--faults", "fp16", "int32", "--at", "r")
    assert statuses(found)["int32"] == "skipped"
    assert "these inputs do not show it: it changes no number" in done.words


def test_a_backend_that_does_not_agree_with_itself(selftest):
    done, _ = selftest("-b", "toy:fault=noise,at=y", "--faults", "int32")
    assert (done.status, "a backend does not agree with itself" in done.words) == (1, True)


def test_a_backend_that_fails_without_any_fault(selftest):
    done, _ = selftest("-b", "toy:refuses=Sqrt", "--faults", "int32")
    assert (done.status, "a backend failed without any fault" in done.words) == (3, True)


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        ((), 2, "no backend given"),
        (("-b", "toy", "--at", "nobody"), 2, "the model has no operator 'nobody'"),
        (("-b", "toy", "--faults", "fpp16"), 2, "fpp16"),
        (("-b", "toy", "--report", "r.pdf"), 2, "no report is written as .pdf"),
        (
            (
                "-b",
                "toy:python=python3",
            ),
            2,
            "backends of this environment only",
        ),
        (("-b", "toy", "--timeout", "0"), 2, "above zero"),
    ],
)
def test_wrong_usage(polycmp, tmp_path, words, status, says):
    small(tmp_path / "m.toy")
    done = polycmp("selftest", "m.toy", *words)
    assert done.status == status
    assert says in done.err


def test_without_a_loader_for_the_built_in_model(polycmp):
    done = polycmp("selftest", "-b", "toy")
    assert done.status == 3
    assert "no installed loader reads" in done.err


# --- the backend `faulty`


@pytest.mark.parametrize(
    ("options", "status", "says"),
    [
        ("backend=plain,fault=row-noise,at=h", 1, "the fault changed"),
        ("backend=plain,fault=row-noise,at=n_h", 1, "the fault changed"),
        ("backend=toy,fault=int32,at=h,wrapped=[fault:add,at:y,amount:0.5]", 1, "the fault changed"),
        ("backend=plain,fault=nan,at=h", 0, "the fault changed no number"),
        ("backend=plain,fault=ties,at=h", 3, "does not concern MatMul 'n_h'"),
        ("backend=plain,fault=fp16,at=z", 3, "the model has no operator 'z'"),
        ("backend=shut,fault=fp16,at=h", 3, "it does not run parts of a model"),
        ("backend=faulty,fault=fp16,at=h", 3, "cannot be wrapped"),
        ("backend=tony,fault=fp16,at=h", 3, "there is no backend 'tony'"),
        ("backend=plain,fault=fp16", 2, "at is missing"),
    ],
)
def test_a_wrapped_backend_goes_wrong_where_asked(polycmp, tmp_path, options, status, says):
    small(tmp_path / "m.toy")
    done = polycmp("run", "m.toy", "-b", f"faulty:name=bad,{options}", "-b", "plain")
    assert done.status == status, done.out + done.err
    assert says in " ".join((done.out + done.err).split())


def test_an_operator_of_a_name_that_several_have(polycmp, tmp_path):
    nodes = [node("Add", "x one", "h", name="same"), node("Add", "h one", "y", name="same")]
    write(tmp_path / "m.toy", nodes, {"one": number(1)})
    done = polycmp("run", "m.toy", "-b", "faulty:backend=plain,fault=fp16,at=same", "-b", "plain")
    assert "several operators are called 'same'" in done.words


def test_a_fault_on_demand_is_located(polycmp, tmp_path):
    pytest.importorskip("polycmp_locate")
    small(tmp_path / "m.toy")
    words = ("-b", "faulty:name=bad,backend=plain,fault=saturate,at=r", "-b", "plain", "--report", "r.json")
    done = polycmp("locate", "m.toy", *words)
    assert (done.status, done.report()["first_bad"]) == (1, "r")
