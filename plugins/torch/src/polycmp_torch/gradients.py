"""Gradients of what a module returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def can_record(tensor: Any) -> bool:
    """Return whether gradients of a tensor are defined: it holds real or complex numbers."""
    return bool(tensor.is_floating_point() or tensor.is_complex())


def gradients_of(torch: Any, outputs: Sequence[Any], leaves: Mapping[str, Any]) -> dict[str, Any]:
    """Return the gradients of tensors that a module was called with, where its outputs depend on them.

    The gradient of each output is the cosine of the elements' places: that of a plain sum would be 0 wherever a module
    scales its outputs to a fixed sum.

    Args:
        torch: The module `torch`.
        outputs: What the module returned.
        leaves: Inputs and parameters that record gradients, by name.
    """
    recorded = [value for value in outputs if getattr(value, "requires_grad", False)]
    if not (recorded and leaves):
        return {}
    cosines = [torch.cos(torch.arange(value.numel(), device=value.device)).to(value.dtype) for value in recorded]
    shaped = [values.reshape(value.shape) for values, value in zip(cosines, recorded, strict=True)]
    gradients = torch.autograd.grad(recorded, [*leaves.values()], shaped, allow_unused=True)
    return {name: gradient for name, gradient in zip(leaves, gradients, strict=True) if gradient is not None}
