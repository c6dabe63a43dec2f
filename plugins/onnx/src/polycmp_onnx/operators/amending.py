"""What is done around ONNX's own class of an operator, whichever version of it an opset takes."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import defs, helper
from onnx.reference.ops import load_op

#: Quotients beyond this are beyond any code, and far from the limits of the whole numbers that ONNX's puts them into.
_BEYOND_ANY_CODE = 2.0**20


class Amendment:
    """Comes before ONNX's own class, and calls it as `super()`."""


def amended(amendment: type[Amendment], op_type: str, opset: int) -> type[Any]:
    """Return ONNX's own class for an opset, amended."""
    members = {"op_schema": defs.get_schema(op_type, opset, "")}  # whose attributes and defaults it knows
    return type(amendment.__name__, (amendment, load_op("", op_type, opset)), members)


class QuantizeLinear(Amendment):
    """QuantizeLinear; ONNX's wraps around where a quotient is beyond 32 bits, infinity among them."""

    def _run(self, x: Any, scale: Any, *zero: Any, axis: int = 1, **attributes: Any) -> Any:
        precision = attributes.pop("precision", None)
        kind = helper.tensor_dtype_to_np_dtype(precision) if precision else x.dtype
        quotient = x.astype(kind) / _spread(scale.astype(kind), x.shape, axis, attributes.get("block_size") or 0)
        near = quotient.astype(np.float64).clip(-_BEYOND_ANY_CODE, _BEYOND_ANY_CODE)
        return super()._run(near, np.ones(scale.shape), *zero, axis=axis, **attributes)  # type: ignore[misc]


def _spread(scale: Any, shape: tuple[int, ...], axis: int, block: int) -> Any:
    """Return scales of a tensor, of an axis or of blocks as they are broadcast to a shape."""
    if scale.size == 1:
        return scale.reshape(())
    if scale.ndim == 1:
        return scale.reshape([-1 if place == axis % len(shape) else 1 for place in range(len(shape))])
    return np.take(np.repeat(scale, block, axis=axis), range(shape[axis]), axis=axis)


class Attention(Amendment):
    """Attention; ONNX's caps the product of queries and keys where it is asked for as it is."""

    def _run(self, *inputs: Any, softcap: Any = None, qk_matmul_output_mode: Any = None, **attributes: Any) -> Any:
        run = super()._run  # type: ignore[misc]
        outputs = run(*inputs, softcap=softcap, qk_matmul_output_mode=qk_matmul_output_mode, **attributes)
        if not softcap or qk_matmul_output_mode or len(self.onnx_node.output) <= _PRODUCT:  # type: ignore[attr-defined]
            return outputs
        plain = run(*inputs, softcap=None, qk_matmul_output_mode=qk_matmul_output_mode, **attributes)
        return (*outputs[:_PRODUCT], plain[_PRODUCT])


#: Which output of Attention the product is.
_PRODUCT = 3
