"""Indices and masks that a file in float16 decides otherwise than its source: decisions, and faults beside them."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from in_parts import each_once, spelled
from onnx import TensorProto, helper
from small_models import graph_model

ROWS, WIDTH, ITEMS, SIDE = 256, 32, 500, 24
FLOAT, HALF = TensorProto.FLOAT, TensorProto.FLOAT16


def values(seed: int, *shape: int) -> np.ndarray:
    return (np.random.default_rng(seed).standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32)


def ranker(kind: int, factor: float = 1.0, rows: int = ROWS, largest: int = 1) -> onnx.ModelProto:
    """Return x -> Cast, MatMul, MatMul, TopK of 3, in a type; its operators and names are the same in every type."""
    own = helper.tensor_dtype_to_np_dtype(kind)
    nodes = [
        helper.make_node("Cast", ["x"], ["h"], name="h", to=kind),
        helper.make_node("MatMul", ["h", "inner"], ["m"], name="m"),
        helper.make_node("MatMul", ["m", "head"], ["scores"], name="scores"),
        helper.make_node("TopK", ["scores", "k"], ["best", "y"], name="best", largest=largest),
    ]
    weights = [
        ("inner", (values(1, WIDTH, WIDTH) * factor).astype(own)),
        ("head", values(2, WIDTH, ITEMS).astype(own)),
        ("k", np.array([3], np.int64)),
    ]
    return graph_model(nodes, [("x", FLOAT, [rows, WIDTH])], [("y", TensorProto.INT64, [rows, 3])], weights)


def detector(kind: int, factor: float = 1.0) -> onnx.ModelProto:
    """Return an image -> Conv, Tanh, Conv, then a score where it is the largest around and a large number elsewhere."""
    own = helper.tensor_dtype_to_np_dtype(kind)
    nodes = [
        helper.make_node("Cast", ["x"], ["h"], name="h", to=kind),
        helper.make_node("Conv", ["h", "first"], ["c"], name="c", pads=[1, 1, 1, 1]),
        helper.make_node("Tanh", ["c"], ["t"], name="t"),
        helper.make_node("Conv", ["t", "second", "level"], ["score"], name="score", pads=[1, 1, 1, 1]),
        helper.make_node("MaxPool", ["score"], ["around"], name="around", kernel_shape=[5, 5], pads=[2, 2, 2, 2]),
        helper.make_node("Equal", ["around", "score"], ["is_peak"], name="is_peak"),
        helper.make_node("Where", ["is_peak", "far", "score"], ["peaks"], name="peaks"),
        helper.make_node("Cast", ["peaks"], ["y"], name="y", to=FLOAT),
    ]
    weights = [
        ("first", (values(3, 9, 8).T.reshape(8, 1, 3, 3) * factor).astype(own)),
        ("second", (values(4, 72, 1).T.reshape(1, 8, 3, 3)).astype(own)),
        ("level", np.array([64.0], own)),
        ("far", np.array([6.0], own)),
    ]
    shape = [16, 1, SIDE, SIDE]
    return graph_model(nodes, [("x", FLOAT, shape)], [("y", FLOAT, shape)], weights)


def filtered(kind: int) -> onnx.ModelProto:
    """Return x -> MatMul, then the scores above a limit and their places, whose number no shape says."""
    own = helper.tensor_dtype_to_np_dtype(kind)
    nodes = [
        helper.make_node("Cast", ["x"], ["h"], name="h", to=kind),
        helper.make_node("MatMul", ["h", "head"], ["scores"], name="scores"),
        helper.make_node("Greater", ["scores", "limit"], ["is_high"], name="is_high"),
        helper.make_node("NonZero", ["is_high"], ["high"], name="high"),
        helper.make_node("Transpose", ["high"], ["places"], name="places", perm=[1, 0]),
        helper.make_node("GatherND", ["scores", "places"], ["kept"], name="kept"),
        helper.make_node("Cast", ["kept"], ["y"], name="y", to=FLOAT),
    ]
    weights = [("head", values(5, WIDTH, 400).astype(own)), ("limit", np.array(0.2, own))]
    outputs = [("y", FLOAT, ["n"]), ("places", TensorProto.INT64, ["n", 2])]
    return graph_model(nodes, [("x", FLOAT, [64, WIDTH])], outputs, weights)


def logarithm(kind: int) -> onnx.ModelProto:
    """Return x from 1 to 1.05 -> log(sqrt(x - 1) + 0.001), which loses all but a few digits of float16."""
    own = helper.tensor_dtype_to_np_dtype(kind)
    nodes = [
        helper.make_node("Cast", ["x"], ["h"], name="h", to=kind),
        helper.make_node("Sub", ["h", "one"], ["above"], name="above"),
        helper.make_node("Sqrt", ["above"], ["root"], name="root"),
        helper.make_node("Add", ["root", "little"], ["positive"], name="positive"),
        helper.make_node("Log", ["positive"], ["l"], name="l"),
        helper.make_node("Cast", ["l"], ["y"], name="y", to=FLOAT),
    ]
    weights = [("one", np.array([1.0], own)), ("little", np.array([0.001], own))]
    return graph_model(nodes, [("x", FLOAT, [64, 64])], [("y", FLOAT, [64, 64])], weights)


def squares(seed: int) -> onnx.ModelProto:
    """Return x -> MatMul, its square, TopK of 8 of 64: kernels of a wider type choose before they round."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["m"], name="m"),
        helper.make_node("Mul", ["m", "m"], ["q"], name="q"),
        helper.make_node("Add", ["q", "b"], ["scores"], name="scores"),
        helper.make_node("TopK", ["scores", "k"], ["best", "places"], name="places"),
        helper.make_node("Cast", ["places"], ["y"], name="y", to=FLOAT),
    ]
    random = np.random.default_rng(seed)
    weights = [
        ("w", (random.standard_normal((32, 64)) / 8).astype(np.float16)),
        ("b", (random.standard_normal(64) / 512).astype(np.float16)),
        ("k", np.array([8], np.int64)),
    ]
    return graph_model(nodes, [("x", HALF, [64, 32])], [("y", FLOAT, [64, 8])], weights)


