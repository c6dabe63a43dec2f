"""Large weights stay in the files they lie in: parts of a model refer to them, and nothing else may be reached so."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest
from copied_processes import run_as_process
from in_process import plugins_installed
from onnx import TensorProto, helper, numpy_helper
from small_models import graph_model
from two_products import EXPECTED, FEED, FIRST, SECOND, path, second_half, two_products, write

from polycmp.cli.main import run as run_command
from polycmp.errors import ModelError
from polycmp.model import Model
from polycmp.plugins import Registry
from polycmp_onnx import ModifyOutputs, OnnxFromPath, ReferenceRunner, graph
from polycmp_onnx.model_graph import open_graph

__all__ = ["path"]

FLOAT = TensorProto.FLOAT
#: A process may have 1,024 files open at once on many systems, and a model has any number of weights.
FILES, WEIGHTS = 64, 200
DESCRIPTORS = Path("/proc/self/fd")
EVERY = ["--mark-all", "--input-shapes", "x:[300,64]"]
ONE, TWO = ["-b", "onnxrt"], ["-b", "onnxrt", "-b", "onnx"]


@pytest.mark.skipif(sys.platform != "linux", reason="only there a process tells what is mapped into it")
def test_a_weight_is_mapped_only_while_it_is_held(tmp_path):
    """Pages that were read count as memory of the process: comparing two files of 1 GB took 2 GB."""
    graph = open_graph(OnnxFromPath(write(tmp_path, outside=True)))
    assert graph is not None
    for node in graph.nodes:
        constants = graph.constants(node)
        held = any(item.values.any() for item in constants.values())
        assert ("w.bin" in Path("/proc/self/maps").read_text()) == held
        del constants
        assert "w.bin" not in Path("/proc/self/maps").read_text()


def test_a_weight_of_more_than_2_GB_is_too_large():
    huge = TensorProto(name="w", data_type=FLOAT, dims=[1 << 15, 1 << 14])  # asking for its bytes would serialize it
    assert graph.is_too_large(helper.make_model(helper.make_graph([], "g", [], [], [huge])))


def test_other_outputs_leave_the_weights_where_they_are(path):
    loader = ModifyOutputs(OnnxFromPath(path), "*")
    assert len(loader.external().model.SerializeToString()) < 1000
    assert [value.name for value in loader.external().model.graph.output] == ["h", "r", "y"]
    assert loader.external().loaded() == loader()


@pytest.mark.parametrize("dtype", ["", "float64"])
def test_the_reference_evaluator_maps_them(path, dtype):
    with ReferenceRunner(ModifyOutputs(OnnxFromPath(path), ["y"]), dtype) as runner:
        assert list(runner.get_input_metadata()) == ["x"]
        assert np.allclose(runner.infer(FEED)["y"], EXPECTED, atol=1e-4)
    with ReferenceRunner(second_half(path)) as runner:
        made = runner.infer({"r": np.maximum(FEED["x"] @ FIRST, 0)})
        assert np.allclose(made["y"], EXPECTED, atol=1e-4)


def relocated(path: Path, location: str) -> None:
    model = onnx.load(path, load_external_data=False)
    for tensor in model.graph.initializer:
        next(entry for entry in tensor.external_data if entry.key == "location").value = location
    onnx.save(model, path)


def test_a_place_before_the_file_is_no_place_counted_from_its_end(tmp_path):
    path = write(tmp_path, outside=True)
    model = onnx.load(path, load_external_data=False)
    for tensor in model.graph.initializer:
        kept = [(entry.key, entry.value) for entry in tensor.external_data if entry.key != "offset"]
        del tensor.external_data[:]
        for key, value in (*kept, ("offset", "-32768")):
            tensor.external_data.add(key=key, value=value)
    onnx.save(model, path)
    with pytest.raises(ModelError, match="cannot load the weights"), ReferenceRunner(OnnxFromPath(path)):
        pass


@pytest.mark.parametrize("way", ["up", "absolute", "link"])
def test_weights_outside_the_folder_are_refused(tmp_path, way):
    secret = tmp_path / "secret.bin"
    secret.write_bytes(bytes(1 << 16))
    inner = tmp_path / "model"
    inner.mkdir()
    path = write(inner, outside=True)
    (inner / "w.bin").unlink()
    if way == "link":
        (inner / "w.bin").symlink_to(secret)
    else:
        relocated(path, "../secret.bin" if way == "up" else str(secret))
    loader = OnnxFromPath(path)
    for use in (loader, loader.external, lambda: open_graph(loader), ModifyOutputs(loader, "*").external):
        with pytest.raises(ModelError, match="cannot load the weights outside the file"):
            use()


def test_weights_that_are_cut_short_or_gone_are_told(tmp_path):
    path = write(tmp_path, outside=True)
    (tmp_path / "w.bin").write_bytes((tmp_path / "w.bin").read_bytes()[:-1])
    with pytest.raises(ModelError, match=r"w\.bin ends before the weight 'b'"):
        open_graph(OnnxFromPath(path))
    (tmp_path / "w.bin").unlink()
    with pytest.raises(ModelError, match="cannot load the weights") as caught:
        open_graph(OnnxFromPath(path))
    assert "--external-data-dir" in caught.value.hint


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float8_e4m3fn", "int4", "uint8", "bool", "complex64"])
def test_every_type_of_weight_comes_back(tmp_path, dtype):
    kind = np.dtype(getattr(ml_dtypes, dtype)) if hasattr(ml_dtypes, dtype) else np.dtype(dtype)
    array = (np.arange(20_000).reshape(100, 200) % 7).astype(kind)
    model = helper.make_model(
        helper.make_graph(
            [helper.make_node("Identity", ["w"], ["y"])],
            "one weight",
            [],
            [helper.make_tensor_value_info("y", helper.np_dtype_to_tensor_dtype(kind), None)],
            [numpy_helper.from_array(array, "w")],
        )
    )
    onnx.save(model, tmp_path / "m.onnx")
    external = OnnxFromPath(tmp_path / "m.onnx").external()
    assert external.arrays()["w"].tobytes() == array.tobytes()
    assert external.loaded() == model


def test_weights_in_inner_graphs_are_read_with_the_graph(tmp_path):
    inner = helper.make_graph(
        [helper.make_node("Add", ["x", "w"], ["z"])],
        "inner",
        [],
        [helper.make_tensor_value_info("z", FLOAT, None)],
        [numpy_helper.from_array(FIRST[:2], "w")],
    )
    node = helper.make_node("If", ["c"], ["y"], then_branch=inner, else_branch=inner)
    values = [helper.make_tensor_value_info("x", FLOAT, [2, 64]), helper.make_tensor_value_info("y", FLOAT, [2, 64])]
    flag = helper.make_tensor_value_info("c", TensorProto.BOOL, [])
    large = numpy_helper.from_array(SECOND, "unused")
    outer = helper.make_graph([node], "outer", [flag, values[0]], values[1:], [large])
    model = helper.make_model(outer, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, tmp_path / "m.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
    loader = ModifyOutputs(OnnxFromPath(tmp_path / "m.onnx"), ["y"])
    with ReferenceRunner(loader) as runner:
        made = runner.infer({"c": np.array(True), "x": FEED["x"]})
    assert np.allclose(made["y"], FEED["x"] + FIRST[:2])


def test_what_lies_in_no_file_is_not_referred_to(tmp_path):
    small = helper.make_model(
        helper.make_graph(
            [helper.make_node("Relu", ["x"], ["y"])],
            "small",
            [helper.make_tensor_value_info("x", FLOAT, [2])],
            [helper.make_tensor_value_info("y", FLOAT, [2])],
        )
    )
    onnx.save(small, tmp_path / "m.onnx")
    assert OnnxFromPath(tmp_path / "m.onnx").external() is None
    assert open_graph(OnnxFromPath(tmp_path / "m.onnx")).mark(["y"]).external() is None
    assert ModifyOutputs(two_products(), "*").external() is None


def test_the_model_of_a_run_is_read_once(path):
    model = Model(str(path), Registry.discover())
    assert list(model.describe().inputs) == ["x"]
    known = model.load("onnx").external().model
    assert len(ModifyOutputs(model.load("onnx"), "*").external().model.graph.output) == 3
    path.write_bytes(b"damaged since then")
    assert model.load("onnx").external().model == known
    assert [node.op_type for node in model.graph().nodes] == ["MatMul", "Relu", "MatMul"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A folder with a model of many weights, in its file and beside it, and all of its tensors as saved twice."""
    pytest.importorskip("polycmp_onnxrt")
    folder = tmp_path_factory.mktemp("many").resolve()  # the system lists open files by such names
    rng = np.random.default_rng(0)
    # Permutations, so that every processor computes the same numbers: nothing is rounded.
    weights = [(f"w{i}", np.eye(64, dtype=np.float32)[rng.permutation(64)]) for i in range(WEIGHTS)]
    names = ["x", *(f"y{i}" for i in range(WEIGHTS))]
    nodes = [onnx.helper.make_node("MatMul", [names[i], f"w{i}"], [names[i + 1]]) for i in range(WEIGHTS)]
    values = [(name, onnx.TensorProto.FLOAT, ["n", 64]) for name in (names[0], names[-1])]
    model = graph_model(nodes, values[:1], values[1:], weights)
    onnx.save(model, folder / "inside.onnx")
    onnx.save(model, folder / "beside.onnx", save_as_external_data=True, location="weights.bin", size_threshold=0)
    for name in ("saved.npz", "saved.safetensors"):
        done = few_files(folder, "run", "inside.onnx", *ONE, *EVERY, "--save-inputs", "in.npz", "--save-outputs", name)
        assert done.returncode == 0, done.stderr
    return folder


