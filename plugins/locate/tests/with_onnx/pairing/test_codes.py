"""Products of whole numbers beside those of real ones: where their bias and their scale come in."""

from __future__ import annotations

import json

import converted_models as converted
import numpy as np
import onnx
import pytest
from onnxruntime.quantization import CalibrationDataReader, quantize_static


@pytest.fixture
def located(polycmp, tmp_path):
    """Search a quantised file beside another one for the first wrong tensor; return status and document."""
    x = np.random.default_rng(7).standard_normal((2, 5, converted.WIDTH)).astype(np.float32)
    np.savez(tmp_path / "x.npz", x=x)

    def locate(made, good):
        done = polycmp(
            "locate", made, "-b", "onnxrt:name=new", "-b", f"onnxrt:name=old,model={good}",
            "--load-inputs", "x.npz", "--report", "found.json",
        )  # fmt: skip
        return done.status, json.loads((tmp_path / "found.json").read_text())

    return locate


def convolution(path, *, bias: float = 1.0):
    """Write a convolution whose weights only have numbers for names, a division, and a residual sum."""
    rng = np.random.default_rng(3)
    weights = {
        "onnx::Conv_7": rng.standard_normal((5, 5, 3)).astype(np.float32),
        "onnx::Conv_8": bias * rng.standard_normal(5).astype(np.float32),
        "root": np.array(1.41, np.float32),
    }
    nodes = [
        converted.node("Conv", "x onnx::Conv_7 onnx::Conv_8", "/conv/Conv_output_0", pads=[1, 1]),
        converted.node("Div", "/conv/Conv_output_0 root", "d"),
        converted.node("Erf", "d", "e"),
        converted.node("Add", "e x", "y"),
    ]
    return converted.save(path, nodes, weights)


def product(path):
    """Write two products with a bias and an activation between them."""
    weights = converted.weights_of(1)
    nodes = [
        converted.node("MatMul", "x 0.up.weight", "up"),
        converted.node("Add", "up 0.up.bias", "upper"),
        converted.node("Gelu", "upper", "gelu"),
        converted.node("MatMul", "gelu 0.down.weight", "y"),
    ]
    return converted.save(path, nodes, weights)


def peaked(path):
    """Write a convolution for each channel; the one with the largest weights by far has next to nothing to read."""
    rng = np.random.default_rng(4)
    weight = rng.standard_normal((5, 1, 3)).astype(np.float32)
    weight[0] *= 16
    weights = {"quiet": np.array([[[0.01], [1], [1], [1], [1]]], np.float32), "weight": weight}
    nodes = [
        converted.node("Mul", "x quiet", "q"),
        converted.node("Conv", "q weight", "c", pads=[1, 1], group=5),
        converted.node("Sigmoid", "c", "s"),
        converted.node("Add", "s x", "y"),
    ]
    return converted.save(path, nodes, weights)


def single(path):
    """Write two products of which the second makes one number, of terms that cancel each other."""
    rng = np.random.default_rng(6)
    second = np.random.default_rng(1).standard_normal((4, 1)).astype(np.float32)
    first = rng.standard_normal((converted.WIDTH, 4)).astype(np.float32)
    nodes = [
        converted.node("MatMul", "x first", "m"),
        converted.node("ReduceMean", "m axes", "r", keepdims=0),
        converted.node("MatMul", "r second", "one"),
        converted.node("Add", "one x", "y"),
    ]
    weights = {"first": first, "axes": np.array([0, 1], np.int64)}
    return converted.save(path, nodes, weights | {"second": second})


class _Once(CalibrationDataReader):
    def __init__(self, path) -> None:
        self._feeds = iter([dict(np.load(path))])

    def get_next(self):
        return next(self._feeds, None)


def test_what_is_added_behind_a_product_of_whole_numbers_belongs_to_the_convolution(located, tmp_path):
    good = convolution(tmp_path / "good.onnx")
    made = converted.dynamic_int8(good, tmp_path / "int8.onnx", signed=False)
    status, found = located(made, good)
    assert status == 0, found["sentence"]
    places = {row["tensor"]: row["counterpart"] for row in found["tensors"]}
    assert places["/conv/Conv_output_0"] == "/conv/Conv_output_0"
    assert "/conv/Conv_output_0quant_scaled_output" not in places


def test_a_bias_that_is_missing_behind_a_product_of_whole_numbers_is_named(located, tmp_path):
    good = convolution(tmp_path / "good.onnx")
    made = converted.dynamic_int8(good, tmp_path / "int8.onnx", signed=False)
    converted.edited(made, made, converted.scaled("onnx::Conv_8", 0.0))
    status, found = located(made, good)
    assert (status, found["operator"]["type"]) == (1, "Add"), found["sentence"]


