"""The corpus of converters' files (`truth.converters`)."""

from __future__ import annotations

import onnx

from truth.build import Graph
from truth.converters.making import make
from truth.converters.producers import Producer


def test_a_converter_that_writes_shapes_into_its_source_leaves_that_of_the_others_alone(tmp_path):
    def convert(source, target, feeds):
        onnx.shape_inference.infer_shapes_path(str(source), str(source))
        onnx.save(onnx.load(source), target)

    g = Graph("doubled")
    x = g.input("x", g.normal(2, 3))
    g.node("Add", [g.node("Relu", [x], "inside"), x], "y")
    g.output("y")
    source = g.net().write(tmp_path)
    make(Producer("in place", convert), tmp_path, tmp_path / "made.onnx")
    assert [item.name for item in onnx.load(tmp_path / "made.onnx").graph.value_info] == ["inside"]
    assert not onnx.load(source).graph.value_info


def test_a_converter_that_fails_says_why_beside_its_file(tmp_path):
    def convert(source, target, feeds):
        raise SystemExit("no bilinear resizing")

    g = Graph("one")
    g.node("Relu", [g.input("x", g.normal(2, 3))], "y")
    g.output("y")
    g.net().write(tmp_path)
    make(Producer("failing", convert), tmp_path, tmp_path / "made.onnx")
    assert (tmp_path / "made.why").read_text("utf-8") == "SystemExit: no bilinear resizing"
