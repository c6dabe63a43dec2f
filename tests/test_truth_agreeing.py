"""No two commands say contrary things of one pair: those of `truth`, whose answers are known, and others.

What is contrary is written down in `truth.agreeing.contradictions`; `make truth` asks of all pairs.
"""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from in_process import run_cases_here
from onnx import TensorProto, helper
from small_models import graph_model

from truth.agreeing import ask_all, contradictions
from truth.judge import Said
from truth.scenario import EQUAL, ROUNDING, UNSTEADY, WRONG
from truth.scenarios import SCENARIOS

WIDTH = 32
#: Every so many of the fast scenarios, which go through architectures, types and faults in turn.
EACH = 32
SPREAD = [name for name, item in SCENARIOS.items() if item.fast and item.here and item.file is None][::EACH]
#: Pairs of which `--tolerance auto` and `locate` said contrary things: codes on both sides, with ties that biases turn
#: and without; a fault that noise of float16 hides from the outputs; decisions between equal values, of
#: which one is a shape.
CHOSEN = [
    "static int8, symmetric: ONNX Runtime against itself without optimisation",
    "static int8, symmetric, whole biases: flat.dq and logits together",
    "static int8: wrong scale of s1.c1.q",
    "float16: row-noise at s2.add",
    "two equal maxima, float16: nothing wrong",
    "kept digits: nothing wrong",
]


@pytest.mark.parametrize(
    "name",
    [
        *CHOSEN[::4],
        *(
            pytest.param(name, marks=pytest.mark.corpus)
            for name in (*CHOSEN[1::4], *CHOSEN[2::4], *CHOSEN[3::4], *SPREAD)
        ),
    ],
)
def test_no_command_contradicts_another(polycmp, tmp_path, monkeypatch, name):
    run_cases_here(monkeypatch)
    del polycmp  # it gives back what commands in this process change
    assert contradictions(ask_all(SCENARIOS[name], tmp_path)) == []


def report(**outputs: str) -> dict[str, object]:
    return {"comparison_results": [{"outputs": {name: {"verdict": said} for name, said in outputs.items()}}]}


def told(located: Said, **exits: int | Said) -> dict[str, Said]:
    """What commands say: nothing contrary of a pair that passes, but for what is given."""
    names = {"mark_all": "run --mark-all", "auto": "run --tolerance auto"}
    said = dict.fromkeys(("run", "run --mark-all", "run --tolerance auto", "suite", "compare", "invariants"), Said(0))
    given = {names.get(name, name): item if isinstance(item, Said) else Said(item) for name, item in exits.items()}
    return {**said, **given, "locate": located}


OPEN = Said(3, document={"verdict": "undecided"})
UNMOVED = {"probe": {"moved": 0.0, "relative": 0.0, "passed_without": True}}
SENTENCES = [
    ("all agree", told(Said(0, EQUAL)), 0),
    ("a suite fails what run passes", told(Said(0, EQUAL), suite=1), 1),
    ("a race is another one in each run", told(Said(1, UNSTEADY), run=1, suite=0, compare=0, invariants=1, auto=1), 0),
    ("run fails, all is equal", told(Said(0, EQUAL), run=1, suite=1, compare=1), 1),
    ("run fails, rounding explains it", told(Said(0, ROUNDING), run=1, suite=1, compare=1), 0),
    ("run passes, an operator is wrong", told(Said(1, WRONG, "wrong: Op"), auto=3), 1),
    (
        "run passes, an operator is wrong without harm",
        told(Said(1, WRONG, "wrong: Op; even so, the outputs are within tolerance")),
        0,
    ),
    ("auto passes what locate accuses", told(Said(1, WRONG, "wrong: Op"), run=1, suite=1, compare=1), 1),
    ("auto fails what rounding explains", told(Said(0, ROUNDING), auto=1), 1),
    (
        "auto passes what locate accuses and rounding hides",
        told(Said(1, WRONG, "wrong: Op; even so, the outputs are off by no more than rounding explains"),
             run=1, suite=1, compare=1),
        0,
    ),
    (
        "auto fails what locate says that rounding hides",
        told(Said(1, WRONG, "wrong: Op; even so, the outputs are off by no more than rounding explains"),
             run=1, suite=1, compare=1, auto=1),
        1,
    ),
    ("auto is blind", told(Said(0, ROUNDING), auto=3), 0),
    ("auto is undecided, rounding explains it", told(Said(0, ROUNDING), auto=OPEN), 1),
    ("auto is undecided, and so is locate", told(Said(3, "undecided"), auto=OPEN), 0),
    (
        "auto is undecided, and locate names the decision",
        told(Said(0, ROUNDING, "within rounding: no operator is wrong; in 'a', the output of Op"), auto=OPEN),
        0,
    ),
    ("auto fails, locate is undecided", told(Said(3, "undecided"), run=1, suite=1, auto=1), 1),
    ("a race that invariants do not see", told(Said(1, UNSTEADY), run=1, auto=1), 1),
    (
        "looking inside changes a verdict, but not the outputs",
        told(Said(0, EQUAL, document=UNMOVED), run=Said(0, document=report(y="passed")),
             mark_all=Said(1, document=report(y="failed"))),
        1,
    ),
    (
        "a backend fails, and nothing is wrong",
        told(Said(0, EQUAL), run=Said(3, document={"inference_results": {"a": {"error": "no"}}}), suite=3, compare=3),
        1,
    ),
]  # fmt: skip


