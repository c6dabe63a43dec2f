"""What both files round alike is part of the network: it explains nothing, but for codes that a tie moves by a step."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from in_parts import a_few
from onnx import TensorProto, helper
from small_models import graph_model

FLOAT, WIDTH, LAYERS = TensorProto.FLOAT, 32, 3


def quantised(order: str, *, factor: float = 1.0, scale: float = 1.0) -> onnx.ModelProto:
    """Return layers of int8 products, whose activations are rounded to int8, too.

    Args:
        order: `after` scales a sum by factors, `before` its terms, so that both round otherwise in float32.
        factor: What the factors of the second layer are multiplied by.
        scale: What the scale of its weight is multiplied by.
    """
    rng, nodes, weights, source, node = np.random.default_rng(3), [], [], "x", helper.make_node
    for index in range(LAYERS):
        wrong = index == 1
        exact = rng.standard_normal((WIDTH, WIDTH)) / WIDTH**0.5
        step = np.abs(exact).max() / 63  # 7 bits, so that no processor adds two products in 16 bits
        factors = rng.uniform(0.8, 1.2, WIDTH).astype(np.float32)
        bias = rng.standard_normal(WIDTH).astype(np.float32) / 10
        weights += [
            (f"c{index}", np.rint(exact / step).astype(np.int8)),
            (f"cs{index}", np.float32(step * (scale if wrong else 1.0))),
            (f"zero{index}", np.int8(0)),
            (f"b{index}", bias if order == "after" else bias * factors),
            (f"f{index}", (factors * (factor if wrong else 1.0)).astype(np.float32)),
            (f"s{index}", np.float32(2 / 255)),
        ]
        adding = [
            node("MatMul", [source, f"w{index}"], [f"m{index}"], name=f"m{index}"),
            node("Add", [f"m{index}", f"b{index}"], [f"a{index}"], name=f"a{index}"),
            node("Mul", [f"a{index}", f"f{index}"], [f"y{index}"], name=f"y{index}"),
        ]
        scaling = [
            adding[0],
            node("Mul", [f"m{index}", f"f{index}"], [f"n{index}"], name=f"n{index}"),
            node("Add", [f"n{index}", f"b{index}"], [f"y{index}"], name=f"y{index}"),
        ]
        nodes += [
            node("DequantizeLinear", [f"c{index}", f"cs{index}", f"zero{index}"], [f"w{index}"], name=f"w{index}"),
            *(adding if order == "after" else scaling),
            node("Tanh", [f"y{index}"], [f"t{index}"], name=f"t{index}"),
            node("QuantizeLinear", [f"t{index}", f"s{index}", f"zero{index}"], [f"q{index}"], name=f"q{index}"),
            node("DequantizeLinear", [f"q{index}", f"s{index}", f"zero{index}"], [f"d{index}"], name=f"d{index}"),
        ]
        source = f"d{index}"
    weights += [("last", (rng.standard_normal((WIDTH, 4)) / WIDTH**0.5).astype(np.float32))]
    nodes += [node("MatMul", [source, "last"], ["out"], name="out")]
    return graph_model(nodes, [("x", FLOAT, ["r", WIDTH])], [("out", FLOAT, ["r", 4])], weights)


@pytest.fixture
def said(polycmp, tmp_path):
    """Return the exit statuses of the commands that judge a pair."""

    def ask(made: onnx.ModelProto, rows: int = 16) -> dict[str, int]:
        onnx.save(quantised("after"), tmp_path / "old.onnx")
        onnx.save(made, tmp_path / "new.onnx")
        np.savez(tmp_path / "x.npz", x=np.random.default_rng(8).standard_normal((rows, WIDTH)).astype(np.float32))
        found = {}
        for words in ("run --mark-all", "run --tolerance auto", "locate"):
            command, *more = words.split()
            done = polycmp(
                command, "new.onnx", "-b", "onnxrt:name=new", "-b", "onnxrt:name=old,model=old.onnx",
                "--load-inputs", "x.npz", *more,
            )  # fmt: skip
            found[words] = done.status
        return found

    return ask


@pytest.mark.parametrize("wrong", a_few([{"factor": 1.01}, {"scale": 1.01}]), ids=str)
def test_steps_that_both_files_have_explain_no_factor(said, wrong):
    assert set(said(quantised("before", **wrong)).values()) == {1}


def test_codes_that_ties_move_by_a_step_pass(said):
    assert set(said(quantised("before"), rows=8192).values()) == {0}


@pytest.mark.parametrize("factor", [1.0, 1.03])
def test_codes_of_a_weight_explain_nothing_behind_a_cast_to_float16(polycmp, tmp_path, factor):
    """The random graph whose float16 sums of a weight in int8 were 3 % too large, and passed."""
    node = helper.make_node
    nodes = [
        node("DequantizeLinear", ["codes", "step", "zero"], ["w"], name="w"),
        node("Cast", ["w"], ["half"], name="half", to=TensorProto.FLOAT16),
        node("Add", ["half", "x"], ["sum"], name="sum"),
        node("Mul", ["sum", "by"], ["scaled"], name="scaled"),
        node("Cast", ["scaled"], ["y"], name="y", to=FLOAT),
    ]
    weights = [("codes", np.arange(-12, 12, dtype=np.int8)), ("step", np.float32(0.5)), ("zero", np.int8(0))]
    for name, by in (("old", 1.0), ("new", factor)):
        held = [*weights, ("by", np.float16(by))]
        drop = nodes if name == "new" else [*nodes[:3], node("Cast", ["sum"], ["y"], name="y", to=FLOAT)]
        made = graph_model(drop, [("x", TensorProto.FLOAT16, [24])], [("y", FLOAT, [24])], held)
        onnx.save(made, tmp_path / f"{name}.onnx")
    for words in ("run --mark-all", "run --tolerance auto", "locate"):
        command, *more = words.split()
        done = polycmp(command, "new.onnx", "-b", "onnxrt:name=new", "-b", "onnxrt:name=old,model=old.onnx", *more)
        assert done.status == (factor != 1.0), (words, done.out)


def cancelling(*, folded: bool, factor: float = 1.0) -> onnx.ModelProto:
    """Return scaled sums of which little is left when a large bias is taken away again."""
    rng, node = np.random.default_rng(5), helper.make_node
    exact = (rng.standard_normal((WIDTH, WIDTH)) / WIDTH**0.5).astype(np.float32)
    factors, large = rng.uniform(1.0, 2.0, WIDTH).astype(np.float32), np.full(WIDTH, 300, np.float32)
    weights = [("c", large * factors), ("k", np.float32(factor))]
    if folded:
        weights += [("wf", exact * factors), ("bf", large * factors)]
        first = [node("Gemm", ["x", "wf", "bf"], ["sum"], name="sum")]
    else:
        weights += [("w", exact), ("b", large), ("f", factors)]
        first = [
            node("MatMul", ["x", "w"], ["m"], name="m"),
            node("Add", ["m", "b"], ["added"], name="added"),
            node("Mul", ["added", "f"], ["sum"], name="sum"),
        ]
    nodes = [
        *first,
        node("Sub", ["sum", "c"], ["left"], name="left"),
        node("Mul", ["left", "k"], ["scaled"], name="scaled"),
        node("Tanh", ["scaled"], ["y"], name="y"),
    ]
    return graph_model(nodes, [("x", FLOAT, [16, WIDTH])], [("y", FLOAT, [16, WIDTH])], weights)


@pytest.mark.parametrize("factor", [1.0, 1.01])
def test_float32_rounding_that_a_model_amplifies_passes_between_two_files_and_a_factor_does_not(
    polycmp, tmp_path, factor
):
    onnx.save(cancelling(folded=False), tmp_path / "old.onnx")
    onnx.save(cancelling(folded=True, factor=factor), tmp_path / "new.onnx")
    for words in ("run --mark-all", "run --tolerance auto", "locate"):
        command, *more = words.split()
        done = polycmp(command, "new.onnx", "-b", "onnxrt:name=new", "-b", "onnxrt:name=old,model=old.onnx", *more)
        assert done.status == (factor != 1.0), (words, done.out)
    typed = ("-b", "onnxrt:name=new", "-b", "onnxrt:name=old,model=old.onnx", "--atol", "1e-5", "--rtol", "1e-5")
    assert polycmp("run", "new.onnx", *typed).status == 1


@pytest.mark.parametrize("words", [("run", "--mark-all"), ("locate",)], ids=" ".join)
def test_a_code_next_to_a_tie_may_flip_in_a_file_that_both_run(polycmp, words):
    """Kernels were five roundings apart, and 2 of 153,600 codes flipped: samples moved by two roundings."""
    rounding = 2.0**-24
    numbers = np.random.default_rng(0).integers(1, 100, 1000) + 0.25
    numbers[[3, 500, 999]] = 40.5 * (1 - 6 * rounding)  # the code is 40, and 41 for what is five roundings larger
    np.savez("x.npz", x=numbers.astype(np.float32))
    nodes = [
        helper.make_node("Mul", ["x", "w"], ["m"], name="m"),
        helper.make_node("QuantizeLinear", ["m", "s", "z"], ["q"], name="q"),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"], name="d"),
        helper.make_node("ReduceSum", ["d"], ["y"], name="y", keepdims=0),
    ]
    for name, share in (("new.onnx", 10 * rounding), ("old.onnx", 0.0)):
        held = [("w", np.float32(1 + share)), ("s", np.float32(1)), ("z", np.uint8(0))]
        onnx.save(graph_model(nodes, [("x", FLOAT, [1000])], [("y", FLOAT, [])], held), name)
    command, *more = words
    done = polycmp(command, "new.onnx", "old.onnx", "-b", "onnx", "--load-inputs", "x.npz", *more)
    assert done.status == 0, done.out
