"""A backend that fails, or refuses to show its tensors: the operator on which it does."""

from __future__ import annotations

import pytest
from toymodels import chain, node, number, small, write

FOUR = {"x": ["float32", [4]]}


def test_tensors_that_a_backend_refuses_to_show(locate, tmp_path):
    chain(tmp_path / "m.toy", 4, changed=3)
    chain(tmp_path / "good.toy", 4)
    done, found = locate("-b", "toy:hides=[h2,h3]", "-b", "plain:name=ref,model=good.toy")
    assert (done.status, found["first_bad"], found["last_good"]) == (1, "r3", "r2")
    assert "does not show 2 tensors inside the model, not compared: 'h2', 'h3'" in done.words
    _, found = locate("-b", "toy:hides=[h2,h3]", "-b", "plain:name=ref,model=good.toy", "--bisect")
    assert found["first_bad"] == "r3"


@pytest.mark.parametrize("mode", [(), ("--bisect",)], ids=["full", "bisect"])
def test_the_operator_in_which_a_backend_fails(locate, tmp_path, mode):
    small(tmp_path / "m.toy")
    done, found = locate("-b", "toy:name=weak,refuses=Relu", "-b", "plain", *mode)
    assert (done.status, found["words"], found["first_bad"]) == (1, "the backend fails here", "r")
    assert "weak cannot run Relu 'n_r', not even alone" in found["sentence"]
    assert "FIRST: r: not computed by weak" in done.words
    assert "has no operator Relu" in found["backends"]["weak"]["error"]


def test_of_operators_that_fail_alone_the_one_in_the_message_is_named(locate, tmp_path):
    small(tmp_path / "m.toy")
    words = ("-b", "toy:name=weak,refuses=Softmax,hides=h", "-b", "plain")
    done, found = locate(*words)
    assert (done.status, found["words"], found["first_bad"]) == (1, "the backend fails here", "y")
    assert "has no operator Softmax" in found["backends"]["weak"]["error"]


def test_a_backend_that_runs_no_operator_at_all_fails_at_none_and_that_is_said(locate, tmp_path):
    small(tmp_path / "m.toy")
    done, found = locate("-b", "toy:name=weak,refuses=[MatMul,Relu,Softmax]", "-b", "plain")
    assert (done.status, found["first_bad"]) == (3, None)
    assert "weak runs none of the operators alone either, so none of them is to blame" in done.words
    assert "FOUND" not in done.words


@pytest.mark.parametrize("memory", [(), ("--max-memory", "1K")], ids=["at once", "in windows"])
def test_the_fewest_operators_on_which_a_backend_fails(locate, tmp_path, memory):
    """It raises where `h` and `r` are computed together with `y` and none of them is an output."""
    small(tmp_path / "m.toy")
    done, found = locate("-b", "toy:name=weak,fault=raise,at=y,fused=[h,r]", "-b", "plain", *memory)
    assert (done.status, found["words"], found["first_bad"]) == (1, "the backend fails here", "y")
    assert [node["name"] for node in found["fused"]["operators"]] == ["n_h", "n_r", "n_y"]
    assert "run one by one, but not together" in found["sentence"]
    assert (found["fused"]["switch"], "has had enough" in done.words) == (None, True)


def test_a_backend_that_fails_only_where_dimensions_are_open(locate, tmp_path):
    """Every operator and every part runs, as what is cut out of a file has the dimensions of what it is fed."""
    small(tmp_path / "m.toy")
    done, found = locate("-b", "toy:name=weak,fault=open,at=y", "-b", "plain", "--input-shapes", "x:[3,8]")
    assert (done.status, found["words"], found["first_bad"]) == (1, "the backend fails here", None)
    assert "weak cannot run the model: has had enough" in found["sentence"]
    assert "and all of them in a file with the dimensions of these inputs" in found["sentence"]
    assert "sanitize m.toy --override-input-shapes 'x:[3,8]' -o m_sized.toy" in found["sentence"]
    assert "FOUND: the backend fails here" in done.words
    done, found = locate("-b", "toy:name=weak,fault=open,at=y", "-b", "toy:name=other,fault=open,at=y")
    assert done.status == 3


def test_a_backend_that_dies_in_its_own_process(locate, tmp_path):
    write(tmp_path / "m.toy", [node("Add", "x one", "h"), node("Add", "h one", "y")], {"one": number(1)}, FOUR)
    done, found = locate("-b", "toy:name=weak,fault=die,at=y", "-b", "plain", "--use-subprocess")
    assert (done.status, found["words"], found["first_bad"]) == (1, "the backend fails here", "y")
    assert "died with signal 11" in found["backends"]["weak"]["error"]
