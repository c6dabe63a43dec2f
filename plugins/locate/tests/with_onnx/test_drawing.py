"""`polycmp locate` on models that draw random numbers: these are the reason, and all else is compared."""

from __future__ import annotations

import json

import numpy as np
import onnx
import pytest
from in_parts import a_few
from located import REPORT
from onnx import TensorProto, helper, numpy_helper

FLOAT = TensorProto.FLOAT

DRAWING = {
    "RandomNormalLike": helper.make_node("RandomNormalLike", ["m"], ["n"], name="draw"),
    "RandomUniform": helper.make_node("RandomUniform", [], ["n"], name="draw", shape=[4, 8]),
    "Bernoulli": helper.make_node("Bernoulli", ["m"], ["n"], name="draw"),
    "Multinomial": helper.make_node("Multinomial", ["m"], ["i"], name="draw", sample_size=8),
    "Dropout": helper.make_node("Dropout", ["m", "half", "train"], ["n"], name="draw"),
}


def drawing(path, kind, *, train=True, whole=False):
    """x -> Sigmoid -> m; m + what is drawn -> Tanh -> y. `whole`: what is drawn is an output, too."""
    more = [helper.make_node("Cast", ["i"], ["n"], name="cast", to=FLOAT)] if kind == "Multinomial" else []
    nodes = [
        helper.make_node("Sigmoid", ["x"], ["m"], name="sigmoid"),
        DRAWING[kind],
        *more,
        helper.make_node("Add", ["m", "n"], ["a"], name="add"),
        helper.make_node("Tanh", ["a"], ["y"], name="tanh"),
    ]
    weights = {"half": np.float32(0.5), "train": np.array(train)}
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", FLOAT, [4, 8])],
        [helper.make_tensor_value_info(name, FLOAT, [4, 8]) for name in ("y", *(["n"] if whole else []))],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in weights.items()],
    )
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


@pytest.fixture
def locate(polycmp, tmp_path):
    """Search and return the exit status and the report."""

    def run(model, candidate="onnxrt", *words):
        done = polycmp("locate", model, "-b", candidate, "-b", "onnx", *words, *REPORT)
        return done.status, json.loads((tmp_path / "found.json").read_text())

    return run


@pytest.mark.parametrize("kind", a_few(list(DRAWING), 2))
def test_random_numbers_are_the_reason(locate, tmp_path, kind):
    status, found = locate(drawing(tmp_path / "m.onnx", kind))
    assert (status, found["words"]) == (0, "random numbers")
    assert f"{kind} 'draw' draws random numbers, other ones on each side" in found["sentence"]
    assert "within rounding" not in found["sentence"]


@pytest.mark.parametrize("kind", a_few([kind for kind in DRAWING if kind != "Multinomial"]))
def test_a_run_says_that_random_numbers_may_be_the_reason(polycmp, tmp_path, kind):
    done = polycmp("run", drawing(tmp_path / "m.onnx", kind), "-b", "onnxrt", "-b", "onnx")
    assert done.status == 1
    assert f"{kind} 'draw' of" in " ".join(done.out.split())
    assert "draws random numbers, others in each backend and run" in " ".join(done.out.split())


def test_a_run_does_not_speak_of_what_does_not_draw(polycmp, tmp_path):
    done = polycmp("run", drawing(tmp_path / "m.onnx", "Dropout", train=False), "-b", "onnxrt:name=a", "-b", "onnx")
    assert (done.status, "random numbers" in done.out) == (0, False)


@pytest.mark.parametrize("mode", [(), ("--bisect",)], ids=["full", "bisect"])
@pytest.mark.parametrize("at", ["m", "y"])
def test_a_fault_beside_random_numbers_is_found(locate, tmp_path, at, mode):
    """Where it lies before the draw, the output that shows it is the one that is not drawn."""
    model = drawing(tmp_path / "m.onnx", "RandomNormalLike")
    status, found = locate(model, f"faulty:backend=onnxrt,fault=layout,at={at}", *mode)
    assert (status, found["words"], found["first_bad"]) == (1, "wrong", at)
    drawn = "RandomNormalLike 'draw' draws random numbers: both sides were given those of onnx"
    assert drawn in found["notes"]


def test_an_output_that_is_drawn_is_not_compared(locate, tmp_path):
    status, found = locate(drawing(tmp_path / "m.onnx", "RandomUniform", whole=True))
    assert (status, found["words"]) == (0, "random numbers")
    assert "'n' cannot be compared" in found["sentence"]


def test_dropout_that_does_not_train_draws_nothing(locate, tmp_path):
    status, found = locate(drawing(tmp_path / "m.onnx", "Dropout", train=False))
    assert (status, found["words"]) == (0, "equal")


@pytest.mark.parametrize("tensors", [("m", "n", "a", "y"), ("m", "a", "y")], ids=["drawn", "not drawn"])
def test_a_saved_run_gives_the_numbers_that_it_drew(polycmp, tmp_path, tensors):
    """Where it holds none, what follows from them differs, and no operator before them is accused."""
    model = drawing(tmp_path / "m.onnx", "RandomUniform")
    saving = ("--onnx-outputs", *tensors, "--save-inputs", "in.npz", "--save-outputs", "run.npz")
    assert polycmp("run", model, "-b", "onnx", *saving).status == 0
    words = ("-b", "onnxrt", "--load-inputs", "in.npz", "--load-outputs", "run.npz", *REPORT)
    done = polycmp("locate", model, *words)
    found = json.loads((tmp_path / "found.json").read_text())
    if "n" in tensors:
        assert (done.status, found["words"]) == (0, "random numbers")
    else:
        assert found["first_bad"] != "m"
