"""`polycmp locate` on the toy box: every verdict, from faults that a backend or a changed weight really has."""

from __future__ import annotations

import pytest
from toymodels import chain, node, number, residual, small, write

FOUR = {"x": ["float32", [4]]}


def changed_weight(tmp_path):
    """Write a chain, and the same with another weight in its eighth product; return the backends to compare."""
    chain(tmp_path / "m.toy", changed=8)
    chain(tmp_path / "good.toy")
    return ("-b", "toy", "-b", "plain:name=ref,model=good.toy")


# --- equal, rounding, imprecise, wrong


@pytest.mark.parametrize("mode", [(), ("--bisect",), ("--no-float64",)], ids=["full", "bisect", "no float64"])
def test_nothing_wrong(locate, tmp_path, mode):
    residual(tmp_path / "m.toy")
    done, found = locate("-b", "toy", "-b", "plain", *mode)
    assert (done.status, found["words"], found["first_bad"]) == (0, "equal", None)
    assert "NO FAULT: all " in done.words


@pytest.mark.parametrize("memory", [(), ("--max-memory", "4K")], ids=["at once", "in windows"])
@pytest.mark.parametrize("mode", [(), ("--bisect",)], ids=["full", "bisect"])
def test_a_changed_weight_names_its_operator(locate, tmp_path, mode, memory):
    done, found = locate(*changed_weight(tmp_path), *mode, *memory)
    assert (done.status, found["words"]) == (1, "wrong")
    assert (found["first_bad"], found["last_good"], found["operator"]["name"]) == ("h8", "r7", "n_h8")
    assert found["operator"]["inputs"]["r7"]["min"] == 0
    assert (
        "run alone on the reference's tensors, toy computes what its file says, which is something else" in done.words
    )
    shown = [item["tensor"] for item in found["tensors"]]
    assert len(shown) < 12 if mode else shown == [f"{k}{i}" for i in range(1, 12) for k in "hr"] + ["h12", "y"]


@pytest.mark.parametrize(
    ("amount", "words", "status"),
    [
        (2.0**-20, "within rounding", 0),
        (2.0**-12, "worse than this precision explains", 1),
        (0.5, "wrong", 1),
    ],
)
def test_how_wrong_an_operator_is(locate, tmp_path, amount, words, status):
    small(tmp_path / "m.toy")
    zero = ("--atol", "0", "--rtol", "0")
    done, found = locate("-b", f"toy:fault=scale,at=h,amount={amount}", "-b", "plain", *zero)
    assert (done.status, found["words"]) == (status, words)
    assert found["first_bad"] == (None if status == 0 else "h")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_rounding_that_was_asked_for_is_no_fault(locate, tmp_path, dtype):
    chain(tmp_path / "m.toy", 4)
    done, found = locate("-b", f"toy:name=narrow,dtype={dtype}", "-b", "plain")
    assert (done.status, found["words"]) == (0, "within rounding")
    assert f"rounding to {dtype}, which narrow may calculate in" in found["sentence"]


def test_a_coarser_type_that_is_only_permitted_is_taken_into_account(locate, tmp_path):
    write(tmp_path / "m.toy", [node("Mul", "x k", "y")], {"k": number(1.5)}, FOUR)
    words = ("-b", "plain", "--atol", "0", "--rtol", "0")
    assert locate("-b", "toy:fault=scale,at=y,amount=0.01", *words)[1]["words"] == "worse than this precision explains"
    assert locate("-b", "toy:fault=scale,at=y,amount=0.01,fast=true", *words)[1]["words"] == "within rounding"


# --- what the values say


def test_nan_is_found_where_it_is_born(locate, tmp_path):
    small(tmp_path / "m.toy")
    done, found = locate("-b", "toy:fault=nan,at=r", "-b", "plain")
    assert (done.status, found["words"], found["first_bad"]) == (1, "NaN/Inf born here", "r")
    assert "Relu 'n_r' produces NaN" in found["sentence"]


def test_infinity_that_a_narrow_type_makes_and_that_ends_in_constants(locate, tmp_path):
    """exp(12) overflows in float16; 1 / inf is 0 everywhere."""
    nodes = [node("Exp", "x", "e"), node("Div", "one e", "q"), node("Add", "q k", "y")]
    write(tmp_path / "m.toy", nodes, {"one": number(1), "k": number(0.25)}, FOUR)
    words = ("--val-range", "[12,13]", "--atol", "1e-7", "--rtol", "1e-7")
    done, found = locate("-b", "toy:name=half,dtype=float16", "-b", "plain", *words)
    assert (done.status, found["words"], found["first_bad"]) == (1, "NaN/Inf born here", "e")
    assert "Exp 'n_e' produces Inf in half" in found["sentence"]
    assert "the output 'y' is finite again but suspiciously constant: half holds 0.25 everywhere" in found["sentence"]


