"""Activation functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from polycmp_pluginref.registry import register


@register("LReLU_TRT")
def leaky_relu(x: Any, *, negSlope: float) -> Any:  # noqa: N803  (TensorRT's name)
    """Return x where it is positive, else x times `negSlope`.

    Source: TensorRT, plugin/common/kernels/lReLU.cu. The one product is formed in the type of x, as there.
    """
    return np.where(x > 0, x, x * np.asarray(negSlope, x.dtype))


@register("Clip_TRT")
def clip(x: Any, *, clipMin: float, clipMax: float) -> Any:  # noqa: N803
    """Return x, raised to `clipMin` at least and then lowered to `clipMax` at most.

    Source: TensorRT, plugin/clipPlugin/clip.cu. Limits are rounded towards zero for integers.
    """
    low, high = (np.asarray(limit).astype(x.dtype) for limit in (clipMin, clipMax))
    raised = np.where(x > low, x, low)
    return np.where(raised < high, raised, high)


@register("CustomGeluPluginDynamic")
def gelu(x: Any, *, type_id: int = 0, bias: Any = None) -> Any:
    """Return v Φ(v) for v = x + bias, with Φ in its tanh form: (1 + tanh(√(2/π) (v + 0.044715 v³))) / 2.

    Source: TensorRT, plugin/geluPlugin/geluKernel.cu. A bias of E values repeats over rows of E elements, wherever
    the axis of E is among axes of size 1 ([S, B, E] or [S, B, E, 1, 1]). `type_id` only chooses TensorRT's
    precision.
    """
    value = x.astype(np.float64)
    if bias is not None:
        bias = np.asarray(bias, np.float64).reshape(-1)
        value = (value.reshape(-1, bias.size) + bias).reshape(x.shape)
    cdf = 0.5 * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (value + 0.044715 * value**3)))
    return (value * cdf).astype(x.dtype)
