"""Element types under the names of `polygraphy.datatype`, which turn into those of NumPy, ONNX, torch and TensorRT."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from polycmp.errors import DataError
from polycmp.tensors import as_dtype, is_floating


class DataTypeEntry:
    """One element type: equal to NumPy's of that name, and taken by NumPy in its place.

    Attributes:
        name: Name of the type, such as `float32`.
        dtype: NumPy's type.
        itemsize: Bytes of one element; half a byte for types of four bits, 0 for strings.
    """

    __slots__ = ("dtype", "itemsize", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.dtype = as_dtype({"float4": "float4e2m1"}.get(name, name))
        packed = 0.5 if name in {"float4", "int4"} else float(self.dtype.itemsize)
        self.itemsize = 0 if name == "string" else int(packed) if packed >= 1 else packed

    @property
    def kind(self) -> str:
        """The letter of NumPy for the kind of type."""
        return str(self.dtype.kind)

    @property
    def is_floating(self) -> bool:
        """Whether it holds real numbers."""
        return is_floating(self.dtype)

    @property
    def is_integral(self) -> bool:
        """Whether it holds whole numbers; a truth value is none."""
        return not self.is_floating and self.name not in {"bool", "string"}

    def numpy(self) -> np.dtype[Any]:
        """Return NumPy's type.

        Raises:
            DataError: NumPy itself has none.
        """
        if self.dtype.kind == "V" or self.dtype.type.__module__.startswith("ml_dtypes"):
            raise DataError(f"NumPy has no {self.name}")
        return np.dtype(np.str_) if self.name == "string" else self.dtype

    def onnx(self) -> int:
        """Return the number of the type in `onnx.TensorProto`."""
        from onnx import TensorProto, helper

        return int(TensorProto.STRING if self.name == "string" else helper.np_dtype_to_tensor_dtype(self.dtype))

    def onnxruntime(self) -> str:
        """Return ONNX Runtime's name: `tensor(float)`."""
        short = {"float32": "float", "float64": "double"}.get(self.name, self.name)
        return f"tensor({short})"

    def torch(self) -> Any:
        """Return PyTorch's type.

        Raises:
            DataError: PyTorch has none.
        """
        import torch

        spelt = self.name.replace("float8e", "float8_e")
        dtype = getattr(torch, spelt, None)
        if dtype is None:
            raise DataError(f"PyTorch has no {self.name}")
        return dtype

    def tensorrt(self) -> Any:
        """Return TensorRT's type.

        Raises:
            DataError: TensorRT has none.
        """
        import tensorrt

        words = {"float32": "FLOAT", "float16": "HALF", "bfloat16": "BF16", "float8e4m3fn": "FP8", "float4": "FP4"}
        dtype = getattr(tensorrt, words.get(self.name, self.name.upper()), None)
        if dtype is None:
            raise DataError(f"this TensorRT has no {self.name}")
        return dtype

    def __eq__(self, other: object) -> bool:
        if isinstance(other, DataTypeEntry):
            return self.name == other.name
        return isinstance(other, np.dtype | type) and self.dtype == other

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"DataType.{self.name.upper()}"


_NAMES = """
    float64 float32 float16 float4 int16 int32 int64 int8 int4 uint16 uint32 uint64 uint8 bool string bfloat16
    float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz float8e8m0
""".split()  # noqa: SIM905 - so many are read more easily so


@cache
def _entry(name: str) -> DataTypeEntry:
    return DataTypeEntry(name)


class _Members(type):
    """Makes an element type when it is first asked for: ml_dtypes of old releases lack some."""

    @property
    def __members__(cls) -> dict[str, DataTypeEntry]:
        return {name.upper(): getattr(cls, name.upper()) for name in _NAMES}

    def __getattr__(cls, name: str) -> DataTypeEntry:
        if name.lower() not in _NAMES or not name.isupper():
            raise AttributeError(f"there is no element type {name!r}")
        return _entry(name.lower())


class DataType(metaclass=_Members):
    """The element types by name: `DataType.FLOAT32`."""

    @staticmethod
    def from_dtype(dtype: Any, source_module: str | None = None) -> DataTypeEntry:
        """Return the element type for one of NumPy, PyTorch, ONNX, ONNX Runtime or TensorRT.

        Args:
            dtype: The type; a number is one of ONNX.
            source_module: Name of the module that it comes from; it can be seen.

        Raises:
            DataError: No such type is known.
        """
        del source_module
        if isinstance(dtype, DataTypeEntry):
            return dtype
        if isinstance(dtype, int):
            from onnx import TensorProto, helper

            dtype = "string" if dtype == TensorProto.STRING else helper.tensor_dtype_to_np_dtype(dtype)
        kind = type(dtype)
        if kind.__module__.startswith("torch"):
            dtype = str(dtype).rpartition(".")[2]
        elif kind.__module__.startswith("tensorrt"):
            dtype = {"FLOAT": "float32", "HALF": "float16", "BF16": "bfloat16", "FP8": "fp8"}.get(
                dtype.name, dtype.name.lower()
            )
        wanted = as_dtype(dtype)
        for name in _NAMES:
            entry: DataTypeEntry = getattr(DataType, name.upper())
            if entry.dtype == wanted:
                return entry
        raise DataError(f"unknown element type {dtype!r}")

    @staticmethod
    def to_dtype(dtype: Any, target_module: str) -> Any:
        """Return another module's type for an element type, also NumPy's, as metadata has it; else what was given.

        Args:
            dtype: The element type.
            target_module: `numpy`, `onnx`, `onnxruntime`, `torch` or `tensorrt`.

        Raises:
            DataError: The module has no such type, or is none of these.
        """
        if isinstance(dtype, np.dtype):
            dtype = DataType.from_dtype(dtype)
        if not isinstance(dtype, DataTypeEntry):
            return dtype
        if target_module not in {"numpy", "onnx", "onnxruntime", "torch", "tensorrt"}:
            raise DataError(f"nothing is known of element types of {target_module!r}")
        return getattr(dtype, target_module)()
