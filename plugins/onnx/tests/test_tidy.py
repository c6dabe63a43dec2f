"""Dead nodes and weights out, nodes sorted, inputs of other shapes."""

from __future__ import annotations

import onnx
from surgeon_models import X, checked, same


def test_sanitize_cleans_up_and_sorts(polycmp, chain, tmp_path):
    nodes = list(chain.graph.node)
    del chain.graph.node[:]
    chain.graph.node.extend(reversed(nodes))
    onnx.save(chain, tmp_path / "model.onnx")
    done = polycmp("surgeon", "sanitize", "model.onnx", "--cleanup", "--toposort", "-o", "out.onnx")
    assert done.status == 0, done.err
    made = checked(tmp_path / "out.onnx")
    assert "dead" not in {node.name for node in made.graph.node}
    assert {item.name for item in made.graph.initializer} == {"w", "one", "minus"}
    same(made, made, X)


def test_sanitize_gives_inputs_other_shapes(polycmp, chain, tmp_path):
    words = ("--override-input-shapes", "x:[4,8]", "--fold-constants")
    assert polycmp("surgeon", "sanitize", "model.onnx", *words, "-o", "out.onnx").status == 0
    made = checked(tmp_path / "out.onnx")
    assert [dim.dim_value for dim in made.graph.input[0].type.tensor_type.shape.dim] == [4, 8]
    assert [dim.dim_value for dim in made.graph.output[0].type.tensor_type.shape.dim] == [4, 8]
    done = polycmp("surgeon", "sanitize", "model.onnx", "--override-input-shapes", "z:[4]", "-o", "no.onnx")
    assert (done.status, "no input 'z'" in done.err) == (2, True)
    assert not (tmp_path / "no.onnx").exists()
