"""Bounds of sizes that are put into a model."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from onnx_results import run_in_ort
from surgeon_models import checked, model_of, value, weight

from polycmp.errors import UsageError
from polycmp_onnx import (
    set_upper_bound,
)


def test_an_upper_bound_holds(make_model):
    nodes = [helper.make_node("Mul", ["n", "two"], ["m"]), helper.make_node("Range", ["zero", "m", "one"], ["y"])]
    weights = {name: np.array(value, np.int64) for name, value in {"two": 2, "zero": 0, "one": 1}.items()}
    model = make_model(nodes, [("n", TensorProto.INT64, [])], [("y", TensorProto.INT64, ["k"])], weights)
    for bounded in (set_upper_bound(model, {"m": 5}), set_upper_bound(model, 5)):
        assert len(run_in_ort(bounded, {"n": np.array(100)})["y"]) == 5
        assert len(run_in_ort(bounded, {"n": np.array(2)})["y"]) == 4
    with pytest.raises(UsageError, match="computes no tensor"):
        set_upper_bound(model, {"two": 1})


def test_an_upper_bound_holds_where_a_body_reads_the_tensor(make_model):
    value = helper.make_tensor_value_info("k", TensorProto.INT64, ["k"])
    grown = helper.make_graph([helper.make_node("Range", ["zero", "m", "one"], ["k"])], "grown", [], [value])
    short = helper.make_graph([helper.make_node("Range", ["zero", "one", "one"], ["k"])], "short", [], [value])
    nodes = [
        helper.make_node("Mul", ["n", "two"], ["m"]),
        helper.make_node("If", ["c"], ["y"], then_branch=grown, else_branch=short),
    ]
    weights = {name: np.array(value, np.int64) for name, value in {"two": 2, "zero": 0, "one": 1}.items()}
    inputs = [("n", TensorProto.INT64, []), ("c", TensorProto.BOOL, [])]
    bounded = set_upper_bound(make_model(nodes, inputs, [("y", TensorProto.INT64, ["k"])], weights), {"m": 5})
    assert len(run_in_ort(bounded, {"n": np.array(100), "c": np.array(True)})["y"]) == 5


def test_upper_bounds_are_put_in(polycmp, tmp_path):
    nodes = [
        helper.make_node("NonZero", ["x"], ["z"]),
        helper.make_node("Shape", ["z"], ["s"]),
        helper.make_node("Squeeze", ["s1"], ["k"]),
        helper.make_node("Slice", ["s", "one", "two"], ["s1"]),
        helper.make_node("Range", ["zero", "k", "step"], ["y"]),
    ]
    weights = [weight(name, np.array(array)) for name, array in
               (("one", [1]), ("two", [2]), ("zero", 0), ("step", 1))]  # fmt: skip
    source = model_of(nodes, [value("x", [8])], [value("y", ["k"], TensorProto.INT64)], weights)
    onnx.save(source, tmp_path / "model.onnx")
    shown = polycmp("inspect", "model", "model.onnx", "--list-unbounded-dds")
    assert "    k\n" in shown.out
    words = ("--toposort", "--set-unbounded-dds-upper-bound", "3")
    done = polycmp("surgeon", "sanitize", "model.onnx", *words, "-o", "out.onnx")
    assert done.status == 0, done.err
    got = ReferenceEvaluator(checked(tmp_path / "out.onnx")).run(None, {"x": np.ones(8, np.float32)})[0]
    assert list(got) == [0, 1, 2]
    shown = polycmp("inspect", "model", "out.onnx", "--list-unbounded-dds")
    assert ("k_bounded" in shown.out, "    none" in shown.out) == (False, True), shown.out
    done = polycmp("surgeon", "sanitize", "out.onnx", "--set-unbounded-dds-upper-bound", "3", "-o", "again.onnx")
    assert [node.op_type for node in checked(tmp_path / "again.onnx").graph.node].count("Min") == 1
