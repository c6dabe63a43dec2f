"""PyTorch keeps the contract of runners, and what users see of the backend `torch`."""

from __future__ import annotations

import warnings
from importlib.util import find_spec

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from polycmp.cli.main import main
from polycmp.results.files import open_runs
from polycmp.tensors import TensorMetadata
from polycmp.testing import OnnxRunnerContract
from polycmp_torch import TorchFromFile, TorchModel, TorchRunner
from polycmp_torch.options import Options

torch = pytest.importorskip("torch", reason="needs PyTorch: make test-torch")

SCRIPT = """
import numpy as np
import torch

class Net(torch.nn.Module):
    def __init__(self, scale=1.0):
        super().__init__()
        weight = np.random.default_rng(3).standard_normal((8, 4)).astype(np.float32)
        self.weight = torch.nn.Parameter(torch.from_numpy(weight))
        self.dropout = torch.nn.Dropout(0.5)
        self.scale = scale

    def forward(self, x):
        product = self.dropout(x) @ self.weight
        return {"product": product, "y": torch.relu(product) * self.scale}

def load_model():
    return Net()

def wrong():
    return Net(1.01)

def shapes():
    return Net(), {"x": torch.ones(5, 8)}

def nothing():
    return 7

def too_many():
    return lambda x: (x, x, x)

def failing():
    raise ValueError("no weights here")

def in_place():
    def run(x):
        x.zero_()
        return x, x
    return run
"""


def network():
    """The same as an ONNX model."""
    weight = np.random.default_rng(3).standard_normal((8, 4)).astype(np.float32)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["product"]), helper.make_node("Relu", ["product"], ["y"])]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", size]) for name, size in
              (("x", 8), ("product", 4), ("y", 4))]  # fmt: skip
    graph = helper.make_graph(nodes, "net", values[:1], values[1:], [numpy_helper.from_array(weight, "w")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    onnx.save(network(), "m.onnx")
    (tmp_path / "load.py").write_text(SCRIPT)


def polycmp(*words):
    return main([str(word) for word in words])


def printed(capsys):
    """Everything that was written, with the breaks of tables taken out."""
    streams = capsys.readouterr()
    return " ".join((streams.out + streams.err).split())


def module():
    names = {}
    exec(SCRIPT, names)
    return names["Net"]().eval()


class Products(torch.nn.Module):
    def forward(self, x, w):
        product = x @ w
        return product, product, torch.sign(product).to(torch.int64), x


class TestTorchRunner(OnnxRunnerContract):
    capabilities = frozenset({"dynamic_shapes", "failing_inference", "torch"})

    def load(self):
        inputs = TensorMetadata().add("x", "float32", ["n", "k"]).add("w", "float32", ["l", 2])
        return TorchModel(Products(), inputs, ("product", "copy", "sign", "same"))

    def make_runner(self, load):
        return TorchRunner(load, name="pt")

    def expected(self, feed):
        return {**super().expected(feed), "same": feed["x"]}


def test_an_export_is_compared_with_its_module(capsys):
    assert polycmp("run", "m.onnx", "-b", "onnxrt", "-b", "torch:script=load.py", "--input-shapes", "x:[5,8]") == 0
    assert "training mode" in printed(capsys)


def test_another_module_is_found_out():
    assert polycmp("run", "m.onnx", "-b", "onnxrt", "-b", "torch:script=load.py:wrong") == 1


def test_float64_is_a_reference_of_float64(capsys):
    assert polycmp("run", "m.onnx", "-b", "onnxrt", "-b", "torch:script=load.py,dtype=float64") == 0
    assert "float64" in printed(capsys)


def test_float16_comes_back_in_the_declared_type():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        words = ("run", "m.onnx", "-b", "torch:script=load.py,dtype=bfloat16", "-b", "onnxrt", "--rtol", "0.1")
        assert polycmp(*words, "--atol", "0.1", "--allow-blind") == 0


def test_an_onnx_model_is_converted_and_its_inner_tensors_are_compared(capsys):
    assert find_spec("onnx2pytorch"), "make test-torch installs it"
    assert polycmp("run", "m.onnx", "-b", "torch", "-b", "onnxrt", "--mark-all") == 0
    assert "product" in printed(capsys)


def test_what_the_converter_says_of_an_approximation_is_a_note(capsys):
    """PyTorch's interpolation knows no box to crop: the outputs may differ for that alone."""
    words = {"mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize"}
    graph = helper.make_graph(
        [helper.make_node("Resize", ["x", "box", "", "sizes"], ["y"], **words)],
        "crops",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, 4, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 1, 3, 3])],
        [
            numpy_helper.from_array(np.float32([0, 0, 0.4, 0.6, 1, 1, 0.6, 0.8]), "box"),
            numpy_helper.from_array(np.int64([1, 1, 3, 3]), "sizes"),
        ],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10), "crops.onnx")
    assert polycmp("run", "crops.onnx", "-b", "torch", "-b", "onnxrt") == 1
    assert "onnx2pytorch: Pytorch's interpolate uses no" in printed(capsys)


