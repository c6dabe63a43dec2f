"""Loaders read, change and write models, never touch their input, and say what is wrong in one error."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from polycmp.errors import ModelError, UsageError
from polycmp.tensors import TensorMetadata
from polycmp.testing.loaders import LoaderContract
from polycmp_onnx import (
    BytesFromOnnx,
    ConvertToFp16,
    ExtractSubgraph,
    FoldConstants,
    InferShapes,
    ModifyOutputs,
    OnnxFromBytes,
    OnnxFromPath,
    SaveOnnx,
    SetUpperBound,
    bytes_from_onnx,
    convert_to_fp16,
    extract_subgraph,
    fold_constants,
    infer_shapes,
    modify_outputs,
    onnx_from_bytes,
    onnx_from_path,
    save_onnx,
    set_upper_bound,
)
from polycmp_onnx.graph import element_type, known_values, shape_of
from polycmp_onnx.load import OnnxLoader
from polycmp_onnx.model_graph import open_graph

ort = pytest.importorskip("onnxruntime")


def run(model, feed):
    options = ort.SessionOptions()
    options.log_severity_level = 3
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, feed), strict=True))


def outputs_of(model):
    return [value.name for value in model.graph.output]


def test_importing_the_package_imports_no_onnx():
    code = "import sys, polycmp_onnx, polycmp_onnx.plugin; assert not {'onnx', 'numpy'} & set(sys.modules), sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_from_path_and_from_bytes_agree(mlp, mlp_file):
    assert onnx_from_path(mlp_file) == mlp
    assert onnx_from_bytes(bytes_from_onnx(mlp)) == mlp
    assert OnnxFromBytes(BytesFromOnnx(mlp))() == mlp


@pytest.mark.parametrize("suffix", [".onnxtxt", ".textproto", ".onnxjson"])
def test_other_formats_of_onnx(mlp, tmp_path, suffix, feed):
    path = tmp_path / f"model{suffix}"
    save_onnx(mlp, path)
    np.testing.assert_allclose(run(onnx_from_path(path), feed)["y"], run(mlp, feed)["y"], rtol=1e-4)
    assert OnnxFromPath(path).path is None, "backends read protobuf files only"


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"", "empty"),
        (b"this is only a text file\n", "text file"),
        (b"PK\x03\x04 something zipped", "PyTorch"),
        (b'{"a": 1}', "JSON"),
        (b"<?xml version='1.0'?><net/>", "XML"),
        (bytes(range(1, 250)), "damaged"),
    ],
)
def test_what_is_no_model_is_one_error(tmp_path, content, word):
    path = tmp_path / "model.onnx"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=word) as caught:
        onnx_from_path(path)
    assert str(path) in caught.value.what
    assert caught.value.exit_code == 3


def test_a_truncated_model_is_an_error_wherever_it_ends(mlp, tmp_path):
    whole = mlp.SerializeToString()
    path = tmp_path / "model.onnx"
    for end in range(1, len(whole), 7):
        path.write_bytes(whole[:end])
        with pytest.raises(ModelError):
            onnx_from_path(path)


def test_a_missing_file_is_an_error_that_says_where_it_looked(tmp_path):
    with pytest.raises(ModelError, match="there is no file"):
        onnx_from_path(tmp_path / "none.onnx")


# --- weights outside


def test_external_data_round_trip(mlp, tmp_path, feed):
    path = tmp_path / "model.onnx"
    SaveOnnx(mlp, path, external_data_path="w.bin", size_threshold=16)()
    assert sorted(item.name for item in tmp_path.iterdir()) == ["model.onnx", "w.bin"]
    assert (tmp_path / "w.bin").stat().st_size >= 8 * 4 * 4
    loader = OnnxFromPath(path)
    assert loader.path == str(path)
    np.testing.assert_array_equal(run(loader(), feed)["y"], run(mlp, feed)["y"])
    structure = onnx_from_path(path, ignore_external_data=True)
    assert not structure.graph.initializer[0].raw_data


def test_external_data_elsewhere(mlp, tmp_path, feed):
    path = tmp_path / "model.onnx"
    save_onnx(mlp, path, external_data_path="w.bin", size_threshold=16)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "w.bin").rename(elsewhere / "w.bin")
    with pytest.raises(ModelError, match="outside the file") as caught:
        onnx_from_path(path)
    assert "--external-data-dir" in caught.value.hint
    loader = OnnxFromPath(path, external_data_dir=elsewhere)
    assert loader.path is None
    np.testing.assert_array_equal(run(loader(), feed)["y"], run(mlp, feed)["y"])


def test_saving_over_external_data_does_not_append(mlp, tmp_path):
    path = tmp_path / "model.onnx"
    sizes = set()
    for _ in range(2):
        save_onnx(mlp, path, external_data_path="", size_threshold=16)
        sizes.add((tmp_path / "model.onnx.data").stat().st_size)
    assert len(sizes) == 1


def test_one_file_per_tensor_and_threshold(tmp_path):
    weights = {"a": np.zeros(100, np.float32), "b": np.ones(100, np.float32), "c": np.ones(1, np.float32)}
    nodes = [helper.make_node("Sum", ["a", "b", "c"], ["y"])]
    graph = helper.make_graph(
        nodes,
        "g",
        [],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [100])],
        # typed data rather than raw: must go outside too
        [helper.make_tensor(name, TensorProto.FLOAT, array.shape, array) for name, array in weights.items()],
    )
    model = helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 17)])
    save_onnx(model, tmp_path / "m.onnx", external_data_path="", size_threshold=64, all_tensors_to_one_file=False)
    assert sorted(item.name for item in tmp_path.iterdir()) == ["a", "b", "m.onnx"]
    assert run(onnx_from_path(tmp_path / "m.onnx"), {})["y"].sum() == 200


def test_a_failed_save_leaves_nothing(mlp, tmp_path):
    (tmp_path / "file").write_text("in the way")
    for external in (None, ""):
        with pytest.raises(Exception, match="cannot write"):
            save_onnx(mlp, tmp_path / "file" / "m.onnx", external_data_path=external)
    assert os.listdir(tmp_path) == ["file"]


# --- graph tools


@pytest.mark.parametrize("allow", [True, False])
def test_shapes_are_inferred(mlp, allow):
    known = known_values(infer_shapes(mlp, allow_onnxruntime=allow).graph)
    assert shape_of(known["h"]) == ["n", 4]
    assert element_type(known["s"]) == np.int64


def test_shape_inference_that_fails(mlp):
    broken = onnx.ModelProto()
    broken.CopyFrom(mlp)
    broken.graph.initializer[0].dims[:] = [4, 8]  # x has 8 columns
    with pytest.raises(ModelError, match="shape inference failed"):
        infer_shapes(broken, error_ok=False)
    assert infer_shapes(broken).graph.node == broken.graph.node


def test_fp16_of_an_output_that_the_model_itself_reads(make_model):
    nodes = [helper.make_node("Abs", ["x"], ["y"]), helper.make_node("Softmax", ["y"], ["z"])]
    model = make_model(nodes, [("x", 1, [2, 3])], [("y", 1, [2, 3]), ("z", 1, [2, 3])])
    half = convert_to_fp16(model)
    onnx.checker.check_model(half, full_check=True)
    feed = {"x": np.array([[1, -2, 3], [0, 0.5, -1]], np.float32)}
    made, expected = run(half, feed), run(model, feed)
    assert list(made) == list(expected) == ["y", "z"]
    for name, array in made.items():
        assert array.dtype == np.float32
        np.testing.assert_allclose(array, expected[name], atol=1e-3)


def test_fp16_keeps_input_and_output_types(mlp, feed):
    half = convert_to_fp16(mlp)
    assert half.graph.initializer[0].data_type == TensorProto.FLOAT16
    result = run(half, feed)["y"]
    assert result.dtype == np.float32
    expected = run(mlp, feed)["y"]
    assert 0 < np.abs(result - expected).max() < 0.05 * np.abs(expected).max()


def test_fp16_keeps_weights_that_it_can_hold(make_model):
    large = np.array([20000.0, 1e30, 3e-7, -65504.0], np.float32)
    node = helper.make_node("Add", ["x", "w"], ["y"])
    model = make_model([node], [("x", 1, [4])], [("y", 1, [4])], {"w": large})
    kept = numpy_helper.to_array(convert_to_fp16(model).graph.initializer[0])
    np.testing.assert_array_equal(kept, np.array([20000, 65504, 3e-7, -65504], np.float16))


def test_extracting_a_part(mlp, feed):
    part = extract_subgraph(mlp, ["h"], ["m"])
    onnx.checker.check_model(part, full_check=True)
    inner = run(modify_outputs(mlp, ["h", "m"]), feed)
    np.testing.assert_allclose(run(part, {"h": inner["h"]})["m"], inner["m"], rtol=1e-5)
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
    made = run(part, {"x": np.arange(4, dtype=np.float32), "b": np.full(2, 7, np.float32)})
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
    result = run(part, {"a": np.array([1, 2], np.float32), "c": np.array(True)})
    np.testing.assert_array_equal(result["y"], [3, 6])


def test_folding_leaves_only_what_depends_on_inputs(mlp, feed):
    folded = fold_constants(mlp)
    assert [node.op_type for node in folded.graph.node if node.op_type != "Constant"] == [
        "MatMul",
        "Relu",
        "Mul",
        "Add",
    ]
    np.testing.assert_allclose(run(folded, feed)["y"], run(mlp, feed)["y"], rtol=1e-5)
    onnx.checker.check_model(folded, full_check=True)


def test_folding_spares_quantisation_randomness_and_large_results(make_model):
    weights = {
        "q": np.ones((4,), np.int8), "scale": np.array(0.5, np.float32), "big": np.array([1000], np.int64),
    }  # fmt: skip
    nodes = [
        helper.make_node("DequantizeLinear", ["q", "scale"], ["w"]),
        helper.make_node("RandomNormal", [], ["r"], shape=[4]),
        helper.make_node("ConstantOfShape", ["big"], ["zeros"]),
        helper.make_node("ReduceSum", ["zeros"], ["z"], keepdims=0),
        helper.make_node("Sum", ["x", "w", "r", "z"], ["y"]),
    ]
    model = make_model(nodes, [("x", 1, [4])], [("y", 1, [4])], weights)
    kinds = [node.op_type for node in fold_constants(model, size_threshold=100).graph.node]
    assert kinds == ["DequantizeLinear", "RandomNormal", "ConstantOfShape", "ReduceSum", "Sum"]
    kinds = [node.op_type for node in fold_constants(model).graph.node]
    assert kinds == ["DequantizeLinear", "RandomNormal", "Sum"]


def test_an_upper_bound_holds(make_model):
    nodes = [helper.make_node("Mul", ["n", "two"], ["m"]), helper.make_node("Range", ["zero", "m", "one"], ["y"])]
    weights = {name: np.array(value, np.int64) for name, value in {"two": 2, "zero": 0, "one": 1}.items()}
    model = make_model(nodes, [("n", TensorProto.INT64, [])], [("y", TensorProto.INT64, ["k"])], weights)
    for bounded in (set_upper_bound(model, {"m": 5}), set_upper_bound(model, 5)):
        assert len(run(bounded, {"n": np.array(100)})["y"]) == 5
        assert len(run(bounded, {"n": np.array(2)})["y"]) == 4
    with pytest.raises(UsageError, match="computes no tensor"):
        set_upper_bound(model, {"two": 1})


def test_an_upper_bound_holds_where_a_body_reads_the_tensor(make_model):
    value = helper.make_tensor_value_info("k", TensorProto.INT64, ["k"])
    grown = helper.make_graph([helper.make_node("Range", ["zero", "m", "one"], ["k"])], "grown", [], [value])
    short = helper.make_graph([helper.make_node("Range", ["zero", "one", "one"], ["k"])], "short", [], [value])
    nodes = [
        helper.make_node("Mul", ["n", "two"], ["m"]),
        helper.make_node("If", ["c"], ["y"], then_branch=grown, else_branch=short),
    ]
    weights = {name: np.array(value, np.int64) for name, value in {"two": 2, "zero": 0, "one": 1}.items()}
    inputs = [("n", TensorProto.INT64, []), ("c", TensorProto.BOOL, [])]
    bounded = set_upper_bound(make_model(nodes, inputs, [("y", TensorProto.INT64, ["k"])], weights), {"m": 5})
    assert len(run(bounded, {"n": np.array(100), "c": np.array(True)})["y"]) == 5


def test_models_beyond_the_limit_of_protobuf(mlp, tmp_path, feed, monkeypatch):
    monkeypatch.setattr("polycmp_onnx.graph.PROTOBUF_LIMIT", 1)
    save_onnx(mlp, tmp_path / "m.onnx", size_threshold=16)
    assert (tmp_path / "m.onnx.data").exists(), "weights go outside although nobody asked"
    shaped = infer_shapes(onnx_from_path(tmp_path / "m.onnx"), allow_onnxruntime=False)
    assert shape_of(known_values(shaped.graph)["h"]) == ["n", 4]
    np.testing.assert_allclose(run(shaped, feed)["y"], run(mlp, feed)["y"], rtol=1e-5)
    assert run(convert_to_fp16(mlp), feed)["y"].dtype == np.float32


# --- what all have in common


MAKERS = {
    "ModifyOutputs": lambda model: ModifyOutputs(model, ["h", "y"], exclude_outputs=["h"]),
    "InferShapes": InferShapes,
    "ConvertToFp16": ConvertToFp16,
    "ExtractSubgraph": lambda model: ExtractSubgraph(model, ["h"], ["m"]),
    "FoldConstants": FoldConstants,
    "SetUpperBound": lambda model: SetUpperBound(model, {"s": 3}),
}


@pytest.mark.parametrize("maker", [*MAKERS.values(), BytesFromOnnx], ids=[*MAKERS, "BytesFromOnnx"])
def test_no_loader_changes_its_input(mlp, maker):
    before = mlp.SerializeToString()
    maker(mlp)()
    maker(lambda: mlp)()
    assert mlp.SerializeToString() == before


def test_no_loader_changes_what_another_passed_on(mlp, tmp_path):
    before = mlp.SerializeToString()
    save_onnx(mlp, tmp_path / "e.onnx", external_data_path="", size_threshold=1)
    ModifyOutputs(SaveOnnx(mlp, tmp_path / "m.onnx"), ["h"])()
    ModifyOutputs(InferShapes(mlp), ["h"])()
    assert mlp.SerializeToString() == before


def test_only_an_unchanged_file_has_a_path(mlp_file):
    assert OnnxFromPath(mlp_file).path == mlp_file
    for maker in MAKERS.values():
        assert maker(OnnxFromPath(mlp_file)).path is None
    assert SaveOnnx(OnnxFromPath(mlp_file), "elsewhere.onnx").path is None


@pytest.mark.parametrize("name", ["OnnxFromPath", *MAKERS])
class TestContract(LoaderContract):
    capabilities = frozenset({"broken_source", "source"})

    @pytest.fixture(autouse=True)
    def _source(self, name, mlp_file, tmp_path):
        self.name, self.file, self.missing = name, mlp_file, str(tmp_path / "missing.onnx")

    def make(self, path) -> OnnxLoader:
        source = OnnxFromPath(path)
        return source if self.name == "OnnxFromPath" else MAKERS[self.name](source)

    def make_loader(self):
        return self.make(self.file)

    def make_broken(self):
        return self.make(self.missing)

    def imports(self):
        return "from polycmp_onnx import " + ", ".join({"OnnxFromPath", self.name})
