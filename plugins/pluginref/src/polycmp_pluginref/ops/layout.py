"""Operators that move elements and calculate nothing."""

from __future__ import annotations

from typing import Any

from polycmp_pluginref.registry import register


@register("Identity")
def identity(x: Any) -> Any:
    """Return a copy of the input: a tensor, a sequence, or nothing.

    Source: ONNX operator Identity.
    """
    return None if x is None else x.copy()


@register("Reorg_TRT")
def reorg(x: Any, *, stride: int) -> Any:
    """Return [N, C, H, W] rearranged to [N, C s², H/s, W/s] for a stride s, in darknet's order.

    That order reads the input as if it were [N, C/s², H s, W s], moves blocks of s × s elements into channels, and
    reads the result as [N, C s², H/s, W/s].

    Source: TensorRT, plugin/common/kernels/reorgForward.cu and the example in plugin/reorgPlugin/README.md.
    """
    n, c, h, w = x.shape
    if c % stride**2 or h % stride or w % stride:
        raise ValueError(f"Reorg_TRT: shape {x.shape} does not divide by stride {stride}")
    blocks = x.reshape(n, c // stride**2, h, stride, w, stride)
    return blocks.transpose(0, 3, 5, 1, 2, 4).reshape(n, c * stride**2, h // stride, w // stride)