@pytest.fixture
def ask(polycmp, tmp_path):
    """Run a command with a file in float16 and its source."""

    def run(made: onnx.ModelProto, source: onnx.ModelProto, command: str, *more: str, backend: str = "onnxrt"):
        onnx.save(made, tmp_path / "made.onnx")
        onnx.save(source, tmp_path / "source.onnx")
        backends = ["-b", f"{backend}:name=made", "-b", "onnxrt:name=source,model=source.onnx"]
        return polycmp(command, "made.onnx", *backends, *more)

    return run


@pytest.mark.parametrize("more", [["--mark-all"], ["--tolerance", "auto"]])
def test_scores_that_float16_cannot_tell_apart_are_undecided(ask, more):
    done = ask(ranker(HALF), ranker(FLOAT), "run", *more)
    assert done.status == 3, done.out
    assert "decisions between nearly equal values" in done.out
    assert "FAIL" not in done.out


def test_locate_accuses_no_operator_of_them(ask):
    done = ask(ranker(HALF), ranker(FLOAT), "locate")
    assert done.status == 0, done.out
    assert "NO FAULT" in done.out
    assert "a decision between nearly equal values" in done.out


@pytest.mark.parametrize("command", [["locate"], ["run", "--mark-all"], ["run", "--tolerance", "auto"]])
def test_another_order_is_a_fault(ask, command):
    done = ask(ranker(HALF, largest=0), ranker(FLOAT), *command)
    assert done.status == 1, done.out
    if command == ["locate"]:
        assert "FOUND: wrong: TopK 'best'" in done.out


@pytest.mark.parametrize("rows", [8, ROWS])
def test_a_fault_before_indices_is_named_whether_or_not_they_show_it(ask, rows):
    made, source = ranker(HALF, 1.1, rows), ranker(FLOAT, rows=rows)
    assert ask(made, source, "run", "--mark-all").status == 1
    done = ask(made, source, "locate")
    assert done.status == 1, done.out
    assert "FOUND: wrong: MatMul 'm'" in done.out


def test_a_mask_inside_may_be_decided_otherwise(ask):
    made, source = detector(HALF), detector(FLOAT)
    done = ask(made, source, "run", "--mark-all", backend="onnx")  # rounds scores before they are compared
    assert done.status == 3, done.out
    assert "FAIL" not in done.out
    assert "decisions between nearly equal values" in done.out
    assert ask(made, source, "locate", backend="onnx").status == 0


def test_a_fault_before_such_a_mask_is_named(ask):
    done = ask(detector(HALF, 1.1), detector(FLOAT), "locate", backend="onnx")
    assert done.status == 1, done.out
    assert "FOUND: wrong: Conv 'c'" in done.out


def test_what_rounding_may_make_nan_of_is_not_estimated(ask):
    """Some numbers moved by a rounding are below 1, so that samples hold NaN; the file holds none."""
    done = ask(logarithm(HALF), logarithm(FLOAT), "run", "--mark-all", "--val-range", "[1,1.05]", backend="onnx")
    assert done.status in {0, 3}, done.out
    assert "FAIL" not in done.out


@pytest.mark.parametrize(
    ("backend", "more"), each_once(["onnx", "onnxrt"], [["--mark-all"], ["--tolerance", "auto"]]), ids=spelled
)
def test_how_many_scores_are_kept_is_a_decision(ask, backend, more):
    done = ask(filtered(HALF), filtered(FLOAT), "run", *more, backend=backend)
    assert done.status == 3, done.out + done.err
    assert "UNDECIDED   y" in done.out
    assert "UNDECIDED   places" in done.out
    assert "FAIL" not in done.out


@pytest.mark.parametrize("seed", [0, 1])
def test_equal_scores_of_a_file_that_a_wider_type_tells_apart_accuse_nobody(polycmp, tmp_path, seed):
    onnx.save(squares(seed), tmp_path / "squares.onnx")
    done = polycmp("locate", "squares.onnx", "-b", "onnxrt", "-b", "onnx")
    assert done.status == 0, done.out
    assert "NO FAULT" in done.out
