"""`polycmp plugin list`, `match` and `replace`; tests/test_polygraphy_table.py holds them beside Polygraphy's."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from commandline import polycmp, toybox
from onnx import TensorProto, helper

pytest.importorskip("onnx_graphsurgeon")

__all__ = ["polycmp", "toybox"]

PATTERN = """
def get_plugin_metadata():
    return {"name": "pair", "op": "Pair_TRT"}


def get_matching_subgraphs(graph):
    return [{"inputs": [node.inputs[0].name], "outputs": [node.o().outputs[0].name], "attributes": {"size": 3}}
            for node in graph.nodes if node.op == "Neg" and node.o().op == "Abs"]
"""
OWN = """

def replace_with_plugin(graph, input_tensors, output_tensors, attrs, op):
    output_tensors[0].inputs.clear()
    graph.layer(op="My" + op, inputs=input_tensors, outputs=output_tensors, name="mine")
    graph.cleanup().toposort()
    return True
"""


@pytest.fixture
def model(tmp_path, monkeypatch):
    """Two pairs of Neg and Abs, and an Exp whose input the first pair makes."""
    monkeypatch.chdir(tmp_path)
    nodes = [
        helper.make_node("Neg", ["x"], ["a"]),
        helper.make_node("Abs", ["a"], ["b"]),
        helper.make_node("Exp", ["b"], ["e"]),
        helper.make_node("Neg", ["e"], ["f"]),
        helper.make_node("Abs", ["f"], ["y"]),
    ]
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "xy"]
    graph = helper.make_graph(nodes, "g", value[:1], value[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "m.onnx")
    write(PATTERN)


def write(text, name="pair"):
    Path("plugins", name).mkdir(parents=True, exist_ok=True)
    Path("plugins", name, "pattern.py").write_text(text)


def operators(path):
    return [node.op_type for node in onnx.load(path).graph.node]


def test_parts_are_counted(polycmp, model):
    write(PATTERN.replace('"Neg"', '"Sin"'), "other")
    words = ("plugin", "list", "m.onnx", "--plugin-dir", "plugins")
    assert polycmp(*words).out == "other: 0\npair: 2\n"
    assert polycmp(*words, "--exclude", "other").out == "pair: 2\n"
    assert polycmp(*words, "--include", "other").out == "other: 0\n"


def test_what_fits_is_written_down_and_replaced(polycmp, model):
    yaml = pytest.importorskip("yaml")
    assert polycmp("plugin", "match", "m.onnx", "--plugin-dir", "plugins").status == 0
    (found,) = yaml.safe_load_all(Path("config.yaml").read_text())
    assert (found["name"], found["op"], len(found["instances"])) == ("pair", "Pair_TRT", 2)
    done = polycmp("plugin", "replace", "m.onnx", "--plugin-dir", "plugins")
    assert (done.status, done.out) == (0, "pair: replaced 2 of 2\nwrote replaced.onnx\n")
    assert operators("replaced.onnx") == ["Pair_TRT", "Exp", "Pair_TRT"]
    assert operators("m.onnx") == ["Neg", "Abs", "Exp", "Neg", "Abs"]


def test_a_plugin_may_bring_its_own_function(polycmp, model):
    pytest.importorskip("yaml")
    write(PATTERN + OWN)
    polycmp("plugin", "match", "m.onnx", "--plugin-dir", "plugins", "-o", "c.yaml")
    polycmp("plugin", "replace", "m.onnx", "--plugin-dir", "plugins", "--config", "c.yaml", "-o", "out.onnx")
    assert operators("out.onnx") == ["MyPair_TRT", "Exp", "MyPair_TRT"]


@pytest.mark.parametrize(
    ("words", "status", "text"),
    [
        ((), 2, "--plugin-dir DIR"),
        (("--plugin-dir", "empty"), 2, "empty holds no plugin"),
        (("--plugin-dir", "plugins", "--include", "piar"), 2, "did you mean 'pair'"),
        (("--plugin-dir", "plugins", "--include", "pair", "--exclude", "pair"), 2, "exclude each other"),
    ],
)
def test_wrong_usage(polycmp, model, words, status, text):
    done = polycmp("plugin", "list", "m.onnx", *words)
    assert (done.status, text in done.err) == (status, True), done.err


def test_a_pattern_that_fails(polycmp, model):
    write(PATTERN.replace("return [{", "return 1 / 0, [{"))
    done = polycmp("plugin", "list", "m.onnx", "--plugin-dir", "plugins")
    assert (done.status, "get_matching_subgraphs failed" in done.err) == (3, True), done.err


def test_a_config_that_fits_another_model(polycmp, model):
    pytest.importorskip("yaml")
    Path("c.yaml").write_text("name: pair\nop: P\ninstances:\n- {inputs: [gone], outputs: [y]}\n")
    done = polycmp("plugin", "replace", "m.onnx", "--plugin-dir", "plugins", "--config", "c.yaml")
    assert (done.status, "the model has no tensor 'gone'" in done.err) == (3, True), done.err
    Path("c.yaml").write_text("- 1\n")
    done = polycmp("plugin", "replace", "m.onnx", "--plugin-dir", "plugins", "--config", "c.yaml")
    assert (done.status, "does not say what to replace" in done.err) == (3, True), done.err