def few_files(folder: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command in a copy of this process, which may have few files open at once."""

    def main() -> int:
        import resource

        resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))
        return run_command([*words], plugins_installed())

    return run_as_process(main, folder, os.environ)


@pytest.mark.skipif(os.name == "nt", reason="the limit is one of Unix")
@pytest.mark.parametrize(
    "words",
    [
        ["run", "inside.onnx", *TWO, *EVERY],
        ["locate", "beside.onnx", *TWO],
        ["run", "--load-outputs", "saved.npz", "saved.safetensors"],
        ["data", "concat", "saved.npz", "saved.safetensors", "-o", "both.npz"],
        *(
            pytest.param(words, marks=pytest.mark.corpus)
            for words in (
                ["run", "inside.onnx", *TWO],
                ["run", "beside.onnx", *TWO],
                ["locate", "inside.onnx", *TWO],
                ["inspect", "model", "beside.onnx", "--show", "weights"],
                ["run", "inside.onnx", *ONE, *EVERY, "--load-inputs", "in.npz", "--load-outputs", "saved.npz"],
                ["locate", "inside.onnx", *ONE, "--load-inputs", "in.npz", "--load-outputs", "saved.safetensors"],
                ["inspect", "data", "saved.safetensors", "--all", "--show-values"],
            )
        ),
    ],
    ids=" ".join,
)
def test_weights_and_saved_tensors_take_no_open_file_each(folder, words):
    done = few_files(folder, *words)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not DESCRIPTORS.exists(), reason="open files are listed by Linux only")
def test_a_process_of_several_commands_does_not_keep_their_files_open(folder, polycmp, monkeypatch):
    monkeypatch.chdir(folder)
    for _ in range(2):
        assert polycmp("run", "beside.onnx", *TWO).status == 0
    gc.collect()
    opened = [os.readlink(entry) for entry in DESCRIPTORS.iterdir() if entry.is_symlink()]
    assert [name for name in opened if name.startswith(str(folder))] == []
