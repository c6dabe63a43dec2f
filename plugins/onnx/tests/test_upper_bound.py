"""Bounds of sizes that are put into a model."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx_results import run_in_ort

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
