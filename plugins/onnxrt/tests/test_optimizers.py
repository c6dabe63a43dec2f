"""Optimizers that can be left out, and those that change a model."""

from __future__ import annotations

import onnx
from onnx import helper
from onnxrt_models import FLOAT, FakeModel, double, model, value

from polycmp_onnxrt import session_from_onnx
from polycmp_onnxrt.optimizers import optimizers


def test_optimizers_can_be_left_out(tmp_path):
    """A constant expression stays in the model when its folding is left out."""
    constant = helper.make_tensor("w", FLOAT, [2], [1, 2])
    nodes = [helper.make_node("Add", ["w", "w"], ["v"]), helper.make_node("Add", ["x", "v"], ["y"])]
    made = model(nodes, [value("x", shape=(2,))], [value("y", shape=(2,))], initializer=[constant])
    kept = {}
    for names in ((), ("ConstantFolding",)):
        session_from_onnx(made, disable_optimizers=names, save_optimized=tmp_path / "o.onnx")
        kept[names] = len(onnx.load(tmp_path / "o.onnx").graph.node)
    assert kept == {(): 1, ("ConstantFolding",): 2}


def test_the_optimizers_that_change_a_model_are_read_from_the_log(capfd):
    """A model with nothing to fold has fewer; one that cannot be loaded may have any; nobody sees the log."""
    constant = helper.make_tensor("w", FLOAT, [2], [1, 2])
    folds = model(
        [helper.make_node("Add", ["w", "w"], ["v"]), helper.make_node("Add", ["x", "v"], ["y"])],
        [value("x", shape=(2,))], [value("y", shape=(2,))], initializer=[constant],
    )  # fmt: skip
    unknown = model([helper.make_node("Nothing", ["x"], ["y"])], [value("x", shape=(2,))], [value("y", shape=(2,))])
    found = {}
    for name, made in (("folds", folds), ("plain", double()), ("unknown", unknown)):
        found[name] = optimizers(FakeModel(made), None)
    assert "ConstantFolding" in found["folds"] and len(found["folds"]) < 40
    assert "ConstantFolding" not in found["plain"] and "NchwcTransformer" not in found["plain"]
    assert len(found["unknown"]) > 80
    assert capfd.readouterr() == ("", "")