def test_a_converted_model_that_differs_is_judged(capsys):
    """What rounding does to it is measured with nothing optimised, though nothing was compiled."""
    model = onnx.load("m.onnx")
    [weight] = [item for item in model.graph.initializer if item.data_type == TensorProto.FLOAT][:1]
    weight.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(weight) * np.float32(1.01), weight.name))
    onnx.save(model, "wrong.onnx")
    assert polycmp("run", "wrong.onnx", "m.onnx", "-b", "torch") == 1
    assert "FAILED: 2 of 2 outputs differ" in printed(capsys)


@pytest.mark.parametrize("form", ["alone", "beside an ONNX model"])
def test_exported_programs_run(form):
    sizes = {"x": {0: torch.export.Dim("batch")}}
    torch.export.save(torch.export.export(module(), (torch.ones(3, 8),), dynamic_shapes=sizes), "net.pt2")
    if form == "alone":
        assert polycmp("run", "net.pt2", "-b", "torch:dtype=float64", "-b", "torch", "--input-shapes", "x:[5,8]") == 0
    else:
        words = ("-b", "torch:script=net.pt2", "-b", "onnxrt", "--input-shapes", "x:[5,8]")
        assert polycmp("run", "m.onnx", *words) == 0


def test_an_exported_program_says_types_and_shapes():
    sizes = {"x": {0: torch.export.Dim("batch")}}
    torch.export.save(torch.export.export(module(), (torch.ones(3, 8),), dynamic_shapes=sizes), "net.pt2")
    with TorchRunner(TorchFromFile("net.pt2")) as runner:
        entry = runner.get_input_metadata()["x"]
    assert entry.dtype == np.float32
    assert isinstance(entry.shape[0], str) and entry.shape[1] == 8


@pytest.mark.filterwarnings("ignore")
def test_torchscript_runs():
    torch.jit.trace(module(), torch.ones(3, 8), strict=False).save("net.pt")
    assert polycmp("run", "net.pt", "-b", "torch", "-b", "torch", "--input-shapes", "x:[5,8]") == 0
    assert polycmp("run", "m.onnx", "-b", "torch:script=net.pt", "-b", "onnxrt") == 0


class Windowed(torch.nn.Module):
    """Takes samples and their rate, as models of speech do."""

    def forward(self, x, rate: int):
        """Return the samples, twice as loud at 8 kHz."""
        if x.dim() != 2:
            raise ValueError("samples by batch")
        return x * 2 if rate == 8000 else x


@pytest.mark.filterwarnings("ignore")
def test_torchscript_called_jit_says_what_to_give(capsys):
    torch.jit.script(Windowed()).save("speech.jit")
    assert polycmp("run", "speech.jit", "-b", "torch") == 3
    text = printed(capsys)
    assert "the model does not say the shape of 'x': give it, as --input-shapes x:[1,8]" in text
    assert "samples by batch" in text
    assert "TorchScript" not in text
    words = ("run", "speech.jit", "-b", "torch", "--input-shapes", "x:[1,8]", "--val-range", "rate:[8000,8000]")
    assert polycmp(*words, "--save-outputs", "out.npz") == 0
    with TorchRunner(TorchFromFile("speech.jit")) as runner:
        assert runner.get_input_metadata()["rate"].shape == ()


