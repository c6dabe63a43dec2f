"""A part of a model as a model of its own."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx_results import FLOAT, old_model, outputs_of, ran, run_in_ort
from small_models import graph_model
from surgeon_models import checked

from polycmp.errors import ModelError, UsageError
from polycmp.tensors import TensorMetadata
from polycmp_onnx import (
    extract_subgraph,
    modify_outputs,
)
from polycmp_onnx.graph import shape_of
from polycmp_onnx.model_graph import open_graph


def test_extracting_a_part(mlp, feed):
    part = extract_subgraph(mlp, ["h"], ["m"])
    onnx.checker.check_model(part, full_check=True)
    inner = run_in_ort(modify_outputs(mlp, ["h", "m"]), feed)
    np.testing.assert_allclose(run_in_ort(part, {"h": inner["h"]})["m"], inner["m"], rtol=1e-5)
    assert [node.op_type for node in part.graph.node] == ["Relu", "Shape", "Cast", "ReduceProd", "Mul"]


def test_extracting_with_given_types_and_defaults(mlp):
    part = extract_subgraph(mlp, TensorMetadata().add("r", "float32", [2, 4]), ["m"])
    assert shape_of(part.graph.input[0]) == [2, 4]
    assert outputs_of(extract_subgraph(mlp)) == ["y"]
    with pytest.raises(UsageError, match="no tensor"):
        extract_subgraph(mlp, ["nope"])
    with pytest.raises(ModelError, match="also needs the input 'x'"):
        extract_subgraph(mlp, ["s"], ["y"])


@pytest.mark.parametrize("cut", ["extract", "part"])
def test_a_tensor_that_is_fed_is_not_made_beside_another_output_of_its_operator(make_model, cut):
    nodes = [
        helper.make_node("Split", ["x"], ["a", "b"], axis=0),
        helper.make_node("Neg", ["b"], ["y"]),
    ]
    model = make_model(nodes, [("x", 1, [4])], [("a", 1, [2]), ("y", 1, [2])])
    fed = TensorMetadata().add("x", "float32", [4]).add("b", "float32", [2])
    part = (
        extract_subgraph(model, fed, ["a", "y"])
        if cut == "extract"
        else open_graph(lambda: model).cut(fed, ["a", "y"])()
    )
    onnx.checker.check_model(part, full_check=True)
    made = run_in_ort(part, {"x": np.arange(4, dtype=np.float32), "b": np.full(2, 7, np.float32)})
    np.testing.assert_array_equal(made["a"], [0, 1])
    np.testing.assert_array_equal(made["y"], [-7, -7])


def test_extracting_keeps_what_a_subgraph_reads(make_model):
    branch = helper.make_graph(
        [helper.make_node("Mul", ["a", "k"], ["out"])], "b", [], [helper.make_tensor_value_info("out", 1, None)]
    )
    nodes = [
        helper.make_node("Neg", ["x"], ["a"]),
        helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch),
    ]
    model = make_model(
        nodes, [("x", 1, [2]), ("c", TensorProto.BOOL, [])], [("y", 1, [2])], {"k": np.array([3.0], np.float32)}
    )
    part = extract_subgraph(model, ["a", "c"], ["y"])
    result = run_in_ort(part, {"a": np.array([1, 2], np.float32), "c": np.array(True)})
    np.testing.assert_array_equal(result["y"], [3, 6])


@pytest.mark.parametrize("version", [3, 8])
def test_extract_keeps_weights_that_are_inputs_too(polycmp, version):
    model = old_model()
    model.ir_version = version
    onnx.save(model, "old.onnx")
    done = polycmp("surgeon", "extract", "old.onnx", "--outputs", "h:float32", "-o", "part.onnx")
    assert done.status == 0, done.err
    part, x = onnx.load("part.onnx"), np.ones((1, 2), np.float32)
    assert [item.name for item in part.graph.initializer] == ["w"]
    onnx.checker.check_model(part)
    np.testing.assert_array_equal(ran(part, {"x": x})[0], [[4, 2]])


def test_extract_leaves_the_open_dimensions_of_other_inputs(polycmp):
    unknown = helper.make_node("Mystery", ["x1"], ["m"], domain="my")
    body = [helper.make_node("Relu", ["a"], ["b"])]
    function = helper.make_function("my", "Mystery", ["a"], ["b"], body, [helper.make_opsetid("", 17)])
    nodes = [unknown, helper.make_node("Add", ["m", "x2"], ["y"])]
    model = graph_model(nodes, [("x1", FLOAT, ["n", 4]), ("x2", FLOAT, ["n", 4])], [("y", FLOAT, ["n", 4])])
    model.functions.append(function)
    model.opset_import.append(helper.make_opsetid("my", 1))
    del model.graph.output[0].type.tensor_type.shape.dim[:]
    model.graph.output[0].type.tensor_type.ClearField("shape")
    onnx.save(model, "model.onnx")
    words = ("--inputs", "m:auto:auto", "x2:auto:auto", "--outputs", "y:auto", "-o", "part.onnx")
    done = polycmp("surgeon", "extract", "model.onnx", *words)
    assert done.status == 0, done.err
    m, x2 = (item.type.tensor_type.shape.dim for item in onnx.load("part.onnx").graph.input)
    assert [dim.dim_param for dim in x2] == ["n", ""]
    assert [dim.dim_value for dim in m] == [0, 4]  # one run does not tell what the next one has


def test_a_part_is_fed_with_what_the_whole_model_makes(polycmp):
    nodes = [helper.make_node("Neg", ["x"], ["a"]), helper.make_node("Sqrt", ["a"], ["b"])]
    nodes.append(helper.make_node("Relu", ["b"], ["y"]))
    onnx.save(graph_model(nodes, [("x", FLOAT, ["n", 2])], [("y", FLOAT, ["n", 2])]), "model.onnx")
    done = polycmp("surgeon", "extract", "model.onnx", "--inputs", "a:auto:auto", "-o", "part.onnx")
    assert done.status == 0 and "it computes what model.onnx does" in done.out, done.err


def test_extract_cuts_a_part_out(polycmp, chain, tmp_path):
    words = ("--inputs", "m:auto:auto", "--outputs", "r:auto")
    assert polycmp("surgeon", "extract", "model.onnx", *words, "-o", "out.onnx").status == 0
    made = checked(tmp_path / "out.onnx")
    assert [node.name for node in made.graph.node] == ["relu"]
    assert not made.graph.initializer
    assert made.metadata_props == chain.metadata_props


def test_extract_up_to_an_output_and_without_inputs(polycmp, chain, tmp_path):
    assert polycmp("surgeon", "extract", "model.onnx", "--outputs", "m", "-o", "out.onnx").status == 0
    assert {node.name for node in checked(tmp_path / "out.onnx").graph.node} == {"double", "matmul"}
    done = polycmp("surgeon", "extract", "model.onnx", "--outputs", "w2:auto", "--inputs", "-o", "out.onnx")
    assert done.status == 0, done.err
    assert not checked(tmp_path / "out.onnx").graph.input


@pytest.mark.parametrize(
    ("words", "status", "text"),
    [
        (("--outputs", "nobody_makes_it"), 2, "no tensor 'nobody_makes_it'"),
        (("--inputs", "r:auto:auto", "--outputs", "y:auto"), 3, "also needs the input 'x'"),
        (("--inputs", "m:wide:float32"), 2, "no tensor 'm:wide'"),
    ],
)
def test_extract_says_what_is_wrong(polycmp, chain, tmp_path, words, status, text):
    done = polycmp("surgeon", "extract", "model.onnx", *words, "-o", "out.onnx")
    assert (done.status, text in done.err) == (status, True), done.err
    assert not (tmp_path / "out.onnx").exists()
