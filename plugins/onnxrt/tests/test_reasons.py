"""Errors of ONNX Runtime in words: what of the model, whose, and what to do."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnxrt_models import double, infer, model, value

from polycmp.errors import BackendError, ModelError, PluginError
from polycmp_onnxrt import session_from_onnx


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
