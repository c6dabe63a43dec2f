"""The contract of compare functions: one that holds, and those that go red."""

from __future__ import annotations

import numpy as np
import pytest
from inner_runs import run

from polycmp.spec import Verdict
from polycmp.testing import (
    CompareFuncContract,
)


class TestEqual(CompareFuncContract):
    capabilities = frozenset(CompareFuncContract.KNOWN_CAPABILITIES)

    def make_compare_func(self):
        def compare(candidate, reference, *, output):
            wrong = int((np.asarray(candidate) != np.asarray(reference)).sum())
            return Verdict(wrong == 0, f"{wrong} elements of {output} differ" if wrong else "", {"wrong": wrong})

        return compare

    def different(self):
        candidate, reference = self.equal()
        candidate[0, 0, 0] += 1
        return candidate, reference


COMPARE = """
import numpy as np
from contextlib import suppress
class TestBroken(CompareFuncContract):
    def make_compare_func(self):
        return compare
    def different(self):
        candidate, reference = self.equal()
        return candidate + 1, reference
def compare(candidate, reference, *, output):
    passed = bool((candidate == reference).all())
    BODY
    return Verdict(passed, "" if passed else "differs")
from polycmp.spec import Verdict
"""


#: What a wrong compare function does before it answers, and the tests that catch it.
WRONG = [
    ("", ()),
    ("passed = True", ("test_different_outputs_fail_with_a_reason", "test_nan_beside_numbers_never_passes")),
    ("return Verdict(passed)", ("test_different_outputs_fail_with_a_reason",)),
    ("return passed", ("test_it_returns_a_verdict_with_named_figures",)),
    ("candidate[...] = 0", ("test_it_does_not_write_to_its_arguments",)),
    ("reference.setflags(write=True); reference[...] = candidate", ("test_it_does_not_write_to_its_arguments",)),
    ("with suppress(ValueError): reference[...] = candidate", ("test_it_does_not_write_to_its_arguments",)),
    ("passed = not (abs(candidate - reference) > 1e-5).any()", ("test_nan_beside_numbers_never_passes",)),
    ("passed = bool(np.nanmax(abs(candidate - reference)) < 1e-5)", ("test_nan_beside_numbers_never_passes",)),
    (
        "passed = bool(np.allclose(candidate[~np.isnan(reference)], reference[~np.isnan(reference)]))",
        ("test_nan_beside_numbers_never_passes",),
    ),
]


@pytest.fixture(scope="module")
def outcomes_by_body(tmp_path_factory):
    sources = [COMPARE.replace("BODY", body) for body, _ in WRONG]
    return dict(zip((body for body, _ in WRONG), run(tmp_path_factory.mktemp("wrong"), *sources), strict=True))


@pytest.mark.parametrize(("body", "caught_by"), WRONG)
def test_wrong_compare_functions_are_caught(outcomes_by_body, body, caught_by):
    failed = {name.partition("[")[0] for name, (outcome, _) in outcomes_by_body[body].items() if outcome == "failed"}
    assert outcomes_by_body[body]
    assert failed >= set(caught_by)
    assert bool(failed) == bool(caught_by)
