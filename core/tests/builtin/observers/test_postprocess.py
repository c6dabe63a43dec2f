"""`--postprocess` and `--postprocess-func-script`: outputs are changed before they are compared."""

from __future__ import annotations

import pytest
from toymodels import node, number, small, write

WRONG = ("-b", "toy:name=bad,fault=add,at=y,amount=0.5", "-b", "plain")


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ((), 1),
        (("--postprocess", "top-1"), 0),
        (("--postprocess", "y:top-2,axis=0"), 0),
        (("--postprocess", "z*:top-1"), 2),
        (("--postprocess", "best-1"), 2),
        (("--postprocess", "top-1,axis=7"), 3),
        (("--postprocess-func-script", "p.py"), 0),
        (("--postprocess-func-script", "p.py:nothing"), 3),
        (("--postprocess-func-script", "none.py"), 3),
    ],
)
def test_what_is_compared(polycmp, tmp_path, words, status):
    small(tmp_path / "m.toy")
    (tmp_path / "p.py").write_text(
        "def postprocess_outputs(result):\n    for name in result:\n        result[name] = result[name] * 0\n"
        "    return result\n"
        "def nothing(result):\n    return None\n"
    )
    done = polycmp("run", "m.toy", *WRONG, *words)
    assert done.status == status, done.out + done.err


def test_a_function_is_told_whose_outputs_they_are_and_how_long_they_took(polycmp, tmp_path):
    small(tmp_path / "m.toy")
    (tmp_path / "p.py").write_text(
        "def postprocess_outputs(result):\n    assert result.runtime > 0\n"
        "    if result.runner_name == 'bad':\n        result['y'] = result['y'] - 0.5\n    return result\n"
    )
    assert polycmp("run", "m.toy", *WRONG, "--postprocess-func-script", "p.py").status == 0


def test_indices_do_not_hide_outputs_of_other_shapes(polycmp, tmp_path):
    write(tmp_path / "m.toy", [node("Add", "x one", "y")], {"one": number(1)})
    write(
        tmp_path / "wide.toy", [node("Add", "x one", "y")], {"one": {"dtype": "float32", "shape": [3, 1], "values": 1}}
    )
    words = ("-b", "plain", "-b", "plain:name=wide,model=wide.toy", "--input-shapes", "x:[1,8]")
    done = polycmp("run", "m.toy", *words, "--postprocess", "top-1")
    assert (done.status, "shape" in done.words) == (1, True), done.out + done.err


@pytest.mark.parametrize("words", [("--postprocess", "top-1"), ("--postprocess-func-script", "p.py")], ids=str)
@pytest.mark.parametrize("model", ["m.toy", "nan.toy"], ids=["one side", "both sides"])
def test_no_function_hides_an_output_of_nothing_but_nan(polycmp, tmp_path, words, model):
    """The largest of NaN only is the first; 0 * inf is NaN."""
    (tmp_path / "p.py").write_text("def postprocess_outputs(result):\n    return {'best': result['y'].argmax(-1)}\n")
    ends = {"x": ["float32", [1, 4]]}
    falling = {"dtype": "float32", "shape": [1, 4], "values": [4, 3, 2, 1]}
    nodes = [node("Mul", "x zero", "z"), node("Add", "z falling", "y")]
    write(tmp_path / "m.toy", nodes, {"zero": number(0), "falling": falling}, ends)
    nodes = [node("Mul", "x zero", "z"), node("Mul", "z big", "y")]
    write(tmp_path / "nan.toy", nodes, {"zero": number(0), "big": number(float("inf"))}, ends)
    done = polycmp("run", "nan.toy", "-b", "toy:name=bad", "-b", f"plain:model={model}", *words)
    assert (done.status, "NaN" in done.words) == (1, True), done.out + done.err
