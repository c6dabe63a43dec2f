"""Where a session reads a model and its weights from: memory, its file, the file's mapped weights."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper
from onnxrt_models import FLOAT, double, infer, model, value
from packaging.version import Version

from polycmp.errors import BackendError
from polycmp.loader import BytesFromPath, Loader, SaveBytes, exact_path
from polycmp_onnxrt import OnnxrtRunner, SessionFromOnnx, session_from_onnx
from polycmp_onnxrt import source as source_module


@pytest.mark.parametrize("form", ["proto", "bytes", "path", "pathlib", "loader", "callable", "bytes loader"])
def test_every_form_of_a_model(form, tmp_path):
    path = tmp_path / "m.onnx"
    onnx.save(double(), path)
    given = {
        "proto": double(),
        "bytes": double().SerializeToString(),
        "path": str(path),
        "pathlib": path,
        "loader": BytesFromPath(path),
        "callable": double,
        "bytes loader": SaveBytes(double().SerializeToString(), tmp_path / "copy.onnx"),
    }[form]
    assert infer(given, x=np.ones(2, np.float32))["y"].tolist() == [2, 2]


def test_a_loader_that_saves_is_called_although_it_has_a_path(tmp_path):
    path = tmp_path / "saved.onnx"
    assert exact_path(SaveBytes(double().SerializeToString(), path)) is None
    session_from_onnx(SaveBytes(double().SerializeToString(), path))
    assert path.exists()


def test_a_loader_that_only_reads_is_not_called(tmp_path):
    path = tmp_path / "m.onnx"
    onnx.save(double(), path)

    class Reads(Loader):
        def __init__(self, path):
            self.path = path

        def exact_file(self):
            return str(self.path)

        def call_impl(self):
            raise AssertionError("called")

    session_from_onnx(Reads(path))


def test_a_loader_that_makes_a_model_of_another_file_is_called(tmp_path):
    """It has a path as loaders of files have, but what lies there is no ONNX model."""
    path = tmp_path / "model.chain"
    path.write_text("Neg Neg")

    class FromChain(Loader):
        def __init__(self, path):
            self.path = path

        def call_impl(self):
            assert Path(self.path).read_text() == "Neg Neg"
            return double()

    assert infer(FromChain(str(path)), x=np.ones(2, np.float32))["y"].tolist() == [2, 2]


def test_a_model_too_large_for_bytes_goes_through_a_file(monkeypatch, tmp_path):
    weights = helper.make_tensor("w", FLOAT, [4096], np.arange(4096, dtype=np.float32).tobytes(), raw=True)
    node = helper.make_node("Add", ["x", "w"], ["y"])
    made = model([node], [value("x", shape=(4096,))], [value("y", shape=(4096,))], initializer=[weights])
    before = made.SerializeToString()
    monkeypatch.setattr(source_module, "MAX_MODEL_BYTES", 1000)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert infer(made, x=np.ones(4096, np.float32))["y"][-1] == 4096
    assert made.SerializeToString() == before
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("place", ["in the file", "beside the file", "behind a link"])
@pytest.mark.parametrize("release", [onnxruntime.__version__, "1.20.1"])
def test_a_session_of_a_changed_model_reads_the_weights_from_where_they_lie(tmp_path, monkeypatch, place, release):
    """Releases before 1.21 cannot, and get the weights with the model."""
    from polycmp_onnx import ModifyOutputs, OnnxFromPath, save_onnx

    weight = np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Relu", ["h"], ["y"])]
    initializer = [onnx.numpy_helper.from_array(weight, "w")]
    path = tmp_path / "m.onnx"
    made = model(nodes, [value("x", shape=[2, 64])], [value("y", shape=[2, 64])], initializer=initializer)
    save_onnx(made, path, external_data_path="w.bin" if place == "beside the file" else None)
    if place == "behind a link":
        (tmp_path / "links").mkdir()
        path = tmp_path / "links" / "link.onnx"
        path.symlink_to(tmp_path / "m.onnx")
    given = []
    original = onnxruntime.InferenceSession

    def seen(content, *args, **settings):
        given.append(content)
        return original(content, *args, **settings)

    monkeypatch.setattr(onnxruntime, "InferenceSession", seen)
    monkeypatch.setattr(onnxruntime, "__version__", release)
    x = np.ones((2, 64), np.float32)
    assert np.allclose(infer(ModifyOutputs(OnnxFromPath(path), ["h"]), x=x)["h"], x @ weight, atol=1e-4)
    assert (len(given[0]) < 1000) == (release != "1.20.1")


@pytest.fixture
def heavy(tmp_path):
    """A file with a weight of 4 MB."""
    weight = onnx.numpy_helper.from_array(np.random.default_rng(0).random((1024, 1024), np.float32), "W")
    made = model([helper.make_node("MatMul", ["x", "W"], ["y"])], [value("x")], [value("y")], initializer=[weight])
    made.graph.input[0].type.tensor_type.shape.dim.add(dim_value=1024)
    made.graph.output[0].type.tensor_type.shape.dim.add(dim_value=1024)
    onnx.save(made, tmp_path / "heavy.onnx")
    return tmp_path / "heavy.onnx"


def given_to_sessions(monkeypatch):
    """Return a list that gets what each session is made of."""
    given = []
    make = onnxruntime.InferenceSession.__init__

    def noting(self, path_or_bytes, *args, **options):
        given.append(path_or_bytes)
        make(self, path_or_bytes, *args, **options)

    monkeypatch.setattr(onnxruntime.InferenceSession, "__init__", noting)
    return given


@pytest.mark.skipif(
    Version(onnxruntime.__version__) < Version("1.21"), reason="earlier releases map weights of files only"
)
def test_the_weights_of_a_file_are_mapped_and_give_the_same(heavy, monkeypatch):
    x = np.random.default_rng(1).random((2, 1024), np.float32)
    whole = infer(heavy.read_bytes(), x=x)["y"]
    given = given_to_sessions(monkeypatch)
    assert np.array_equal(infer(str(heavy), x=x)["y"], whole)
    assert [len(content) < 5000 for content in given] == [True]


def test_a_session_that_cannot_map_the_weights_reads_the_file(heavy, monkeypatch, tmp_path):
    given = given_to_sessions(monkeypatch)
    x = np.ones((1, 1024), np.float32)
    with OnnxrtRunner(SessionFromOnnx(str(heavy), save_optimized=tmp_path / "optimized.onnx")) as runner:
        runner.infer({"x": x})
    assert given == [str(heavy)]
    assert (tmp_path / "optimized.onnx").stat().st_size > 4 << 20


def test_an_error_in_a_file_with_mapped_weights_is_that_of_the_file(heavy, monkeypatch):
    made = onnx.load(heavy)
    made.graph.node[0].op_type = "Unheard"
    onnx.save(made, heavy)
    given = given_to_sessions(monkeypatch)
    with pytest.raises(BackendError, match="has no operator Unheard"):
        session_from_onnx(str(heavy))
    assert given[-1] == str(heavy)
