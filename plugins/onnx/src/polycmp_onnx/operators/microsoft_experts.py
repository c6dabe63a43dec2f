"""Mixtures of experts of the domain com.microsoft, by ONNX Runtime's `docs/ContribOperators.md`.

The document gives shapes, activations and how weights are quantised. What it leaves open is taken from the kernels for
CPUs (`contrib_ops/cpu/moe/moe_cpu.cc` and `moe_quantization_cpu.cc`): the router's numbers are logits; MoE takes the
softmax over all experts, QMoE over the `k` largest; GELU is its approximation with tanh.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from polycmp_onnx.operators.microsoft import Microsoft, unpacked
from polycmp_onnx.operators.microsoft_attention import softmax


def _relu(x: Any) -> Any:
    return np.maximum(x, 0)


def _silu(x: Any) -> Any:
    with np.errstate(over="ignore"):
        return x / (1 + np.exp(-x))


def _gelu(x: Any) -> Any:
    return 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


_ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "relu": _relu,
    "silu": _silu,
    "gelu": _gelu,
    "identity": lambda x: x,
}


class _Experts(Microsoft):
    """Common parts of both operators: weights are [experts, wide, narrow], tokens [tokens, narrow].

    Attributes:
        over_chosen: Whether the softmax is taken over the chosen experts alone.
    """

    over_chosen = False

    def mixed(
        self, x: Any, router: Any, first: tuple[Any, Any], second: tuple[Any, Any], third: tuple[Any, Any], shares: Any
    ) -> Any:
        """Return the experts' results for each token, weighted.

        Args:
            x: Tokens, of two or three dimensions.
            router: A logit per token and expert.
            first: Weights and biases of the first layer; None where there are no biases.
            second: The same of the second.
            third: The same of the layer that the first one's result is multiplied with; weights may be None.
            shares: Weights of the chosen experts' results, in place of the router's softmax; None for that.

        Raises:
            NotImplementedError: The sparse mixer.
        """
        if self.attribute("use_sparse_mixer", 0):
            raise NotImplementedError("use_sparse_mixer")
        tokens = x.reshape(-1, x.shape[-1])
        likely = softmax(router)
        chosen = np.argsort(-likely, axis=-1, kind="stable")[:, : int(self.attribute("k", 1))]
        weights = np.take_along_axis(likely if shares is None else shares, chosen, axis=-1)
        if self.attribute("normalize_routing_weights", 0) or (self.over_chosen and shares is None):
            total = weights.sum(axis=-1, keepdims=True)
            weights = np.divide(weights, total, out=np.zeros_like(weights), where=total != 0)
        mixed = np.zeros((len(tokens), second[0].shape[1]), x.dtype)
        for expert in np.unique(chosen):
            rows, places = np.nonzero(chosen == expert)
            inner = self._activated(_layer(tokens[rows], first, expert), tokens[rows], third, expert)
            mixed[rows] += weights[rows, places, None] * _layer(inner, second, expert)
        return mixed.reshape(x.shape).astype(x.dtype)

    def _activated(self, inner: Any, tokens: Any, third: tuple[Any, Any], expert: int) -> Any:
        kind = self.attribute("activation_type", "relu")
        gated = None if third[0] is None else _layer(tokens, third, expert)
        if kind != "swiglu":
            if kind not in _ACTIVATIONS:
                raise NotImplementedError(f"activation_type {kind!r}")
            activated = _ACTIVATIONS[kind](inner)
            return activated if gated is None else activated * gated
        fused = int(self.attribute("swiglu_fusion", 0))
        if fused == 1:
            inner, gated = inner[:, ::2], inner[:, 1::2]
        elif fused:
            inner, gated = np.split(inner, 2, axis=-1)
        if gated is None:
            raise NotImplementedError("swiglu that is not fused and has no third layer")
        limit = self.attribute("swiglu_limit", math.inf)
        inner, gated = np.minimum(inner, limit), np.clip(gated, -limit, limit)
        alpha, beta = self.attribute("activation_alpha", 1.0), self.attribute("activation_beta", 0.0)
        with np.errstate(over="ignore"):
            return inner / (1 + np.exp(-alpha * inner)) * (gated + beta)


class MoE(_Experts):
    """Mixture of experts."""

    def _run(
        self,
        x: Any,
        router: Any,
        first: Any,
        first_bias: Any,
        second: Any,
        second_bias: Any = None,
        third: Any = None,
        third_bias: Any = None,
        **_: Any,
    ) -> tuple[Any]:
        pairs = ((first, first_bias), (second, second_bias), (third, third_bias))
        return (self.mixed(x, router, *pairs, None),)


class QMoE(_Experts):
    """Mixture of experts whose weights are whole numbers of few bits, packed along their last dimension."""

    over_chosen = True

    def _run(self, x: Any, router: Any, *more: Any, **_: Any) -> tuple[Any]:
        if (quant := self.attribute("quant_type", "int")) != "int":
            raise NotImplementedError(f"quant_type {quant!r}")
        if self.attribute("weights_prepacked", -1) == 1:
            raise NotImplementedError("weights_prepacked, an order of its own")
        optional_inputs = [*more, *[None] * (13 - len(more))]
        layers = [(*optional_inputs[3 * place : 3 * place + 3], optional_inputs[9 + place]) for place in range(3)]
        one, two, three = (
            (None if codes is None else self._weights(codes, scales, zeros, name, x.dtype), bias)
            for (codes, scales, bias, zeros), name in zip(layers, ("fc1", "fc2", "fc3"), strict=True)
        )
        return (self.mixed(x, router, one, two, three, optional_inputs[12]),)

    def _weights(self, codes: Any, scales: Any, zeros: Any, name: str, dtype: Any) -> Any:
        """Return (codes - zero point) times scale, the latter two one per row or per block of a row."""
        bits = int(self.attribute(f"{name}_expert_weight_bits", self.attribute("expert_weight_bits", 4)))
        values = unpacked(codes, bits).astype(dtype)
        per_row = scales.reshape(*values.shape[:2], -1)
        blocks = per_row.shape[-1]
        if zeros is None:
            middle = np.asarray(1 << (bits - 1), dtype)
        elif zeros.ndim == 3:
            middle = np.repeat(unpacked(zeros, bits)[..., :blocks], values.shape[-1] // blocks, axis=-1).astype(dtype)
        else:
            middle = unpacked(zeros, bits)[:, : values.shape[1], None].astype(dtype)
        return (values - middle) * np.repeat(per_row.astype(dtype), values.shape[-1] // blocks, axis=-1)


def _layer(tokens: Any, layer: tuple[Any, Any], expert: int) -> Any:
    weights, bias = layer
    product = np.matmul(tokens, weights[expert].T)
    return product if bias is None else product + bias[expert]


OPERATORS: dict[str, type[Any]] = {cls.__name__: cls for cls in (MoE, QMoE)}
