"""The backend `onnxrt` as users meet it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper
from onnxrt_models import FLOAT, FakeModel, double, model, value
from packaging.version import Version

from polycmp.cli.main import main
from polycmp.errors import BackendError, DataError, ModelError, PluginError
from polycmp.loader import BytesFromPath, Loader, SaveBytes, exact_path
from polycmp.tensors import as_dtype
from polycmp_onnx.packing import pack, unpack
from polycmp_onnxrt import OnnxrtRunner, SessionFromOnnx, session_from_onnx
from polycmp_onnxrt import source as source_module
from polycmp_onnxrt.arrays import ONNX_TYPES
from polycmp_onnxrt.plugin import Options
from polycmp_onnxrt.runner import make_runner


def identity(kind, shape=("n",)):
    node = helper.make_node("Identity", ["x"], ["y"])
    return model([node], [value("x", kind, shape)], [value("y", kind, shape)])


def infer(made, **feed):
    with OnnxrtRunner(SessionFromOnnx(made)) as runner:
        return {name: np.array(array) for name, array in runner.infer(feed).items()}


# --- running ---------------------------------------------------------------------------------------------------------


def test_factory_runs_a_model_with_the_options_given():
    runner = make_runner(FakeModel(double()), Options(threads=1, optimization="ORT_DISABLE_ALL"), name="mine")
    assert runner.name == "mine"
    with runner:
        outputs = runner.infer({"x": np.array([1, 2], np.float32)})
        assert outputs["y"].tolist() == [2, 4]
        options = runner._session.get_session_options()
        assert options.graph_optimization_level == onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        assert options.intra_op_num_threads == 1
        assert options.inter_op_num_threads == 1


def test_default_threads_are_the_cores_of_the_affinity_mask():
    options = session_from_onnx(double()).get_session_options()
    assert options.intra_op_num_threads == len(os.sched_getaffinity(0))


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


def test_a_session_may_be_given_and_stays_the_callers():
    session = session_from_onnx(double())
    for _ in range(2):
        with OnnxrtRunner(session) as runner:
            assert runner.infer({"x": np.ones(1, np.float32)})["y"].tolist() == [2]
    assert session.run(None, {"x": np.ones(1, np.float32)})[0].tolist() == [2]


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


def test_loader_prints_as_the_code_that_makes_it():
    loader = SessionFromOnnx("m.onnx", providers=("cpu",), optimization="basic", threads=None)
    assert repr(loader) == "SessionFromOnnx('m.onnx', optimization='basic')"


def test_scalar_list_and_torch_like_inputs():
    class Tensor:
        dtype, shape = np.dtype(np.float32), (2,)

        def numpy(self):
            return np.ones(2, np.float32)

    assert infer(double(), x=Tensor())["y"].tolist() == [2, 2]


def test_unknown_rank_takes_any_shape():
    made = identity(FLOAT, None)
    assert infer(made, x=np.ones((2, 3), np.float32))["y"].shape == (2, 3)
    assert infer(made, x=np.float32(3).reshape(()))["y"] == 3


# --- element types ---------------------------------------------------------------------------------------------------

NUMPY_TYPES = [
    "float16",
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]
LOW_BIT_TYPES = ["bfloat16", "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz"]


takes_low_bit_types = pytest.mark.skipif(
    not hasattr(onnxruntime.OrtValue, "ortvalue_from_numpy_with_onnx_type"),
    reason="this ONNX Runtime takes no types from Python that NumPy lacks",
)


@pytest.mark.parametrize(
    "name", [*NUMPY_TYPES, "bool", *(pytest.param(n, marks=takes_low_bit_types) for n in LOW_BIT_TYPES)]
)
def test_element_types_pass_through(name):
    dtype = as_dtype(name)
    kind = ONNX_TYPES.get(dtype.name) or helper.np_dtype_to_tensor_dtype(dtype)
    given = np.array([0, 1, 2, 3, 1.5]).astype(dtype)
    got = infer(identity(kind), x=given)["y"]
    assert got.dtype == dtype
    assert got.tobytes() == given.tobytes()
    assert infer(identity(kind), x=given[:0])["y"].shape == (0,)


def test_strings_pass_through():
    given = np.array(["a", "ü", ""], object)
    assert infer(identity(TensorProto.STRING), x=given)["y"].tolist() == ["a", "ü", ""]


@takes_low_bit_types
@pytest.mark.skipif(Version(onnxruntime.__version__) < Version("1.23"), reason="has no Cast to four bits in opset 21")
@pytest.mark.parametrize("name", ["int4", "uint4"])
def test_four_bits_in_and_out(name):
    dtype = as_dtype(name)
    kind = {"int4": TensorProto.INT4, "uint4": TensorProto.UINT4}[name]
    nodes = [
        helper.make_node("Cast", ["x"], ["packed"], to=kind),
        helper.make_node("Cast", ["i"], ["wide"], to=FLOAT),
    ]
    made = model(nodes, [value("x"), value("i", kind)], [value("packed", kind), value("wide")])
    numbers = np.array([-8, 7, -1, 3, 0] if name == "int4" else [0, 15, 9, 8, 7], np.float32)
    got = infer(made, x=numbers, i=numbers.astype(dtype))
    assert got["packed"].dtype == dtype
    assert got["packed"].astype(np.float32).tolist() == numbers.tolist()
    assert got["wide"].tolist() == numbers.tolist()


@pytest.mark.parametrize("name", ["int4", "uint4", "int2", "uint2", "float4_e2m1fn"])
@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 5, 7, 8])
def test_packing_below_a_byte_and_back(name, size):
    if not hasattr(ml_dtypes, name):
        pytest.skip(f"ml_dtypes {ml_dtypes.__version__} has no {name}")
    dtype, bits = as_dtype(name), int("".join(filter(str.isdigit, name))[0])
    codes = np.arange(size, dtype=np.uint8) % (1 << bits)
    array = unpack(pack(codes, bits), bits, dtype, (size,))
    assert unpack(pack(array, bits), bits, dtype, (size,)).tobytes() == array.tobytes()
    assert (pack(array, bits) == pack(codes, bits)).all()


@takes_low_bit_types
def test_low_bit_outputs_outlive_the_next_inference():
    with OnnxrtRunner(SessionFromOnnx(identity(TensorProto.BFLOAT16))) as runner:
        first = runner.infer({"x": np.ones(1000, ml_dtypes.bfloat16)})["y"]
        runner.infer({"x": np.zeros(1000, ml_dtypes.bfloat16)})
    assert (first == 1).all()


@takes_low_bit_types
def test_a_scalar_without_a_type_of_numpys_stays_a_scalar():
    inputs = [helper.make_tensor_value_info("x", TensorProto.BFLOAT16, None)]
    outputs = [helper.make_tensor_value_info("size", TensorProto.INT64, ["rank"])]
    made = model([helper.make_node("Shape", ["x"], ["size"])], inputs, outputs)
    with OnnxrtRunner(SessionFromOnnx(made)) as runner:
        found = runner.infer({"x": np.array(2, ml_dtypes.bfloat16)})
    assert found["size"].shape == (0,)


@pytest.mark.parametrize("op", ["SequenceConstruct", "Optional"])
def test_an_output_that_holds_tensors_is_handed_out(op):
    made = model([helper.make_node(op, ["x"], ["s"])], [value("x")], [])
    tensor = helper.make_tensor_type_proto(FLOAT, ["n"])
    wrap = helper.make_sequence_type_proto if op == "SequenceConstruct" else helper.make_optional_type_proto
    made.graph.output.append(helper.make_value_info("s", wrap(tensor)))
    with OnnxrtRunner(SessionFromOnnx(made)) as runner:
        found = runner.infer({"x": np.ones(2, np.float32)})["s"]
    assert np.array_equal(found[0] if op == "SequenceConstruct" else found, [1, 1])


def test_an_input_that_is_a_sequence_is_refused_with_a_way_out():
    made = model([helper.make_node("ConcatFromSequence", ["s"], ["y"], axis=0)], [], [value("y")])
    made.graph.input.append(helper.make_tensor_sequence_value_info("s", FLOAT, ["n"]))
    with pytest.raises(BackendError, match=r"input 's' holds seq") as caught:
        OnnxrtRunner(SessionFromOnnx(made)).activate()
    assert "surgeon extract" in caught.value.hint


# --- what can go wrong -----------------------------------------------------------------------------------------------


def test_maps_of_a_classifier_are_an_array_for_each_class(tmp_path, monkeypatch, capsys):
    nodes = [
        helper.make_node("Softmax", ["x"], ["p"]),
        helper.make_node("ArgMax", ["x"], ["label"], axis=1, keepdims=0),
        helper.make_node("ZipMap", ["p"], ["maps"], domain="ai.onnx.ml", classlabels_int64s=[0, 1, 2]),
    ]
    maps = helper.make_map_type_proto(TensorProto.INT64, helper.make_tensor_type_proto(FLOAT, []))
    maps = helper.make_value_info("maps", helper.make_sequence_type_proto(maps))
    graph = helper.make_graph(nodes, "g", [value("x", shape=("n", 3))], [value("label", TensorProto.INT64), maps])
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=8), tmp_path / "m.onnx")
    monkeypatch.chdir(tmp_path)
    assert main(["run", "m.onnx", "-b", "onnxrt", "-b", "onnxrt:optimization=off", "--input-shapes", "x:[2,3]"]) == 0
    said = capsys.readouterr().out
    assert [name for name in ("maps.0", "maps.1", "maps.2") if f"{name}   float32[2]" in said] == [
        "maps.0",
        "maps.1",
        "maps.2",
    ]


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"this is no model, only a text", "is not an ONNX model"), (None, "missing")],
    ids=["text", "missing"],
)
def test_a_file_that_is_no_model(content, words, tmp_path):
    path = tmp_path / "m.onnx"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ModelError, match=words) as caught:
        session_from_onnx(path)
    assert str(path) in str(caught.value)
    assert "ONNXRuntimeError" not in str(caught.value)


def test_a_truncated_model(tmp_path):
    (tmp_path / "m.onnx").write_bytes(double().SerializeToString()[:-30])
    with pytest.raises(ModelError):
        session_from_onnx(tmp_path / "m.onnx")


def test_not_a_model_at_all():
    with pytest.raises(ModelError, match="not int"):
        session_from_onnx(3)


@pytest.mark.parametrize(("op", "domain"), [("Frobnicate", ""), ("Frobnicate", "some.domain"), ("Frobnicate", "other")])
def test_an_unsupported_operator_is_named(op, domain):
    made = model([helper.make_node(op, ["x"], ["y"], domain=domain)], [value("x")], [value("y")])
    with pytest.raises((BackendError, ModelError), match=op) as caught:
        session_from_onnx(made)
    assert "ONNXRuntimeError" not in str(caught.value)
    if domain == "some.domain":
        assert "op_libs" in caught.value.hint


def test_a_failing_operator_is_named():
    index = value("i", TensorProto.INT64)
    made = model(
        [helper.make_node("Gather", ["x", "i"], ["y"], name="pick")], [value("x"), index], [value("y", shape=None)]
    )
    with pytest.raises(BackendError, match=r"operator Gather \(node 'pick'\) failed") as caught:
        infer(made, x=np.ones(2, np.float32), i=np.array([5]))
    assert "/onnxruntime" not in str(caught.value)
    assert "ONNXRuntimeError" not in str(caught.value)


def test_a_wrong_feed_is_refused():
    with OnnxrtRunner(SessionFromOnnx(double())) as runner, pytest.raises(DataError, match="float64"):
        runner.infer({"x": np.ones(2)})


def test_a_missing_operator_library():
    with pytest.raises(BackendError, match=r"cannot load the operator library nowhere\.so"):
        session_from_onnx(double(), op_libs=["nowhere.so"])


def test_a_failed_activation_leaves_the_runner_inactive():
    runner = OnnxrtRunner(SessionFromOnnx(b"nonsense"))
    with pytest.raises(ModelError):
        runner.activate()
    assert not runner.is_active


def test_without_onnxruntime_the_error_says_what_to_install():
    code = (
        "import sys; sys.modules['onnxruntime'] = None\n"
        "from polycmp_onnxrt import session_from_onnx\n"
        "from polycmp.errors import PluginError\n"
        "try: session_from_onnx(b'')\n"
        "except PluginError as error: print(error.hint)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "polycmp-onnxrt[cpu]" in done.stdout
    assert issubclass(PluginError, Exception)


def test_importing_the_package_and_the_plugin_stays_light():
    code = (
        "import sys, polycmp_onnxrt, polycmp_onnxrt.plugin as plugin\n"
        "list(plugin.polycmp_runners()); plugin.Options()\n"
        "print([name for name in ('numpy', 'onnx', 'onnxruntime') if name in sys.modules])\n"
        "from polycmp_onnxrt import OnnxrtRunner, SessionFromOnnx\n"
        "SessionFromOnnx('m.onnx'); OnnxrtRunner(None)\n"
        "print('onnxruntime' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["[]", "False"]


def test_the_program_in_the_readme_runs(tmp_path, monkeypatch):
    onnx.save(double(), tmp_path / "model.onnx")
    monkeypatch.chdir(tmp_path)
    (program,) = re.findall(r"```python\n(.*?)```", (Path(__file__).parents[1] / "README.md").read_text(), re.DOTALL)
    done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "{'y': [2.0, 4.0]}\n"), done.stderr


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


def test_an_input_that_is_an_output_too_is_given_back_in_memory_of_its_own():
    double = helper.make_node("Add", ["x", "x"], ["y"])
    made = model([double], [value("x")], [value("x"), value("y")])
    given = np.ones(4, np.float32)
    with OnnxrtRunner(SessionFromOnnx(made)) as runner:
        outputs = runner.infer({"x": given})
        given[...] = 7
        assert outputs["x"].tolist() == [1, 1, 1, 1]
        assert not np.may_share_memory(outputs["x"], given)
