"""Texts that a model tells apart: inputs are drawn from its tables, and are blind where it knows none of them."""

from __future__ import annotations

import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

pytest.importorskip("polycmp_onnxrt")
pytest.importorskip("onnxruntime")

FLOAT, INT64, STRING = TensorProto.FLOAT, TensorProto.INT64, TensorProto.STRING
BOTH = ("-b", "onnxrt", "-b", "onnx")
WORDS = ["cat", "dog", "eel"]


def ml(op, inputs, output, **attributes):
    return helper.make_node(op, inputs, [output], domain="ai.onnx.ml", **attributes)


def label(output, **values):
    return ml("LabelEncoder", ["s"], output, keys_strings=WORDS, **values)


NUMBERS = label("i", values_int64s=[5, 6, 7], default_int64=-2)
TEXTS = label("w", values_strings=["C", "D", "E"], default_string="?")
#: Nodes of a model of the texts `s`, and its outputs.
MODELS = {
    "LabelEncoder to numbers": ([NUMBERS], [("i", INT64, ["n"])]),
    "LabelEncoder to texts": ([TEXTS], [("w", STRING, ["n"])]),
    "OneHotEncoder": ([ml("OneHotEncoder", ["s"], "y", cats_strings=WORDS)], [("y", FLOAT, ["n", 3])]),
    "CategoryMapper": (
        [ml("CategoryMapper", ["s"], "i", cats_strings=WORDS, cats_int64s=[1, 2, 3], default_int64=-1)],
        [("i", INT64, ["n"])],
    ),
    "behind other operators": (
        [
            helper.make_node("Identity", ["s"], ["t"]),
            helper.make_node("Reshape", ["t", "shape"], ["u"]),
            ml("LabelEncoder", ["u"], "i", keys_strings=WORDS, values_int64s=[5, 6, 7], default_int64=-2),
        ],
        [("i", INT64, [1, "n"])],
    ),
}


def save(path, nodes, outputs, more=()):
    shape = numpy_helper.from_array(np.array([1, -1]), "shape")
    held = [shape] if any("shape" in node.input for node in nodes) else []
    inputs = [("s", STRING, ["n"]), *more]
    values = [[helper.make_tensor_value_info(*item) for item in part] for part in (inputs, outputs)]
    graph = helper.make_graph(nodes, "g", *values, held)
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=imports), path)


def runnable(name):
    """Return the backends that have the operator."""
    return ("-b", "onnxrt", "-b", "onnxrt:optimization=off") if name == "CategoryMapper" else BOTH


@pytest.mark.parametrize("name", MODELS)
def test_texts_are_drawn_from_the_tables_of_the_model(polycmp, tmp_path, name):
    save(tmp_path / "m.onnx", *MODELS[name])
    done = polycmp("run", "m.onnx", *runnable(name), "--input-shapes", "n=20", "--save-inputs", "in.json")
    assert done.status == 0, done.out
    assert "texts of the model's own tables, such as 'cat', 'dog', 'eel'" in " ".join(done.out.split())
    assert polycmp("inspect", "data", "in.json", "--show-values").status == 0
    drawn = {word for word in WORDS if f"'{word}'" in polycmp("inspect", "data", "in.json", "--show-values").out}
    assert drawn == set(WORDS)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("texts", [["x", "y", "z"], ["x"]], ids=["three", "one"])
def test_texts_that_no_table_knows_show_nothing(polycmp, tmp_path, name, texts):
    save(tmp_path / "m.onnx", *MODELS[name])
    np.savez(tmp_path / "unknown.npz", s=np.array(texts))
    done = polycmp("run", "m.onnx", *runnable(name), "--load-inputs", "unknown.npz", "--report", "r.json")
    assert done.status == 3, done.out
    assert json.loads((tmp_path / "r.json").read_text())["verdict"] == "blind"


@pytest.mark.parametrize("texts", [["cat", "x", "eel"], ["cat", "cat"], ["dog"]])
def test_texts_that_a_table_knows_show_something(polycmp, tmp_path, texts):
    save(tmp_path / "m.onnx", *MODELS["LabelEncoder to texts"])
    np.savez(tmp_path / "known.npz", s=np.array(texts))
    assert polycmp("run", "m.onnx", *BOTH, "--load-inputs", "known.npz").status == 0


def test_one_text_everywhere_is_told(polycmp, tmp_path):
    negative = helper.make_node("Neg", ["x"], ["y"])
    outputs = [("w", STRING, ["n"]), ("y", FLOAT, ["n"])]
    save(tmp_path / "m.onnx", [TEXTS, negative], outputs, [("x", FLOAT, ["n"])])
    np.savez(tmp_path / "in.npz", s=np.array(["x", "y", "z"]), x=np.arange(3, dtype=np.float32))
    done = polycmp("run", "m.onnx", *BOTH, "--load-inputs", "in.npz")
    assert done.status == 0
    assert "the reference holds '?' everywhere" in done.out


def test_numbers_beside_texts_are_those_that_were_drawn_before(polycmp, tmp_path):
    outputs = [("i", INT64, ["n"]), ("y", FLOAT, ["n"])]
    save(tmp_path / "m.onnx", [NUMBERS, helper.make_node("Neg", ["x"], ["y"])], outputs, [("x", FLOAT, ["n"])])
    words = ("--input-shapes", "n=4", "--save-inputs", "in.npz")
    assert polycmp("run", "m.onnx", "-b", "onnxrt", *words).status == 0
    saved = np.load(tmp_path / "in.npz")
    numbers = next(saved[name] for name in saved.files if name != "polycmp.json" and saved[name].dtype == np.float32)
    wanted = np.random.RandomState(1).random_sample(size=4).astype(np.float32)
    np.testing.assert_array_equal(numbers, wanted)