def test_a_constant_without_infinity(locate, tmp_path):
    small(tmp_path / "m.toy")
    done, found = locate("-b", "toy:fault=constant,at=h,amount=3", "-b", "plain")
    assert (done.status, found["words"], found["first_bad"]) == (1, "suspiciously constant", "h")
    assert "holds 3 everywhere in 'h', the output of MatMul 'n_h'" in found["sentence"]


def test_backends_that_agree_on_a_wrong_answer(locate, tmp_path):
    """(x / 3 + 1e7) - 1e7: in float32 nothing of x is left, and only float64 knows."""
    nodes = [node("Div", "x k", "t"), node("Add", "t big", "s"), node("Sub", "s big", "y")]
    write(tmp_path / "m.toy", nodes, {"k": number(3), "big": number(1e7)}, FOUR)
    done, found = locate("-b", "toy", "-b", "plain")
    assert (done.status, found["words"]) == (0, "equal")
    assert "the model loses digits in this type" in done.words
    assert found["tensors"][-1]["float64"]["reference"] > 0.5
    assert locate("-b", "toy", "-b", "plain", "--no-float64")[1]["words"] == "equal"


def test_float64_sides_with_the_better_backend(locate, tmp_path):
    small(tmp_path / "m.toy")
    done, found = locate("-b", "plain", "-b", "toy:name=bad,fault=scale,at=h,amount=0.5")
    assert done.status == 1
    assert any("float64 sides with the candidate: in the output 'y', bad is" in note for note in found["notes"])


def test_the_origin_of_an_error_that_a_later_operator_amplifies(locate, tmp_path):
    nodes = [node("Mul", "x k", "a"), node("Sub", "a one", "b"), node("Mul", "b huge", "y")]
    for path, factor in (("m.toy", 1 + 5e-6), ("good.toy", 1)):
        write(tmp_path / path, nodes, {"k": number(factor), "one": number(1), "huge": number(1e4)}, FOUR)
    words = ("--val-range", "[1.001,1.004]")
    done, found = locate("-b", "plain", "-b", "plain:name=ref,model=good.toy", *words)
    assert (found["first_bad"], found["origin"]) == ("y", "a")
    assert "wrong: Mul 'n_a' computes 'a'" in done.words or "explains: Mul 'n_a' computes 'a'" in done.words
    assert "first outside it in 'y', which Mul 'n_y' computes, with a relative error" in done.words


# --- when looking changes the result


def fused(tmp_path):
    small(tmp_path / "m.toy")
    return ("-b", "toy:name=fusing,fault=add,at=y,fused=r", "-b", "plain")


@pytest.mark.parametrize("memory", [(), ("--max-memory", "1K")], ids=["at once", "in windows"])
def test_a_fault_that_hides_from_probes(locate, polycmp, tmp_path, memory):
    done, found = locate(*fused(tmp_path), "--save-marked", "marked.toy", *memory)
    assert (done.status, found["words"]) == (1, "probing removes the fault")
    assert found["probe"]["cured_by"] == ["r"]
    assert "fusing is right once 'r' is an output; that keeps Relu 'n_r' and Softmax" in done.words
    assert polycmp("run", "marked.toy", "-b", fused(tmp_path)[1], "-b", "plain").status == 0
    assert polycmp("run", "m.toy", "-b", fused(tmp_path)[1], "-b", "plain").status == 1


def test_a_fault_that_only_cutting_the_model_removes(locate, tmp_path):
    """All operators are right alone, and no further output changes what they do together."""
    small(tmp_path / "m.toy")
    words = ("-b", "toy:fault=add,at=h,beside=[r,y]", "-b", "plain", "--max-memory", "1")
    done, found = locate(*words, "--save-marked", "marked.toy")
    assert (done.status, found["words"], found["first_bad"]) == (1, "probing removes the fault", None)
    assert "the operators are right one by one, but wrong together" in found["sentence"]
    assert "no probes in the whole model prevent it, only cutting the model does" in done.words
    assert not (tmp_path / "marked.toy").exists()
