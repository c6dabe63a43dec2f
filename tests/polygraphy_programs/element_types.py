"""Translate element types between libraries."""

import numpy as np
import onnx
from polygraphy.datatype import DataType

for name in ("FLOAT32", "FLOAT16", "INT64", "INT8", "BOOL", "UINT8"):
    dtype = getattr(DataType, name)
    print(name, dtype.name, dtype.itemsize, dtype.is_floating, dtype.is_integral, np.dtype(dtype.numpy()).name)
    assert DataType.from_dtype(dtype.numpy()) == dtype
    assert DataType.from_dtype(dtype.onnx(), "onnx") == dtype
print(
    DataType.to_dtype(DataType.FLOAT32, "onnx") == onnx.TensorProto.FLOAT, str(DataType.BFLOAT16), repr(DataType.INT32)
)
