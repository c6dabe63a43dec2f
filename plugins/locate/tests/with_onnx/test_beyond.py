"""`polycmp locate` where no operator is wrong by itself: what many make together."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import onnx
import pytest
from located_rows import row
from onnx import TensorProto, helper, numpy_helper
from small_models import graph_model, save_graph

from polycmp.compare import OutputComparison
from polycmp_locate.causes import beyond
from polycmp_locate.values.judged import BEYOND, UNDECIDED, Judged, Probe
from polycmp_onnx import convert_to_fp16

FLOAT = TensorProto.FLOAT


@pytest.fixture
def located(polycmp, tmp_path):
    """Search for what differs between two files, and return the exit status and the report."""

    def run(new, old, *words):
        done = polycmp(
            "locate", new, "-b", "onnxrt", "-b", f"onnxrt:name=old,model={old}", *words, "--report", "f.json"
        )
        return done.status, json.loads((tmp_path / "f.json").read_text())

    return run


def scaled(path, op_type, off=0.0, layers=24):
    """A chain of operators that multiply by constants, or divide by their inverses, each off by the same share."""
    random = np.random.default_rng(0)
    factors = [random.uniform(0.5, 2.0, 16) * (1.0 + off) for _ in range(layers)]
    held = [(f"c{i}", (1 / item if op_type == "Div" else item).astype(np.float32)) for i, item in enumerate(factors)]
    nodes = [
        helper.make_node(op_type, [f"m{i - 1}" if i else "x", f"c{i}"], [f"m{i}"], name=f"n{i}") for i in range(layers)
    ]
    nodes.append(helper.make_node("Relu", [f"m{layers - 1}"], ["y"], name="end"))
    onnx.save(graph_model(nodes, [("x", FLOAT, [4, 16])], [("y", FLOAT, [4, 16])], held), path)
    return path


def test_what_operators_make_together_is_found_although_none_is_wrong(located, polycmp, tmp_path):
    """24 operators are off by 2e-6 each, as one kernel may be, and all in one direction: rounding explains 7e-6."""
    new, old = scaled(tmp_path / "new.onnx", "Div", 2e-6), scaled(tmp_path / "old.onnx", "Mul")
    assert polycmp("run", new, "-b", "onnxrt", "-b", f"onnxrt:model={old}").status == 1
    status, found = located(new, old)
    assert (status, found["words"]) == (1, "beyond rounding"), found["sentence"]
    assert "no operator is wrong by itself" in found["sentence"]


def test_operators_that_round_otherwise_together_are_no_fault(located, tmp_path):
    status, found = located(scaled(tmp_path / "new.onnx", "Div"), scaled(tmp_path / "old.onnx", "Mul"))
    assert status == 0, found["sentence"]


@pytest.mark.parametrize("order", ["new first", "old first"])
def test_a_mask_that_a_converter_cut_is_no_fault(located, tmp_path, order):
    """float16 holds no -3.4e38: what is -1e4 there hides the same numbers, and an Add of it is right."""
    random = np.random.default_rng(0)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["scores"], name="scores"),
        helper.make_node("Add", ["scores", "mask"], ["masked"], name="mask"),
        helper.make_node("Softmax", ["masked"], ["y"], name="softmax"),
    ]
    mask = np.where(np.tri(16, dtype=bool), 0.0, np.finfo(np.float32).min).astype(np.float32)
    held = [("w", (random.standard_normal((16, 16)) / 4).astype(np.float32)), ("mask", mask)]
    model = graph_model(nodes, [("x", FLOAT, [16, 16])], [("y", FLOAT, [16, 16])], held)
    onnx.save(model, tmp_path / "old.onnx")
    half = convert_to_fp16(model)
    for item in half.graph.initializer:
        values = numpy_helper.to_array(item)
        if values.min() < -1e4:
            item.CopyFrom(numpy_helper.from_array(np.maximum(values, values.dtype.type(-1e4)), item.name))
    onnx.save(half, tmp_path / "new.onnx")
    pair = [tmp_path / "new.onnx", tmp_path / "old.onnx"]
    status, found = located(*(pair if order == "new first" else pair[::-1]))
    assert status == 0, found["sentence"]


@pytest.mark.parametrize("has_codes_behind", [False, True])
def test_a_pass_that_rounds_weights_is_named_although_the_operator_is_right_alone(
    optimising, tmp_path, has_codes_behind
):
    """Alone the product reads real numbers, and keeps its weights; probes leave the codes before it where they are.

    Codes of what is off are no ties.
    """
    rng = np.random.default_rng(0)
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["q"], name="quantize"),
        helper.make_node("DequantizeLinear", ["q", "scale", "zero"], ["d"], name="dequantize"),
        helper.make_node("MatMul", ["d", "w"], ["p"], name="product"),
        helper.make_node("Tanh", ["p"], ["t"], name="tanh"),
        helper.make_node("QuantizeLinear", ["t", "fine", "zero"], ["c"], name="c"),
        helper.make_node("DequantizeLinear", ["c", "fine", "zero"], ["y"], name="numbers"),
    ]
    nodes = nodes if has_codes_behind else [*nodes[:3], helper.make_node("Tanh", ["p"], ["y"], name="tanh")]
    values = [("scale", np.float32(0.03)), ("fine", np.float32(0.004)), ("zero", np.uint8(128))]
    values += [("w", (rng.standard_normal((16, 8)) / 4).astype(np.float32))]
    ends = [("x", FLOAT, [4, 16])], [("y", FLOAT, [4, 8])]
    np.savez(tmp_path / "x.npz", x=rng.standard_normal((4, 16)).astype(np.float32))
    model = save_graph(tmp_path / "m.onnx", nodes, *ends, values)
    status, found = optimising(model, "--load-inputs", tmp_path / "x.npz")
    assert (status, found["words"]) == (1, "beyond rounding"), found["sentence"]
    assert "optimising rewrites MatMul 'product' (Weights), and is right where it does not" in found["sentence"]
    assert found["sentence"].endswith("workaround: -b optimising:skip=Weights")


@pytest.mark.parametrize(("zero", "status"), [(0, 0), (51, 1)], ids=["whole range", "a fifth cut off"])
def test_looking_inside_says_what_all_tensors_marked_say(located, polycmp, tmp_path, zero, status):
    """An operator that rounds to steps may leave out a few numbers; by how much is judged as any tensor is."""
    random = np.random.default_rng(5)
    x = random.uniform(0.0, 2.0, (4, 100)).astype(np.float32)
    x[0, :5] = (2.3, 2.5, 2.7, 2.7, 2.7665)
    np.savez(tmp_path / "x.npz", x=x)
    w = (random.standard_normal((100, 8)) / 10).astype(np.float32)
    step, step_w, step_y = (np.float32(size) for size in (2.7665 / 255, np.abs(w).max() / 127, 8.0 / 255))
    relu, shapes = helper.make_node("Relu", ["x"], ["a"], name="a"), ([("x", FLOAT, [4, 100])], [("y", FLOAT, [4, 8])])
    product = helper.make_node("MatMul", ["a", "w"], ["y"], name="product")
    onnx.save(graph_model([relu, product], *shapes, [("w", w)]), tmp_path / "old.onnx")
    steps, ends = ["step", "zero"], ["step_y", "zero_y"]
    quantised = [
        helper.make_node("QuantizeLinear", ["a", *steps], ["a_quantized"], name="quantize"),
        helper.make_node(
            "QLinearMatMul",
            ["a_quantized", *steps, "codes", "step_w", "zero_w", *ends],
            ["y_codes"],
            name="product",
        ),
        helper.make_node("DequantizeLinear", ["y_codes", *ends], ["y"], name="dequantize"),
    ]
    held = [("step", step), ("zero", np.uint8(zero)), ("step_w", step_w), ("zero_w", np.int8(0)), ("step_y", step_y)]
    held += [("zero_y", np.uint8(128)), ("codes", np.rint(w / step_w).astype(np.int8))]
    onnx.save(graph_model([relu, *quantised], *shapes, held), tmp_path / "new.onnx")
    new, old, inputs = tmp_path / "new.onnx", tmp_path / "old.onnx", ["--load-inputs", tmp_path / "x.npz"]
    words = ["run", new, "-b", "onnxrt", "-b", f"onnxrt:name=old,model={old}", "--mark-all", *inputs]
    assert polycmp(*words).status == status
    assert located(new, old, *inputs)[0] == status


@pytest.mark.parametrize(("word", "verdict"), [("failed", BEYOND), ("undecided", UNDECIDED)])
def test_an_output_that_failed_is_off_whatever_looking_inside_changes(word, verdict):
    """Three text detectors in 8 bits, of which `run` said FAILED and `locate` UNDECIDED: other kernels run inside."""
    final = OutputComparison("t", "t", passed=False, reason="off", inconclusive="" if word == "failed" else "open")
    probe = Probe(error=0.25, probed_error=0.5, plain_passed=False, trusted=False)
    judged = Judged(verdict=UNDECIDED, rows=(row(0.25),), finals=[final], probe=probe)
    whole = SimpleNamespace(setting=SimpleNamespace(is_measured=True, network=None), feed={}, beyond={})
    assert beyond.ask(judged, whole, ()).verdict == verdict
