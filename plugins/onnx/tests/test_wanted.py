"""Tensors and attributes as the commands of `surgeon` are told them."""

from __future__ import annotations

import onnx
import pytest
from onnx import helper
from surgeon_models import checked


def test_extract_takes_shapes_and_types_as_given(polycmp, chain, tmp_path):
    words = ("--inputs", "m:[7,height]:float32", "--outputs", "r:float32")
    assert polycmp("surgeon", "extract", "model.onnx", *words, "-o", "out.onnx").status == 0
    shape = checked(tmp_path / "out.onnx").graph.input[0].type.tensor_type.shape
    assert [dim.dim_value or dim.dim_param for dim in shape.dim] == [7, "height"]


def test_insert_takes_attributes_of_all_kinds_and_other_domains(polycmp, chain, tmp_path):
    pytest.importorskip("onnxruntime")  # ONNX alone loads no operators of other domains
    words = ("--op", "Mine", "--domain", "org.mine", "--inputs", "m", "--outputs", "r")
    attributes = ("--attrs", "b=1.5", "a=1", "c=text", "d=[1,2]", 'e=["u","v"]', "f=[0.5,1.5]")
    assert polycmp("surgeon", "insert", "model.onnx", *words, *attributes, "-o", "out.onnx").status == 0
    made = onnx.load(tmp_path / "out.onnx")
    node = next(item for item in made.graph.node if item.op_type == "Mine")
    got = {item.name: helper.get_attribute_value(item) for item in node.attribute}
    assert list(got) == ["b", "a", "c", "d", "e", "f"]  # the order in which they were given
    assert got == {"a": 1, "b": 1.5, "c": b"text", "d": [1, 2], "e": [b"u", b"v"], "f": [0.5, 1.5]}
    assert "org.mine" in {item.domain for item in made.opset_import}
    done = polycmp("surgeon", "insert", "model.onnx", "--op", "Fake", "--inputs", "m", "--outputs", "r", "-o", "o.onnx")
    assert (done.status, "ONNX has no operator 'Fake'" in done.err) == (0, True)