@pytest.mark.parametrize(("said", "count"), [item[1:] for item in SENTENCES], ids=[item[0] for item in SENTENCES])
def test_what_is_contrary_is_seen(said, count):
    assert len(contradictions(said)) == count


def network(last: float = 1.0, column: float = 1.0) -> onnx.ModelProto:
    """Return x [16,32] -> (MatMul, Add, Relu) three times -> MatMul, Mul; the end may be wrong by a factor."""
    rng, nodes, weights, source = np.random.default_rng(8), [], [], "x"
    node = helper.make_node
    for index in range(3):
        weights += [
            (f"w{index}", (rng.standard_normal((WIDTH, WIDTH)) * 1.4 / WIDTH**0.5).astype(np.float32)),
            (f"b{index}", (rng.standard_normal(WIDTH) * 0.1).astype(np.float32)),
        ]
        nodes += [
            node("MatMul", [source, f"w{index}"], [f"m{index}"], name=f"m{index}"),
            node("Add", [f"m{index}", f"b{index}"], [f"a{index}"], name=f"a{index}"),
            node("Relu", [f"a{index}"], [f"r{index}"], name=f"r{index}"),
        ]
        source = f"r{index}"
    end = (rng.standard_normal((WIDTH, WIDTH)) / WIDTH**0.5).astype(np.float32)
    end[:, 3] *= column
    weights += [("end", end), ("scale", np.full(1, 1.5 * last, np.float32))]
    nodes += [node("MatMul", [source, "end"], ["l"], name="l"), node("Mul", ["l", "scale"], ["y"], name="y")]
    shape = [16, WIDTH]
    return graph_model(nodes, [("x", TensorProto.FLOAT, shape)], [("y", TensorProto.FLOAT, shape)], weights)


PAIRS = {
    "float32": ({}, "", True),
    "float16": ({}, "fp16", True),
    "bfloat16": ({}, "bf16", True),
    "float32, all 10 % larger": ({"last": 1.1}, "", False),
    "float16, all 10 % larger": ({"last": 1.1}, "fp16", False),
    "bfloat16, half of it": ({"last": 0.5}, "bf16", False),
    "float16, a column": ({"column": 1.6}, "fp16", False),
    "bfloat16, a column": ({"column": 3.0}, "bf16", False),
}


#: One of each type, with and without a fault.
FEW = ("float32", "bfloat16", "bfloat16, half of it", "float16, a column")


@pytest.mark.parametrize(
    "name", [name if name in FEW else pytest.param(name, marks=pytest.mark.corpus) for name in PAIRS]
)
def test_no_command_passes_what_another_fails(polycmp, tmp_path, name):
    changes, kind, good = PAIRS[name]
    onnx.save(network(), tmp_path / "old.onnx")
    onnx.save(network(**changes), tmp_path / "new.onnx")
    new = "new.onnx"
    if kind:
        assert polycmp("convert", new, f"--fp-to-{kind}", "-o", "coarse.onnx").status == 0
        new = "coarse.onnx"
    pair = ("-b", "onnx:name=new", "-b", "onnx:name=old,model=old.onnx")
    found = {
        "auto": polycmp("run", new, *pair, "--tolerance", "auto").status,
        "mark-all": polycmp("run", new, *pair, "--mark-all").status,
        "locate": polycmp("locate", new, *pair).status,
    }
    assert all((status == 0) is good for status in found.values()), found
    saved = ("--save-outputs", "o.npz")
    assert polycmp("run", "old.onnx", "-b", "onnx:name=old", *saved, "--seed", "3").status == 0
    loaded = polycmp("run", new, "-b", "onnx:name=new", "--load-outputs", "o.npz", "--seed", "3")
    plain = polycmp("run", new, *pair, "--seed", "3")
    assert loaded.status == plain.status
