"""`polycmp surgeon`: what all of its commands leave as it is."""

from __future__ import annotations

import onnx
from onnx import helper
from surgeon_models import checked, model_of, value


def test_functions_survive(polycmp, tmp_path):
    function = helper.make_function(
        "com.mine", "Twice", ["a"], ["b"], [helper.make_node("Add", ["a", "a"], ["b"])], [helper.make_opsetid("", 20)]
    )
    nodes = [helper.make_node("Twice", ["x"], ["t"], domain="com.mine"), helper.make_node("Relu", ["t"], ["y"])]
    source = model_of(nodes, [value("x", [4])], [value("y", [4])], functions=[function])
    onnx.save(source, tmp_path / "model.onnx")
    for words in (("sanitize", "--fold-constants"), ("extract", "--outputs", "t:float32"), ("prune",)):
        done = polycmp("surgeon", words[0], "model.onnx", *words[1:], "-o", "out.onnx")
        assert done.status == 0, done.err
        assert [item.name for item in checked(tmp_path / "out.onnx").functions] == ["Twice"]
