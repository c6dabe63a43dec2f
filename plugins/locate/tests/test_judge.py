"""`polycmp locate` on the toy box: every verdict, from faults that a backend or a changed weight really has."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from toymodels import chain, node, number, residual, small, write

FOUR = {"x": ["float32", [4]]}
REPORT = ("--report", "r.json", "--explain")


@pytest.fixture
def locate(polycmp, tmp_path):
    """Search in `m.toy`; return what was printed, and the report."""

    def run(*words):
        done = polycmp("locate", "m.toy", *words, *REPORT)
        return done, done.report()

    return run


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


def test_nothing_to_keep_is_said(locate, tmp_path):
    small(tmp_path / "m.toy")
    done, _ = locate("-b", "toy:fault=add,at=h", "-b", "plain", "--save-marked", "marked.toy")
    assert "no output makes the fault go away, so marked.toy was not written" in done.words
    assert not (tmp_path / "marked.toy").exists()


def test_tensors_that_a_backend_refuses_to_show(locate, tmp_path):
    chain(tmp_path / "m.toy", 4, changed=3)
    chain(tmp_path / "good.toy", 4)
    done, found = locate("-b", "toy:hides=[h2,h3]", "-b", "plain:name=ref,model=good.toy")
    assert (done.status, found["first_bad"], found["last_good"]) == (1, "r3", "r2")
    assert "does not show 2 tensors inside the model, not compared: 'h2', 'h3'" in done.words
    _, found = locate("-b", "toy:hides=[h2,h3]", "-b", "plain:name=ref,model=good.toy", "--bisect")
    assert found["first_bad"] == "r3"


# --- backends that fail


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


# --- several backends, several feeds, the rest


def test_of_three_backends_the_odd_one_out_is_named(locate, tmp_path):
    small(tmp_path / "m.toy")
    done, found = locate("-b", "toy:name=bad,fault=add,at=h", "-b", "toy:name=good", "-b", "plain")
    assert found["odd_one_out"] == "bad"
    assert "the odd one out is bad: good and plain agree with each other" in done.words
    words = ("-b", "toy:name=one,fault=add,at=h", "-b", "toy:name=two,fault=add,at=h,amount=2", "-b", "plain")
    done, found = locate(*words)
    assert found["odd_one_out"] is None
    assert "no single backend is the odd one out" in done.words


def test_the_reference_may_be_named(locate, tmp_path):
    small(tmp_path / "m.toy")
    _, found = locate("-b", "plain", "-b", "toy:name=bad,fault=add,at=h", "--reference", "plain")
    assert (found["candidate"], found["reference"]) == ("bad", "plain")


def test_a_later_feed_is_searched_if_the_first_shows_nothing(polycmp, tmp_path):
    nodes = [node("Relu", "x", "h"), node("Mul", "h k", "y")]
    for path, factor in (("m.toy", 1), ("good.toy", 2)):
        write(tmp_path / path, nodes, {"k": number(factor)}, FOUR)
    (tmp_path / "feeds.py").write_text(
        "import numpy as np\n"
        "def load_data():\n    for value in (-1, -1, 1):\n        yield {'x': np.full(4, value, np.float32)}\n"
    )
    words = ("-b", "plain", "-b", "plain:name=ref,model=good.toy", "--data-loader-script", "feeds.py", *REPORT)
    done = polycmp("locate", "m.toy", *words)
    assert (done.status, done.report()["iteration"], done.report()["first_bad"]) == (1, 2, "y")


def test_all_reports_tell_the_same(polycmp, tmp_path):
    pytest.importorskip("polycmp_report")
    words = ("--report", "r.json", "--report", "r.html", "--report", "r.xml")
    done = polycmp("locate", "m.toy", *changed_weight(tmp_path), *words)
    found = done.report()
    page = (tmp_path / "r.html").read_text()
    assert page.count('<a href="#detail-') == page.count('id="detail-') == len(found["tensors"])
    assert "MatMul &#x27;n_h8&#x27; computes" in page or "MatMul &#39;n_h8&#39; computes" in page
    root = ElementTree.parse(tmp_path / "r.xml").getroot()
    assert [case.get("name") for case in root.iter("testcase") if case.find("failure") is not None] == ["h8"]


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (("-b", "toy"), 2, "a search needs two backends"),
        (("-b", "toy", "-b", "shut"), 2, "cannot run parts of a model"),
        (("-b", "toy", "-b", "shut"), 2, "outputs can be compared: polycmp run MODEL"),
        (("-b", "toy", "-b", "plain", "--reference", "plane"), 2, "did you mean 'plain'"),
        (("-b", "toy", "-b", "plain", "--save-outputs", "o.npz"), 2, "--save-outputs"),
        (("-b", "toy", "-b", "needy"), 3, "a_library_that_nobody_has"),
        (("-b", "toy", "-b", "plain", "--data-loader", "ramp", "--ramp-count", "0"), 2, "gave no inputs"),
    ],
)
def test_what_cannot_be_searched(polycmp, tmp_path, words, status, says):
    small(tmp_path / "m.toy")
    done = polycmp("locate", "m.toy", *words)
    assert done.status == status
    assert says in done.err
