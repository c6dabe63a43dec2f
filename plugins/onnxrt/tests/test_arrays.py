"""Element types of ONNX Runtime as arrays: those of NumPy, those below a byte, texts."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper
from onnxrt_models import FLOAT, identity, infer, model, value
from packaging.version import Version

from polycmp.tensors import as_dtype
from polycmp_onnxrt import OnnxrtRunner, SessionFromOnnx
from polycmp_onnxrt.arrays import ONNX_TYPES

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


takes_low_bit_types = pytest.mark.skipif(
    not hasattr(onnxruntime.OrtValue, "ortvalue_from_numpy_with_onnx_type"),
    reason="this ONNX Runtime takes no types from Python that NumPy lacks",
)
LOW_BIT_TYPES = ["bfloat16", "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz"]


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
