"""Sequences, maps and optionals: compared element by element and by key, fed or left empty."""

from __future__ import annotations

import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64, STRING = TensorProto.FLOAT, TensorProto.INT64, TensorProto.STRING
BOTH = ("-b", "onnxrt", "-b", "onnx")


def save(path, nodes, inputs, outputs, weights=()):
    """Write a model; inputs and outputs are value infos."""
    held = [numpy_helper.from_array(np.asarray(array, np.float32), name) for name, array in dict(weights).items()]
    graph = helper.make_graph(nodes, "g", inputs, outputs, held)
    imports = [helper.make_opsetid("", 18), helper.make_opsetid("ai.onnx.ml", 3)]
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=imports), path)


def tensor(name, shape, kind=FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def sequence(path, factors, length=None):
    """x [4] → a sequence of x times each of some factors."""
    nodes = [helper.make_node("Mul", ["x", f"f{place}"], [f"p{place}"]) for place in range(len(factors))]
    nodes.append(helper.make_node("SequenceConstruct", [f"p{place}" for place in range(len(factors))], ["parts"]))
    nodes.append(helper.make_node("Neg", ["x"], ["n"]))
    weights = {f"f{place}": factor for place, factor in enumerate(factors)}
    outputs = [helper.make_tensor_sequence_value_info("parts", FLOAT, [4]), tensor("n", [4])]
    save(path, nodes, [tensor("x", [4])], outputs, weights)


def classifier(path, labels, factor=1.0):
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["z"]),
        helper.make_node("Softmax", ["z"], ["p"]),
        helper.make_node("ArgMax", ["p"], ["label"], axis=1, keepdims=0),
        helper.make_node("ZipMap", ["p"], ["scores"], domain="ai.onnx.ml", **labels),
    ]
    key = STRING if "classlabels_strings" in labels else INT64
    kind = helper.make_sequence_type_proto(helper.make_map_type_proto(key, helper.make_tensor_type_proto(FLOAT, [])))
    weight = np.random.default_rng(1).standard_normal((4, 3)) * [1, factor, 1]
    outputs = [tensor("label", ["n"], INT64), helper.make_value_info("scores", kind)]
    save(path, nodes, [tensor("x", ["n", 4])], outputs, {"w": weight})


def states(report):
    (found,) = json.loads(report.read_text())["comparison_results"]
    return {name: item["passed"] for name, item in found["outputs"].items()}


def test_sequences_are_compared_element_by_element(polycmp, tmp_path):
    sequence(tmp_path / "good.onnx", [1, 2, 3])
    sequence(tmp_path / "bad.onnx", [1, 2.5, 3])
    assert polycmp("run", "good.onnx", *BOTH).status == 0
    done = polycmp("run", "bad.onnx", "good.onnx", "-b", "onnxrt", "--report", "r.json")
    assert done.status == 1
    assert states(tmp_path / "r.json") == {"parts.0": True, "parts.1": False, "parts.2": True, "n": True}


def test_sequences_of_another_length_differ(polycmp, tmp_path):
    sequence(tmp_path / "long.onnx", [1, 2, 3])
    sequence(tmp_path / "short.onnx", [1, 2])
    for words in (("long.onnx", "short.onnx"), ("short.onnx", "long.onnx")):
        done = polycmp("run", *words, "-b", "onnx")
        assert done.status == 1
        assert "parts.2" in done.out


def test_saved_elements_are_compared_with_those_of_a_run(polycmp, tmp_path):
    sequence(tmp_path / "m.onnx", [1, 2])
    assert polycmp("run", "m.onnx", "-b", "onnxrt", "--save-outputs", "out.npz").status == 0
    assert polycmp("run", "m.onnx", "-b", "onnx", "--load-outputs", "out.npz").status == 0


@pytest.mark.parametrize(
    ("labels", "keys"),
    [
        ({"classlabels_strings": ["cat", "dog", "eel"]}, ["cat", "dog", "eel"]),
        ({"classlabels_int64s": [3, 5, 7]}, [3, 5, 7]),
    ],
    ids=["texts", "numbers"],
)
def test_maps_are_compared_by_key(polycmp, tmp_path, labels, keys):
    classifier(tmp_path / "good.onnx", labels)
    classifier(tmp_path / "bad.onnx", labels, 1.5)
    done = polycmp("run", "good.onnx", *BOTH, "--input-shapes", "n=5", "--report", "r.json")
    assert done.status == 0, done.out
    assert states(tmp_path / "r.json") == {"label": True, **{f"scores.{key}": True for key in keys}}
    assert polycmp("run", "bad.onnx", "good.onnx", "-b", "onnxrt", "--report", "r.json").status == 1
    assert not any(states(tmp_path / "r.json")[f"scores.{key}"] for key in keys)
    assert polycmp("run", "good.onnx", *BOTH, "--tolerance", "auto", "--input-shapes", "n=5").status == 0