def test_a_script_is_a_model_of_its_own(capsys):
    assert polycmp("run", "load.py:shapes", "--model-type", "torch", "-b", "torch", "-b", "torch:dtype=float64") == 0
    assert "product" in printed(capsys)


@pytest.mark.parametrize(
    ("words", "status", "what"),
    [
        (("m.onnx", "-b", "torch:script=load.py:nothing"), 3, "gives int, not a module"),
        (("m.onnx", "-b", "torch:script=load.py:failing"), 3, "no weights here"),
        (("m.onnx", "-b", "torch:script=load.py:too_many"), 3, "returns 3 tensors, the model has 2 outputs"),
        (("m.onnx", "-b", "torch:script=load.py:missing"), 3, "has no 'missing'"),
        (("m.onnx", "-b", "torch:script=absent.py"), 3, "no such script"),
        (("m.onnx", "-b", "torch:script=load.py,device=warp"), 3, "warp"),
        (("m.onnx", "-b", "torch:threads=0"), 2, "at least 1"),
        (("m.onnx", "-b", "torch:dtype=float8"), 2, "float16"),
        (("m.onnx", "-b", "torch:script=load.py", "--mark-all"), 3, "makes the whole module"),
        (("bad.pt", "-b", "torch"), 3, "is not TorchScript"),
        (("bad.pt2", "-b", "torch"), 3, "is not an exported program"),
    ],
)
def test_what_cannot_be_is_an_error_in_words(words, status, what, tmp_path, capsys):
    for name in ("bad.pt", "bad.pt2"):
        (tmp_path / name).write_text("nonsense")
    assert polycmp("run", *words, *(("-b", "onnxrt") if words[0] == "m.onnx" else ())) == status
    text = printed(capsys)
    assert what in text
    assert "Traceback" not in text and "fault of polycmp" not in text


def test_a_module_may_write_into_its_inputs():
    assert polycmp("run", "load.py:in_place", "--model-type", "torch", "-b", "torch", "--input-shapes", "x:[2]") == 0


@pytest.mark.parametrize("name", ["bfloat16", "float16", "float8_e4m3fn", "float8_e5m2", "uint16", "bool"])
def test_types_pass_in_and_out_unchanged(name):
    from polycmp.tensors import as_dtype

    array = np.array([[0, 1, 1]]).astype(as_dtype(name))
    model = TorchModel(torch.nn.Identity(), TensorMetadata().add("x", name, [1, 3]), ("y",))
    with TorchRunner(model, options=Options()) as runner:
        got = runner.infer({"x": array})["y"]
    assert got.dtype == array.dtype
    np.testing.assert_array_equal(got.astype(np.float32), array.astype(np.float32))


@pytest.mark.parametrize(
    ("saved", "names"),
    [
        (torch.arange(3.0), {"output"}),
        ({"x": torch.arange(3.0), "cache": (torch.ones(2), torch.ones(3))}, {"x", "cache.0", "cache.1"}),
        ([{"x": torch.arange(3.0)}, {"x": torch.arange(3.0)}], {"x"}),
        ({"x": torch.arange(3.0).bfloat16()}, {"x"}),
    ],
)
def test_saved_tensors_are_compared(tmp_path, saved, names):
    torch.save(saved, tmp_path / "a.pt")
    torch.save(saved, tmp_path / "b.pt")
    assert polycmp("compare", tmp_path / "a.pt", tmp_path / "b.pt") == 0
    (run,) = open_runs(tmp_path / "a.pt")
    assert {name for iteration in run.iterations for name in iteration} == names


def test_a_file_that_would_run_something_is_refused(tmp_path, capsys):
    torch.save(torch.nn.Linear(2, 2), tmp_path / "a.pt")
    assert polycmp("compare", tmp_path / "a.pt", tmp_path / "a.pt") == 3
    told = capsys.readouterr().err
    assert "a.pt: this holds no plain tensors" in told
    assert "torch.save({'logits': logits}, FILE)" in told
