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