@pytest.fixture
def narrowed(polycmp, tmp_path):
    """Make a file in int8, and that file in float16."""
    made = converted.dynamic_int8(product(tmp_path / "good.onnx"), tmp_path / "int8.onnx")
    half = tmp_path / "half.onnx"
    assert polycmp("convert", made, "--fp-to-fp16", "-o", half).status == 0
    return made, half


def test_a_quantised_file_in_float16_is_compared_behind_the_scales_of_its_products(located, narrowed):
    made, half = narrowed
    status, found = located(half, made)
    assert status == 0, found["sentence"]
    assert {row["type"].partition("[")[0] for row in found["tensors"]}.isdisjoint({"int32"})


def test_a_wrong_scale_in_a_quantised_file_in_float16_is_named(located, narrowed):
    made, half = narrowed
    converted.edited(half, half, converted.scaled("0.up.weight_scale", 1.3))
    status, found = located(half, made)
    assert (status, found["operator"]["name"]) == (1, "n_up_quant_scales_mul"), found["sentence"]


def test_a_file_that_is_quantised_twice_is_compared_behind_the_scales_of_its_products(located, tmp_path):
    made = converted.dynamic_int8(product(tmp_path / "good.onnx"), tmp_path / "int8.onnx")
    twice = tmp_path / "twice.onnx"
    quantize_static(str(made), str(twice), _Once(tmp_path / "x.npz"))
    assert any(node.op_type == "QuantizeLinear" for node in onnx.load(twice).graph.node)
    status, found = located(twice, made)
    assert status == 0, found["sentence"]


def quantised(how: str, good, made):
    """Write a file in int8 with the defaults of one of ONNX Runtime's quantisers."""
    if how == "dynamic":
        return converted.dynamic_int8(good, made, signed=False)
    quantize_static(str(good), str(made), _Once(good.parent / "x.npz"), reduce_range=True)
    return made


@pytest.mark.parametrize("how", ["static", "dynamic"])
def test_weights_of_which_the_steps_leave_little_are_rounding(located, tmp_path, how):
    good = peaked(tmp_path / "good.onnx")
    status, found = located(quantised(how, good, tmp_path / "int8.onnx"), good)
    rounded = next(row for row in found["tensors"] if row["tensor"] == "c")
    assert rounded["own_error"]["relative_error"] > 2.0**-4, rounded
    assert status == 0, found["sentence"]


@pytest.mark.parametrize("how", ["static", "dynamic"])
def test_a_wrong_scale_of_such_weights_is_named(located, tmp_path, how):
    good = peaked(tmp_path / "good.onnx")
    made = quantised(how, good, tmp_path / "int8.onnx")
    converted.edited(made, made, converted.scaled("weight_scale", 2.0))
    status, found = located(made, good)
    assert (status, found["operator"]["type"]) == (1, "Conv" if how == "static" else "ConvInteger"), found["sentence"]


def test_the_factor_of_a_tensor_of_one_number_is_no_scale(located, tmp_path):
    good = single(tmp_path / "good.onnx")
    status, found = located(quantised("static", good, tmp_path / "int8.onnx"), good)
    assert status == 0, found["sentence"]


def biased(path):
    """Write an activation, then a convolution whose bias is small beside its products."""
    rng = np.random.default_rng(8)
    weights = {"weight": rng.standard_normal((5, 5, 3)).astype(np.float32)}
    weights["bias"] = np.array([0.3, -0.3, 0.25, -0.25, 0.2], np.float32)
    nodes = [
        converted.node("Relu", "x", "r"),
        converted.node("Conv", "r weight bias", "c", pads=[1, 1]),
        converted.node("Add", "c x", "y"),
    ]
    return converted.save(path, nodes, weights)


def test_a_small_bias_that_is_missing_is_named(located, tmp_path):
    good = biased(tmp_path / "good.onnx")
    made = quantised("static", good, tmp_path / "int8.onnx")
    status, found = located(made, good)
    assert status == 0, found["sentence"]
    converted.edited(made, made, converted.scaled("bias_quantized", 0))
    status, found = located(made, good)
    assert (status, found["operator"]["name"]) == (1, "n_c"), found["sentence"]
    assert "all numbers of a channel off" in found["sentence"]
    own = next(row["own_error"] for row in found["tensors"] if row["tensor"] == found["first_bad"])
    assert own["relative_error"] < 2.0**-4  # what rounding to 8 bits may do to one number
