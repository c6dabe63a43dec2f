"""Describing a model without `onnx`: what is read from the file's bytes is what `onnx` reads."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper
from packaging.version import Version

from polycmp.errors import ModelError
from polycmp_onnx.describe import describe
from polycmp_onnx.outline import read_outline
from polycmp_onnx.plugin import LoaderOptions

BACKEND = Path(onnx.__file__).parent / "backend" / "test" / "data"


def same(file):
    """Check that a file is described as the model in it is."""
    assert read_outline(file) is not None, file
    short, full = describe(file), describe(lambda: onnx.load(file, load_external_data=False))
    assert short == full, file
    entries = [*short.inputs.values(), *short.outputs.values()]
    for one, other in zip(entries, [*full.inputs.values(), *full.outputs.values()], strict=True):
        assert (one.dtype, one.shape, one.range, one.role) == (other.dtype, other.shape, other.range, other.role), file
    assert list(short.inputs) == list(full.inputs)


def test_all_models_of_the_installed_onnx_are_described_alike():
    files = sorted(BACKEND.rglob("model.onnx"))
    assert len(files) > 100
    for file in files:
        same(file)


def test_names_ranges_and_open_dimensions_are_read(tmp_path):
    value = helper.make_tensor_value_info
    table = helper.make_tensor("table", TensorProto.FLOAT, [30, 4], [0.0] * 120)
    scale = helper.make_tensor("scale", TensorProto.FLOAT, [1], [2.0])
    graph = helper.make_graph(
        [
            helper.make_node("Cast", ["ids"], ["cast"], to=TensorProto.INT32),
            helper.make_node("Gather", ["table", "cast"], ["rows"], axis=-2),
            helper.make_node("Mul", ["rows", "scale"], ["ä"]),
        ],
        "g",
        [value("ids", TensorProto.INT64, ["batch", None, 3]), value("scale", TensorProto.FLOAT, [1])],
        [value("ä", TensorProto.FLOAT, None), value("rows", TensorProto.FLOAT, ["batch", 2, 3, 4])],
        [table, scale],
    )
    onnx.save(helper.make_model(graph), tmp_path / "m.onnx")
    same(tmp_path / "m.onnx")
    described = describe(tmp_path / "m.onnx")
    assert list(described.inputs) == ["ids"]
    assert described.inputs["ids"].range == (0.0, 29.0)


@pytest.mark.parametrize("kept", [0, 1, 20, 60, -1])
def test_a_file_that_was_cut_short_is_refused_as_before(mlp_file, kept):
    content = Path(mlp_file).read_bytes()
    Path(mlp_file).write_bytes(content[:kept])
    with pytest.raises(ModelError):
        describe(mlp_file)


def test_outputs_whose_types_must_be_inferred_are_described_by_onnx(mlp_file):
    assert describe(mlp_file, LoaderOptions(mark_all=True)) == describe(
        lambda: onnx.load(mlp_file), LoaderOptions(mark_all=True)
    )


def test_comparing_two_sessions_of_a_plain_model_imports_no_onnx(mlp, tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    if Version(runtime.__version__) < Version("1.24"):
        pytest.skip("earlier releases read weights from anywhere, so that polycmp looks with onnx where they lie")
    mlp.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 3  # open sizes follow from the operators
    onnx.save(mlp, tmp_path / "m.onnx")
    code = """
import sys
from polycmp.cli.main import main
status = main(["run", sys.argv[1], "-b", "onnxrt", "-b", "onnxrt"])
print("imported:", sorted({"onnx", "google.protobuf"} & set(sys.modules)), file=sys.stderr)
sys.exit(status)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "m.onnx"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "imported: []" in done.stderr
