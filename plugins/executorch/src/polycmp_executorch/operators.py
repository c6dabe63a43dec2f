"""Operators of ExecuTorch by what ONNX calls the same."""

from __future__ import annotations

from collections.abc import Mapping

from polycmp_torch.steps import TYPES

#: Operators that only ExecuTorch's programs have; what a linear layer adds is one of its own here.
_FURTHER: Mapping[str, str] = {
    "_clone_dim_order": "Identity", "_to_dim_order": "Cast", "quantize_per_tensor": "QuantizeLinear",
    "quantize_per_channel": "QuantizeLinear", "dequantize_per_tensor": "DequantizeLinear",
    "dequantize_per_channel": "DequantizeLinear",
    "addmm": "MatMul",
}  # fmt: skip


def type_of(operator: str, settings: Mapping[str, object] | None = None) -> str:
    """Return the type of an operator, by ONNX's name where there is one.

    Args:
        operator: The operator: `aten::convolution`.
        settings: Its plain arguments.
    """
    name = operator.rpartition("::")[2].removesuffix("_copy")
    if name == "mean" and settings is not None and settings.get("argument 1") == [-1, -2]:
        return "GlobalAveragePool"  # which an export writes so
    return _FURTHER.get(name) or TYPES.get(name, name)