def test_nodes_that_no_chosen_output_needs_are_no_hindrance(polycmp, tmp_path):
    nodes = [helper.make_node("Neg", ["x"], ["y"]), helper.make_node("Nobody", ["x"], ["z"], domain="ai.onnx.ml")]
    save(tmp_path / "m.onnx", nodes, [tensor("x", [4])], [tensor("y", [4]), tensor("z", [4])])
    assert polycmp("run", "m.onnx", "-b", "onnx").status == 3
    assert polycmp("run", "m.onnx", *BOTH, "--onnx-outputs", "y").status == 0
    save(tmp_path / "m.onnx", nodes, [tensor("x", [4])], [tensor("y", [4])])
    assert polycmp("run", "m.onnx", "-b", "onnx").status == 0


def optional(path):
    """y = x + (o, where it is given, else 10 · x)."""
    given = helper.make_graph([helper.make_node("OptionalGetElement", ["o"], ["ot"])], "t", [], [tensor("ot", [2])])
    empty = helper.make_graph([helper.make_node("Mul", ["x", "ten"], ["oe"])], "e", [], [tensor("oe", [2])])
    nodes = [
        helper.make_node("OptionalHasElement", ["o"], ["has"]),
        helper.make_node("If", ["has"], ["w"], then_branch=given, else_branch=empty),
        helper.make_node("Add", ["x", "w"], ["y"]),
    ]
    kind = helper.make_optional_type_proto(helper.make_tensor_type_proto(FLOAT, [2]))
    save(path, nodes, [tensor("x", [2]), helper.make_value_info("o", kind)], [tensor("y", [2])], {"ten": 10})


@pytest.mark.parametrize(
    ("feed", "wanted"), [({"x": [1, 2], "o": [5, 7]}, [6, 9]), ({"x": [1, 2]}, [11, 22])], ids=["fed", "left empty"]
)
@pytest.mark.parametrize("how", [(), ("--use-subprocess",)], ids=["", "in a worker"])
def test_optional_inputs_are_fed_or_left_empty(polycmp, tmp_path, feed, wanted, how):
    optional(tmp_path / "m.onnx")
    np.savez(tmp_path / "in.npz", **{name: np.array(value, np.float32) for name, value in feed.items()})
    done = polycmp("run", "m.onnx", *BOTH, "--load-inputs", "in.npz", "--save-outputs", "out.npz", *how)
    assert done.status == 0, done.out + done.err
    saved = np.load(tmp_path / "out.npz")
    arrays = [saved[name] for name in saved.files if name != "polycmp.json"]
    assert [array.tolist() for array in arrays] == [wanted, wanted]


def test_optional_inputs_are_drawn_like_others(polycmp, tmp_path):
    optional(tmp_path / "m.onnx")
    assert polycmp("run", "m.onnx", *BOTH, "--save-inputs", "in.npz").status == 0
    assert len([name for name in np.load(tmp_path / "in.npz").files if name != "polycmp.json"]) == 2
    assert polycmp("locate", "m.onnx", *BOTH).status == 0


def test_an_optional_output_that_is_empty_is_no_output(polycmp, tmp_path):
    kind = helper.make_tensor_type_proto(FLOAT, [2])
    nodes = [helper.make_node("Relu", ["x"], ["y"]), helper.make_node("Optional", [], ["o"], type=kind)]
    outputs = [tensor("y", [2]), helper.make_value_info("o", helper.make_optional_type_proto(kind))]
    save(tmp_path / "m.onnx", nodes, [tensor("x", [2])], outputs)
    assert polycmp("run", "m.onnx", *BOTH).status == 0


@pytest.mark.parametrize("backend", ["onnxrt", "onnx"])
def test_an_input_that_is_a_sequence_is_refused_with_a_way_out(polycmp, tmp_path, backend):
    nodes = [helper.make_node("ConcatFromSequence", ["s"], ["y"], axis=0)]
    save(tmp_path / "m.onnx", nodes, [helper.make_tensor_sequence_value_info("s", FLOAT, [2])], [tensor("y", [None])])
    done = polycmp("run", "m.onnx", "-b", backend)
    assert done.status == 3
    assert "input 's'" in done.out
    assert "surgeon extract" in done.out
    lint = polycmp("check", "lint", "m.onnx")
    assert lint.status == 0
    assert "no inputs to run the model on" in lint.out
