"""Normalizations: by mean and variance, and by the L2 norm."""

from __future__ import annotations

from typing import Any

import numpy as np

from polycmp_pluginref.registry import register


def _standardize(x: Any, axes: tuple[int, ...], epsilon: float) -> Any:
    """Return (x - mean) / √(variance + epsilon) in float64, with mean and variance over the axes."""
    centred = x - x.mean(axes, np.float64, keepdims=True)
    return centred / np.sqrt(np.square(centred).mean(axes, keepdims=True) + epsilon)


def _per_channel(values: Any, rank: int) -> Any:
    """Return one value per channel, shaped to multiply with a tensor [N, C, ...] of this rank."""
    return np.asarray(values, np.float64).reshape(-1, *(1,) * (rank - 2))


def _spatial(x: Any) -> tuple[int, ...]:
    return tuple(range(2, x.ndim))


@register("InstanceNormalization")
def instance_normalization(x: Any, scale: Any, bias: Any, *, epsilon: float = 1e-5) -> Any:
    """Return scale (x - mean) / √(variance + epsilon) + bias, per instance and channel.

    Source: ONNX operator InstanceNormalization.
    """
    result = _standardize(x, _spatial(x), epsilon) * _per_channel(scale, x.ndim) + _per_channel(bias, x.ndim)
    return result.astype(x.dtype)


@register("InstanceNormalization_TRT")
def instance_normalization_trt(
    x: Any,
    scale_input: Any = None,
    bias_input: Any = None,
    *,
    scales: Any = None,
    bias: Any = None,
    epsilon: float = 0.0,
    relu: int = 0,
    alpha: float = 0.0,
) -> Any:
    """Return `instance_normalization`, followed by a leaky ReLU of slope `alpha` if `relu` is set.

    Source: TensorRT, plugin/instanceNormalizationPlugin. Scale and bias are attributes there; inputs are accepted too.
    Without an `epsilon`, that plugin adds nothing.
    """
    scale = scales if scale_input is None else scale_input
    offset = bias if bias_input is None else bias_input
    if scale is None or offset is None:
        raise ValueError("InstanceNormalization_TRT needs scales and bias, as attributes or as inputs")
    result = instance_normalization(x, scale, offset, epsilon=epsilon)
    return np.where(result < 0, result * np.asarray(alpha, x.dtype), result) if relu else result


@register("MeanVarianceNormalization")
def mean_variance_normalization(x: Any, *, axes: Any = (0, 2, 3)) -> Any:
    """Return (x - mean) / (√variance + 1e-9), with mean and variance over the axes.

    Source: ONNX operator MeanVarianceNormalization, the function that defines it.
    """
    centred = x - x.mean(tuple(axes), np.float64, keepdims=True)
    deviation = np.sqrt(np.square(centred).mean(tuple(axes), keepdims=True))
    return (centred / (deviation + 1e-9)).astype(x.dtype)


@register("GroupNormalizationPlugin")
def group_normalization(x: Any, scale: Any, bias: Any, *, eps: float = 1e-5, num_groups: int = 1) -> Any:
    """Return scale (x - mean) / √(variance + eps) + bias; mean and variance per instance and group of channels.

    Source: TensorRT, plugin/groupNormalizationPlugin/groupNormalizationPlugin.cpp. Scale and bias hold one value per
    channel.
    """
    groups = x.reshape(x.shape[0], num_groups, -1)
    result = _standardize(groups, (2,), eps).reshape(x.shape)
    return (result * _per_channel(scale, x.ndim) + _per_channel(bias, x.ndim)).astype(x.dtype)


@register("CustomSkipLayerNormPluginDynamic")
def skip_layer_normalization(
    x: Any,
    skip: Any,
    *,
    beta: Any,
    gamma: Any,
    bias: Any = 0.0,
    ld: int = 0,
    type_id: int = 0,
    plugin_version: str = "1",
) -> Any:
    """Return gamma (v - mean) / √(variance + ε) + beta for v = x + skip + bias, over rows of E elements.

    Source: TensorRT, plugin/skipLayerNormPlugin/skipLayerNormKernel.cu, versions 1 and 2: [S, B, E] or
    [S, B, E, 1, 1], E being `ld` or the number of gammas; ε is float32's distance from 1 to the next number.
    `type_id` only chooses TensorRT's precision. Versions 3 and later are int8 with another layout: not here.
    """
    if plugin_version not in {"1", "2"}:
        raise ValueError(f"there is no reference for version {plugin_version} of CustomSkipLayerNormPluginDynamic")
    gamma, beta, bias = (np.asarray(value, np.float64).reshape(-1) for value in (gamma, beta, bias))
    rows = (x.astype(np.float64) + skip).reshape(-1, ld or gamma.size) + bias
    result = _standardize(rows, (1,), float(np.finfo(np.float32).eps)) * gamma + beta
    return result.reshape(x.shape).astype(x.dtype)


@register("Normalize_TRT")
def l2_normalize(
    x: Any,
    *,
    weights: Any,
    acrossSpatial: int,  # noqa: N803  (TensorRT's names)
    channelShared: int,  # noqa: N803
    eps: float,
    nbWeights: int = 1,  # noqa: N803
) -> Any:
    """Return weights x / √(Σ x² + eps), summed over the channels, and over space too if `acrossSpatial` is set.

    Source: TensorRT, plugin/normalizePlugin/README.md and plugin/common/kernels/normalizeLayer.cu. There is one
    weight if `channelShared` is set, else one per channel. With `acrossSpatial` and one weight per channel, that
    kernel divides by the weight although the README says to multiply; this reference multiplies.
    """
    axes = (1, *_spatial(x)) if acrossSpatial else (1,)
    norm = np.sqrt(np.square(x, dtype=np.float64).sum(axes, keepdims=True) + eps)
    scale = _per_channel(weights, x.ndim)
    return (x / norm * (scale[:1] if channelShared else scale)).astype(x.dtype)
