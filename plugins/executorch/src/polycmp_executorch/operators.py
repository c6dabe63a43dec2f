"""Operators of ExecuTorch by what ONNX calls the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from polycmp_torch.steps import TYPES

#: Operators that only ExecuTorch's programs have.
_FURTHER: Mapping[str, str] = {
    "_clone_dim_order": "Identity", "_to_dim_order": "Cast", "quantize_per_tensor": "QuantizeLinear",
    "quantize_per_channel": "QuantizeLinear", "dequantize_per_tensor": "DequantizeLinear",
    "dequantize_per_channel": "DequantizeLinear",
}  # fmt: skip


def type_of(operator: str) -> str:
    """Return the type of an operator, by ONNX's name where there is one.

    Args:
        operator: The operator: `aten::convolution`.
    """
    name = operator.rpartition("::")[2].removesuffix("_copy")
    return TYPES.get(name) or _FURTHER.get(name, name)


def operands_of(operator: str, reads: Sequence[int]) -> Sequence[int]:
    """Return what an operator reads in ONNX's order: the bias of a product last.

    Args:
        operator: The operator.
        reads: Places of what it reads.
    """
    return (*reads[1:], reads[0]) if operator == "aten::addmm" else reads
