"""Loaders read, change and write models, never touch their input, and say what is wrong in one error."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx_results import run_in_ort

import polycmp_onnx
from polycmp.errors import ModelError
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
    ReferenceRunner,
    SaveOnnx,
    SetUpperBound,
    bytes_from_onnx,
    onnx_from_bytes,
    onnx_from_path,
    save_onnx,
)
from polycmp_onnx.load import OnnxLoader

pytest.importorskip("onnxruntime")


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
    np.testing.assert_allclose(run_in_ort(onnx_from_path(path), feed)["y"], run_in_ort(mlp, feed)["y"], rtol=1e-4)
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


@pytest.fixture(scope="module")
def model():
    nodes = [helper.make_node("Add", ["x", "one"], ["h"]), helper.make_node("Relu", ["h"], ["y"])]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 2]) for name in ("x", "y")]
    one = onnx.numpy_helper.from_array(np.ones(2, np.float32), "one")
    graph = helper.make_graph(nodes, "g", values[:1], values[1:], [one])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.fixture(params=["path", "text", "bytes", "model", "callable", "graph"])
def source(request, model, tmp_path):
    path = tmp_path / "m.onnx"
    onnx.save(model, path)
    forms = {
        "path": path,
        "text": str(path),
        "bytes": model.SerializeToString(),
        "model": model,
        "callable": lambda: model,
    }
    if request.param in forms:
        return forms[request.param]
    pytest.importorskip("onnx_graphsurgeon")
    return polycmp_onnx.gs_from_onnx(model)


@pytest.mark.parametrize(
    ("name", "keywords"),
    [
        ("infer_shapes", {"save_to_disk_threshold_bytes": 0}),
        ("modify_outputs", {"outputs": ["h"], "copy": True}),
        ("fold_constants", {"partitioning": "basic", "error_ok": True}),
        ("set_upper_bound", {"upper_bounds": 5, "copy": False}),
        ("extract_subgraph", {"output_metadata": ["h"]}),
    ],
)
def test_a_loader_takes_every_form_of_a_model(name, keywords, source):
    made = getattr(polycmp_onnx, name)(source, **keywords)
    onnx.checker.check_model(made)


def test_a_model_is_written_from_every_form(source, tmp_path):
    polycmp_onnx.save_onnx(source, tmp_path / "out.onnx")
    assert len(onnx.load(tmp_path / "out.onnx").graph.node) == 2
    assert onnx.load_model_from_string(polycmp_onnx.bytes_from_onnx(source)).graph.name


def test_the_reference_runs_every_form(source):
    with ReferenceRunner(source) as runner:
        assert runner.infer({"x": np.array([[1.0, -3.0]], np.float32)})["y"].tolist() == [[2.0, 0.0]]


def test_the_model_given_is_never_changed(model):
    before = model.SerializeToString()
    polycmp_onnx.modify_outputs(model, ["h"])
    polycmp_onnx.fold_constants(model)
    polycmp_onnx.convert_to_fp16(model, copy=False)
    assert model.SerializeToString() == before


def test_inputs_and_outputs_of_a_part_are_given_as_metadata(model):
    part = polycmp_onnx.extract_subgraph(
        model,
        input_metadata=TensorMetadata().add("h", "float32", (3, 2)),
        output_metadata=TensorMetadata().add("y", None, None),
    )
    assert [node.op_type for node in part.graph.node] == ["Relu"]
    assert [dim.dim_value for dim in part.graph.input[0].type.tensor_type.shape.dim] == [3, 2]


def test_weights_of_a_path_come_from_the_folder_that_is_named(model, tmp_path):
    (tmp_path / "weights").mkdir()
    polycmp_onnx.save_onnx(model, tmp_path / "m.onnx", external_data_path="m.data", size_threshold=0)
    (tmp_path / "m.data").rename(tmp_path / "weights" / "m.data")
    inferred = polycmp_onnx.infer_shapes(str(tmp_path / "m.onnx"), external_data_dir=str(tmp_path / "weights"))
    assert onnx.numpy_helper.to_array(inferred.graph.initializer[0]).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("wrong", [3, None, {"graph": 1}, lambda: 3])
def test_what_is_no_model_is_refused_with_what_is(wrong):
    for name in ("infer_shapes", "fold_constants", "bytes_from_onnx"):
        with pytest.raises(ModelError, match="this is not an ONNX model") as caught:
            getattr(polycmp_onnx, name)(wrong)
        assert "OnnxFromPath" in caught.value.hint
