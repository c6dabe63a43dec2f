"""Precisions in which the reference evaluator can calculate, and what each does to a tensor.

`float64` widens: every real number of 16 or 32 bits becomes a double, so rounding errors of the model's own type
vanish. `float16` and `bfloat16` narrow: every operator calculates in float32, as accelerators accumulate, and its
result is rounded to the small type. Integers, booleans, strings, complex numbers and the code types of quantisation
(float8, float4, int4, …) stay what they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import onnx
from onnx.reference.op_run import OpRun, RuntimeTypeError
from onnx.reference.ops.op_cast import cast_to

from polycmp.tensors import as_dtype
from polycmp_onnx.graph import schema_of

#: Operators that add up. NumPy adds numbers of 16 bits up in their own type, in which a thousand ones make 256 in
#: bfloat16 and three thousand 2048 in float16; accelerators do so in float32. Products of float16 are slow, too.
_ADDING_UP = frozenset({
    "AveragePool", "BatchNormalization", "Conv", "ConvTranspose", "CumSum", "Einsum", "Gemm",
    "GlobalAveragePool", "GlobalLpPool", "GroupNormalization", "InstanceNormalization", "LRN", "LayerNormalization",
    "LogSoftmax", "LpNormalization", "LpPool", "MatMul", "Mean", "MeanVarianceNormalization", "RMSNormalization",
    "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMean", "ReduceSum", "ReduceSumSquare", "Softmax",
    "Sum",
})  # fmt: skip
_PLAIN_FLOATS = ("float16", "bfloat16", "float32", "float64")


@dataclass(frozen=True)
class Precision:
    """Precision in which real-valued tensors are stored and rounded.

    Attributes:
        name: As people type it; "" leaves everything alone.
        carrier: The type in which numbers travel between operators.
        rounds_to: The type to which every result is rounded, or "".
    """

    name: str = ""
    carrier: str = ""
    rounds_to: str = ""

    @cached_property
    def operators(self) -> tuple[type[Any], ...]:
        """Operators that must know the precision: those whose node or second input names the type of the result."""
        return _casts(self) if self.carrier else ()

    def value(self, value: Any) -> Any:
        """Return a tensor, or a list of tensors, as it travels in this precision; anything else unchanged."""
        if not self.carrier:
            return value
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if isinstance(value, np.generic):
            value = np.asarray(value)
        if not isinstance(value, np.ndarray) or value.dtype.name not in _PLAIN_FLOATS:
            return value
        if self.rounds_to:
            with np.errstate(over="ignore", under="ignore", invalid="ignore"):
                value = value.astype(as_dtype(self.rounds_to))
        return value.astype(self.carrier, copy=False)


PRECISIONS = {
    "": Precision(),
    "float64": Precision("float64", "float64"),
    "float16": Precision("float16", "float32", "float16"),
    "bfloat16": Precision("bfloat16", "float32", "bfloat16"),
}


def _casts(precision: Precision) -> tuple[type[Any], ...]:
    """Return Cast, CastLike and BitCast for a precision: real numbers that they make are of the carrier's type."""
    plain = {onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16, onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE}

    def cast(x: Any, to: int, saturate: Any, round_mode: Any) -> Any:
        if to in plain:
            return np.asarray(x).astype(precision.carrier)
        return cast_to(x, to, True if saturate is None else saturate, round_mode or "up")

    class Cast(OpRun):  # type: ignore[misc]
        op_domain = ""

        def _run(self, x: Any, to: int = 0, saturate: Any = None, round_mode: Any = None) -> tuple[Any]:
            return (cast(x, to, saturate, round_mode),)

    class CastLike(OpRun):  # type: ignore[misc]
        op_domain = ""

        def _run(self, x: Any, like: Any, saturate: Any = None, round_mode: Any = None) -> tuple[Any]:
            return (cast(x, onnx.helper.np_dtype_to_tensor_dtype(like.dtype), saturate, round_mode),)

    class BitCast(OpRun):  # type: ignore[misc]
        op_domain = ""

        def _run(self, x: Any, to: int = 0) -> tuple[Any]:
            target = onnx.helper.tensor_dtype_to_np_dtype(to)
            if x.dtype.name in _PLAIN_FLOATS:  # the bits are those of a number as wide as the result
                x = x.astype(f"f{target.itemsize}")
            return (x.view(target),)

    return Cast, CastLike, BitCast


def widened_call(node: Any, inputs: list[Any], extra: dict[str, Any]) -> Any:
    """Run a node; in float32, with results rounded back, where it adds up or NumPy cannot do it in bfloat16.

    Args:
        node: The operator, an instance of `OpRun`.
        inputs: Input arrays of the node.
        extra: Other arguments of the node.
    """
    bfloat16, float16 = as_dtype("bfloat16"), np.dtype(np.float16)
    with np.errstate(all="ignore"):
        narrow = next((dtype for dtype in (float16, bfloat16) if _holds(inputs, dtype)), None)
        if node.op_type in _ADDING_UP and narrow is not None:
            return _widened(node, inputs, extra, narrow)
        try:
            return node.run(*inputs, **extra)
        except (TypeError, RuntimeTypeError):
            if not _holds(inputs, bfloat16):
                raise
        return _widened(node, inputs, extra, bfloat16)


def _holds(inputs: list[Any], dtype: np.dtype[Any]) -> bool:
    return any(isinstance(item, np.ndarray) and item.dtype == dtype for item in inputs)


def _widened(node: Any, inputs: list[Any], extra: dict[str, Any], dtype: np.dtype[Any]) -> list[Any]:
    wide = [
        item.astype(np.float32) if isinstance(item, np.ndarray) and item.dtype == dtype else item for item in inputs
    ]
    outputs = node.run(*wide, **extra)
    narrow = _outputs_like(node, inputs, dtype)
    return [
        item.astype(dtype) if index in narrow and item.dtype == np.float32 else item
        for index, item in enumerate(outputs)
    ]


def _outputs_like(node: Any, inputs: list[Any], dtype: np.dtype[Any]) -> set[int]:
    """Return the indices of the outputs that the operator's schema ties to an input of this type."""
    domain, opsets = node.onnx_node.domain, node.run_params["opsets"]
    schema = schema_of(node.onnx_node.op_type, opsets.get(domain, 1), domain)
    if schema is None or not schema.inputs:
        return set(range(len(node.output)))
    declared = [schema.inputs[min(index, len(schema.inputs) - 1)].type_str for index in range(len(inputs))]
    tied = {
        text
        for text, item in zip(declared, inputs, strict=True)
        if isinstance(item, np.ndarray) and item.dtype == dtype
    }
    last = len(schema.outputs) - 1
    return {index for index in range(len(node.output)) if schema.outputs[min(index, last)].type_str in tied}
