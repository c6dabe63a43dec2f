"""The corpus of one-node models: its lists of refusals, and that it goes red."""

from __future__ import annotations

from importlib.metadata import version

import numpy as np
import pytest

from polycmp.errors import BackendError
from polycmp.runner import Runner
from polycmp.testing.nodes import Failure, NodeCase, NodeCorpus, Refusals, format_failures, read_refusals


def test_a_list_of_refusals(tmp_path):
    path = tmp_path / "list.txt"
    path.write_text(
        "# about\nexact for: numpy==1.0 click==2.0\n\n[notyet] no kernel\na\nb # mine\n\n[depends] locale\nc\n"
    )
    listed = read_refusals(path)
    assert listed.exact_for == {"numpy": "1.0", "click": "2.0"}
    assert listed.reasons == {"a": "notyet: no kernel", "b": "notyet: no kernel", "c": "depends: locale"}
    assert listed.other_versions()[0] == f"numpy {version('numpy')} instead of 1.0"
    assert Refusals({"numpy": version("numpy")}, {}).other_versions() == []
    assert Refusals({"no-such-package": "1"}, {}).other_versions() == ["no-such-package none instead of 1"]


@pytest.mark.parametrize("text", ["a", "[often] reason\na", "[never]\na", "[never] x\na\na"])
def test_a_list_that_breaks_the_format_is_refused(tmp_path, text):
    (tmp_path / "list.txt").write_text(text)
    with pytest.raises(ValueError, match=r"list\.txt"):
        read_refusals(tmp_path / "list.txt")


def test_failures_are_printed_in_the_format_of_a_list():
    failures = {"a": Failure("why", True), "b": Failure("else", True), "c": Failure("why", True)}
    assert format_failures(failures) == "[?] why\na\nc\n\n[?] else\nb"


class Scripted(Runner):
    """Does with a case what its name says."""

    def __init__(self, model):
        super().__init__("scripted")
        self.model = model

    def infer_impl(self, feed_dict):
        y = feed_dict["x"]
        if self.model == "raw":
            raise IndexError("oops")
        if self.model == "refused":
            raise BackendError("no such operator")
        wrong = {"number": y + 1, "type": y.astype(np.float64), "shape": y[None]}.get(self.model, y)
        return {"renamed" if self.model == "name" else "y": wrong}


class Corpus(NodeCorpus):
    def make_runner(self, model):
        return Scripted(model)


def case(name):
    x = np.ones(3, np.float32)
    return NodeCase(name, name, {"x": x}, {"y": x.copy()}, 1e-3, 1e-7)


def test_each_way_to_fail_is_seen():
    tried = {
        name: Corpus().try_case(case(name)) for name in ("right", "raw", "refused", "number", "type", "shape", "name")
    }
    assert tried.pop("right") is None
    assert {name for name, failure in tried.items() if not failure.in_words} == {"raw"}
    assert {name for name, failure in tried.items() if failure.is_wrong} == {"number", "type", "shape", "name"}
    assert "not float32" in tried["type"].reason
    assert "no such operator" in tried["refused"].reason


def test_the_list_is_strict_both_ways_for_its_versions_only():
    corpus, failure = Corpus(), {"a": Failure("why", True)}
    here, elsewhere = {"numpy": version("numpy")}, {"numpy": "0.1"}
    corpus.test_no_case_fails_without_being_listed(failure, Refusals(here, {"a": "never: x"}))
    corpus.test_no_listed_case_passes(failure, Refusals(here, {"a": "never: x", "b": "depends: x"}))
    with pytest.raises(AssertionError, match="why"):
        corpus.test_no_case_fails_without_being_listed(failure, Refusals(here, {}))
    with pytest.raises(AssertionError, match="'b'"):
        corpus.test_no_listed_case_passes(failure, Refusals(here, {"b": "notyet: x"}))
    with pytest.raises(pytest.skip.Exception, match=r"instead of 0\.1"):
        corpus.test_no_case_fails_without_being_listed(failure, Refusals(elsewhere, {}))
    with pytest.raises(AssertionError, match="why"):
        corpus.test_a_refusal_is_an_error_in_words({"a": Failure("why", False)})
