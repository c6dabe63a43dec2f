"""Teach the element types another conversion.

Found in: NVIDIA/TensorRT-LLM tests, on float8
"""

import numpy as np
from polygraphy.datatype import DataType

original = DataType.to_dtype


def patched(dtype, target_module):
    if dtype == DataType.FLOAT8E4M3FN and target_module == "ours":
        return "float8 of ours"
    return original(dtype, target_module)


DataType.to_dtype = patched
print(DataType.to_dtype(DataType.FLOAT8E4M3FN, "ours"))
print(np.dtype(DataType.to_dtype(DataType.FLOAT32, "numpy")).name, np.dtype(DataType.INT64.numpy()).name)
