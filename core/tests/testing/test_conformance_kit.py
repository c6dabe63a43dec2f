"""The conformance kit itself: declarations, expected failures, and the contracts of what is not a runner."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from polycmp.errors import DataError
from polycmp.loader import BytesFromPath
from polycmp.spec import Verdict
from polycmp.tensors import as_dtype, is_low_bit
from polycmp.testing import (
    CompareFuncContract,
    Contract,
    DataLoaderContract,
    LoaderContract,
    RunnerContract,
    needs,
    never,
    notimpl,
    notyet,
)

# --- declarations


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


def run(folder, *sources):
    """Return outcome and reason of each test of some modules, by name; one session runs all of them."""
    outcomes = defaultdict(dict)

    class Collect:
        def pytest_runtest_logreport(self, report):
            if report.when == "call" or report.outcome != "passed":
                reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr or "")
                file, _, test = report.nodeid.partition("::")
                outcome = (report.outcome, getattr(report, "wasxfail", reason))
                outcomes[Path(file).name][test.rpartition("::")[2]] = outcome

    # A module of one name is imported once.
    paths = [folder / f"test_inner_{folder.name}_{number}.py" for number in range(len(sources))]
    for path, source in zip(paths, sources, strict=True):
        path.write_text("from polycmp.testing import *\nfrom polycmp.testing import Contract\n" + source)
    quiet = ["-qq", "-p", "no:xdist", "-p", "no:timeout", "-p", "no:faulthandler", "-p", "no:logging"]
    where = ["-o", "addopts=--import-mode=importlib", "--rootdir", str(folder), "-c", str(folder / "none.ini")]
    (folder / "none.ini").write_text("[pytest]\n")
    pytest.main([*map(str, paths), "-s", *quiet, *where], [Collect()])
    return [outcomes[path.name] for path in paths]


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


# --- contracts that hold


class TestBytesFromPath(LoaderContract):
    capabilities = frozenset({"broken_source", "source"})

    def make_loader(self):
        return BytesFromPath(__file__)

    def make_broken(self):
        return BytesFromPath("no/such/file")


class TestZeros(DataLoaderContract):
    capabilities = frozenset({"dynamic_shapes", "repeatable", "several", "refuses"})

    def make_data_loader(self):
        def load(inputs):
            if "impossible" in inputs:
                raise DataError("no data for 'impossible'")
            for _ in range(2):
                yield {name: np.zeros(entry.static_shape(), entry.dtype) for name, entry in inputs.items()}

        return load

    def impossible_inputs(self):
        return super().inputs().add("impossible", "float32", ())


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


# --- contracts that go red


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


@pytest.mark.parametrize(
    ("fault", "test"),
    [
        ("nothing", "test_feeds_fit_the_inputs"),
        ("type", "test_feeds_fit_the_inputs"),
        ("writes", "test_the_inputs_are_not_changed"),
        ("one array", "test_it_gives_several_feeds_that_share_no_memory"),
        ("moody", "test_it_repeats_itself"),
    ],
)
def test_wrong_data_loaders_are_caught(fault, test):
    calls = iter(range(1000))

    def load(inputs):
        if fault == "writes":
            inputs.add("more", "float32", ())
        value = next(calls) if fault == "moody" else 0
        feed = {n: np.full(e.static_shape(), value, "S1" if fault == "type" else e.dtype) for n, e in inputs.items()}
        yield from [] if fault == "nothing" else [feed, feed]

    contract = TestZeros()
    contract.make_data_loader = lambda: load
    with pytest.raises((AssertionError, DataError)):
        getattr(contract, test)()


def test_a_loader_that_does_not_repeat_itself_is_caught():
    class Moody(BytesFromPath):
        calls = 0

        def call_impl(self):
            self.calls += 1
            return bytes([self.calls])

    contract = TestBytesFromPath()
    contract.make_loader = lambda: Moody("x")
    with pytest.raises(AssertionError):
        contract.test_every_call_does_the_work_anew()


def test_importing_the_kit_does_not_import_onnx():
    import subprocess
    import sys

    code = "import sys, polycmp.testing; print('onnx' in sys.modules, 'click' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_low_bit_outputs_can_be_checked():
    from polycmp.testing.runners import assert_close

    array = np.array([1, 2], as_dtype("bfloat16"))
    assert is_low_bit(array.dtype)
    assert_close("y", array, array.copy(), 0, 0)
    with pytest.raises(AssertionError):
        assert_close("y", array, array + array, 0, 0)


def test_the_name_that_plugins_have_always_used_means_the_same():
    import polycmp.testing.nodes
    from polycmp.testing import RunnerContract as Older
    from polycmp.testing.nodes import NodeCorpus as OlderCorpus

    assert Older is RunnerContract
    assert OlderCorpus is polycmp.testing.nodes.NodeCorpus
