"""Contracts: capabilities are closed, expected failures are strict and carry a reason."""

from __future__ import annotations

import pytest
from inner_runs import run

from polycmp.testing import (
    Contract,
    RunnerContract,
    needs,
    never,
    notimpl,
    notyet,
)


def test_a_capability_that_does_not_exist_is_refused_with_the_right_name():
    with pytest.raises(TypeError, match="dynamic_shapes"):
        type("Mine", (RunnerContract,), {"capabilities": {"dynamic_shape"}})


def test_an_expected_failure_of_a_test_that_does_not_exist_is_refused():
    with pytest.raises(TypeError, match="test_time_is_measured"):
        type("Mine", (RunnerContract,), {"expected_failures": {"test_time_measured": never("no clock")}})


def test_an_expected_failure_needs_a_reason():
    with pytest.raises(ValueError, match="reason"):
        notimpl(" ")


@pytest.mark.parametrize("kind", [notimpl, notyet, never])
def test_marks_are_strict_and_say_whose_turn_it_is(kind):
    mark = kind("because", raises=OSError).mark()
    assert mark.kwargs == {"reason": f"{kind.__name__}: because", "raises": OSError, "strict": True}


INNER = """
class TestMine(Contract):
    KNOWN_CAPABILITIES = {"fast": "is fast", "slow": "is slow"}
    capabilities = {"fast"}
    expected_failures = {
        "test_fails": notyet("their bug"),
        "test_passes_meanwhile": notimpl("we thought"),
        "test_fails_otherwise": never("cannot be", raises=KeyError),
    }
    @needs("fast")
    def test_declared(self): pass
    @needs("slow")
    def test_not_declared(self): raise OSError
    def test_fails(self): assert False
    def test_passes_meanwhile(self): pass
    def test_fails_otherwise(self): raise OSError("something else")
"""


def test_capabilities_are_closed_and_expected_failures_strict(tmp_path):
    [outcomes] = run(tmp_path, INNER)
    assert outcomes["test_declared"][0] == "passed"
    assert outcomes["test_not_declared"] == ("skipped", "Skipped: capability not declared: slow (is slow)")
    assert outcomes["test_fails"] == ("skipped", "notyet: their bug")
    assert outcomes["test_passes_meanwhile"][0] == "failed"
    assert "we thought" in outcomes["test_passes_meanwhile"][1]
    assert outcomes["test_fails_otherwise"][0] == "failed"


def test_needs_marks_only_its_own_test():
    assert issubclass(RunnerContract, Contract)

    @needs("a", "b")
    def test():
        pass

    assert test.needs_capabilities == ("a", "b")


def test_importing_the_kit_does_not_import_onnx():
    import subprocess
    import sys

    code = "import sys, polycmp.testing; print('onnx' in sys.modules, 'click' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_the_name_that_plugins_have_always_used_means_the_same():
    import polycmp.testing.nodes
    from polycmp.testing import RunnerContract as Older
    from polycmp.testing.nodes import NodeCorpus as OlderCorpus

    assert Older is RunnerContract
    assert OlderCorpus is polycmp.testing.nodes.NodeCorpus
