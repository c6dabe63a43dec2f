"""Two files of one network whose outputs and inner tensors have other names, compared with `--map-output`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

WIDTH = 6
#: In the second file's names: `Sub` in place of `Add` keeps structure from leading to the output.
MAP = ("--map-output", "Identity:0=output_0")
REPORT = ("--report", "found.json")


def network(path: Path, names: dict[str, str], *, subtracts: bool = False, scale: float = 1.0) -> Path:
    """Write x -> MatMul -> Relu -> MatMul -> Add or Sub, whose tensors have the names given.

    Args:
        path: Where to.
        names: The names of `hidden`, `cut`, `product` and `y`.
        subtracts: Whether it subtracts the negated bias in place of adding it.
        scale: What the second weight is multiplied by.
    """
    rng = np.random.default_rng(3)
    first, second, bias = (rng.standard_normal(shape).astype(np.float32) for shape in [(WIDTH, WIDTH)] * 2 + [(WIDTH,)])
    weights = {
        f"{names['hidden']}/w": first,
        f"{names['product']}/w": second * np.float32(scale),
        f"{names['y']}/b": -bias if subtracts else bias,
    }
    hidden, product, bias_name = weights
    nodes = [
        helper.make_node("MatMul", ["x", hidden], [names["hidden"]]),
        helper.make_node("Relu", [names["hidden"]], [names["cut"]]),
        helper.make_node("MatMul", [names["cut"], product], [names["product"]]),
        helper.make_node("Sub" if subtracts else "Add", [names["product"], bias_name], [names["y"]]),
    ]
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, WIDTH])],
        [helper.make_tensor_value_info(names["y"], TensorProto.FLOAT, [4, WIDTH])],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10), path)
    return path


@pytest.fixture
def other(tmp_path):
    names = {"hidden": "call/hidden", "cut": "call/cut", "product": "call/product", "y": "output_0"}
    return network(tmp_path / "other.onnx", names)


def made(tmp_path: Path, **how) -> Path:
    names = {"hidden": "dense/MatMul:0", "cut": "dense/Relu:0", "product": "dense_1/MatMul:0", "y": "Identity:0"}
    return network(tmp_path / "made.onnx", names, **how)


def sides(new: Path, old: Path) -> tuple:
    return (new, "-b", "onnxrt:name=new", "-b", f"onnxrt:name=old,model={old}")


def found_in(tmp_path: Path) -> dict:
    return json.loads((tmp_path / "found.json").read_text())


@pytest.mark.parametrize("subtracts", [False, True])
def test_locate_compares_the_outputs_that_are_mapped(polycmp, other, tmp_path, subtracts):
    done = polycmp("locate", *sides(made(tmp_path, subtracts=subtracts), other), *MAP, *REPORT)
    assert done.status == 0, done.out + done.err
    rows = {row["tensor"]: row for row in found_in(tmp_path)["tensors"]}
    assert (rows["Identity:0"]["counterpart"], rows["Identity:0"]["matched_by"]) == ("output_0", "--map-output")
    assert rows["dense_1/MatMul:0"]["counterpart"] == "call/product"


@pytest.mark.parametrize("subtracts", [False, True])
def test_locate_names_the_operator_behind_an_output_that_is_mapped(polycmp, other, tmp_path, subtracts):
    done = polycmp("locate", *sides(made(tmp_path, subtracts=subtracts, scale=1.2), other), *MAP, *REPORT)
    assert done.status == 1, done.out + done.err
    assert found_in(tmp_path)["first_bad"] == "dense_1/MatMul:0"


def test_locate_says_which_name_no_model_has(polycmp, other, tmp_path):
    done = polycmp("locate", *sides(made(tmp_path), other), "--map-output", "Identity:0=output_1")
    assert done.status == 2, done.out
    assert "--map-output Identity:0=output_1: old has no output or inner tensor 'output_1'" in done.err
    assert "output_0" in done.err


@pytest.mark.parametrize("subtracts", [False, True])
def test_all_tensors_are_paired_beside_mapped_outputs(polycmp, other, tmp_path, subtracts):
    words = ("run", *sides(made(tmp_path, subtracts=subtracts), other), "--mark-all", *MAP, *REPORT)
    done = polycmp(*words)
    assert done.status == 0, done.out + done.err
    outputs = found_in(tmp_path)["comparison_results"][0]["outputs"]
    assert outputs["Identity:0"]["reference_output"] == "output_0"
    assert {"dense/MatMul:0", "dense/Relu:0", "dense_1/MatMul:0"} <= outputs.keys()


def test_a_wrong_operator_fails_beside_mapped_outputs(polycmp, other, tmp_path):
    words = ("run", *sides(made(tmp_path, subtracts=True, scale=1.2), other), "--mark-all", *MAP, *REPORT)
    assert polycmp(*words).status == 1
    outputs = found_in(tmp_path)["comparison_results"][0]["outputs"]
    assert {name for name, item in outputs.items() if not item["passed"]} == {"dense_1/MatMul:0", "Identity:0"}


@pytest.fixture
def with_maps(tmp_path):
    """Write a classifier whose probabilities are a sequence of maps, as skl2onnx does by default."""
    rng = np.random.default_rng(5)
    weight = rng.standard_normal((WIDTH, 3)).astype(np.float32)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["logits"]),
        helper.make_node("Softmax", ["logits"], ["probabilities"]),
        helper.make_node("ZipMap", ["probabilities"], ["maps"], domain="ai.onnx.ml", classlabels_int64s=[0, 1, 2]),
    ]
    outputs = [helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, [4, 3])]
    maps = onnx.ValueInfoProto(name="maps")
    kind = maps.type.sequence_type.elem_type.map_type
    kind.key_type = TensorProto.INT64
    kind.value_type.tensor_type.elem_type = TensorProto.FLOAT

    def write(name: str, scale: float, *, zipped: bool) -> Path:
        graph = helper.make_graph(
            nodes if zipped else nodes[:2],
            "classifier",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, WIDTH])],
            [maps] if zipped else outputs,
            [numpy_helper.from_array(weight * np.float32(scale), "w")],
        )
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), tmp_path / name)
        return tmp_path / name

    return write


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize(("scale", "status"), [(1.0, 0), (1.5, 1)])
def test_an_output_that_is_no_tensor_is_left_out_and_named(polycmp, with_maps, tmp_path, zipped, scale, status):
    new, old = with_maps("new.onnx", scale, zipped=True), with_maps("old.onnx", 1.0, zipped=zipped)
    done = polycmp("locate", *sides(new, old), *REPORT)
    assert done.status == status, done.out + done.err
    found = found_in(tmp_path)
    assert found["first_bad"] == ("logits" if status else None)
    note = "output 'maps' of new is no tensor and is left out; what it is made of: 'probabilities'"
    assert note in found["notes"]


@pytest.mark.parametrize("command", ["locate", "run"])
def test_an_output_that_is_no_tensor_can_be_mapped(polycmp, with_maps, command):
    new, old = with_maps("new.onnx", 1.0, zipped=True), with_maps("old.onnx", 1.0, zipped=False)
    more = ("--mark-all",) if command == "run" else ()
    done = polycmp(command, *sides(new, old), "--map-output", "maps=probabilities", *more)
    assert done.status == 0, done.out + done.err


def test_rounding_is_measured_of_outputs_that_are_mapped(polycmp, other, tmp_path):
    words = ("run", *sides(made(tmp_path, scale=1.2), other), "--tolerance", "auto", *MAP, *REPORT)
    assert polycmp(*words).status == 1
    reason = found_in(tmp_path)["comparison_results"][0]["outputs"]["Identity:0"]["reason"]
    assert "float32 measured with onnxrt" in reason


def test_outputs_that_nothing_leads_to_are_to_be_named(polycmp, other, tmp_path):
    done = polycmp("locate", *sides(made(tmp_path, subtracts=True), other))
    assert done.status == 3
    assert "have no output in common" in done.err
    assert f"say so: {' '.join(MAP)}" in done.err
