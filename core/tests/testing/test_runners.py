"""The kit goes red: each wrong runner is caught by exactly the test that is meant for it, and the right one passes."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from polycmp.tensors import as_dtype, is_low_bit

MUTANTS = Path(__file__).with_name("mutants.py")


class Outcomes:
    """Collects which tests of which class failed, passed or were skipped."""

    def __init__(self):
        self.by_class = defaultdict(lambda: defaultdict(set))
        self.caught_by = {}

    def pytest_collection_modifyitems(self, items):
        for item in items:
            self.caught_by[item.cls.__name__] = item.cls.caught_by

    def pytest_runtest_logreport(self, report):
        if report.when == "call" or report.outcome != "passed":
            _, name, test = report.nodeid.split("::")
            self.by_class[name][report.outcome].add(test.partition("[")[0])


@pytest.fixture(scope="module")
def outcomes():
    collected = Outcomes()
    quiet = ["-qq", "-p", "no:xdist", "-p", "no:timeout", "-p", "no:faulthandler", "-p", "no:logging"]
    pytest.main([str(MUTANTS), "-s", *quiet, "-o", "addopts=--import-mode=importlib", "-o", "timeout=0"], [collected])
    return collected


def names():
    return [line[6:].partition("(")[0] for line in MUTANTS.read_text().splitlines() if line.startswith("class Test")]


@pytest.mark.parametrize("name", names())
def test_each_mutant_is_caught_by_the_test_meant_for_it(outcomes, name):
    assert outcomes.by_class[name]["failed"] == set(outcomes.caught_by[name])
    assert outcomes.by_class[name]["passed"]


def test_every_test_of_the_contract_ran_on_the_right_runner(outcomes):
    assert outcomes.by_class["TestRight"]["failed"] == set()
    promised = "test_outputs_stay_for_good_where_that_is_promised"
    assert outcomes.by_class["TestRight"]["skipped"] == {"test_torch_tensors_are_taken", promised}
    assert outcomes.by_class["TestKeepsItsPromise"]["skipped"] == {"test_torch_tensors_are_taken"}


def test_the_wrong_runners_asked_for_are_all_there():
    wanted = {
        "WrongName",
        "ReusedBuffer",
        "ChangedInput",
        "DroppedOutput",
        "WiderType",
        "LateActivation",
        "LeakedState",
    }
    assert wanted <= {name.removeprefix("Test") for name in names()}


def test_low_bit_outputs_can_be_checked():
    from polycmp.testing.runners import assert_close

    array = np.array([1, 2], as_dtype("bfloat16"))
    assert is_low_bit(array.dtype)
    assert_close("y", array, array.copy(), 0, 0)
    with pytest.raises(AssertionError):
        assert_close("y", array, array + array, 0, 0)
