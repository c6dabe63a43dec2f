"""PyTorch's own functions for operators that have one, written for no runtime: a third answer to a case."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from truth.operators.case import Case

Tensors = Sequence[Any]


class NoCounterpartError(Exception):
    """PyTorch has no function that does what is asked."""


def counterpart(case: Case) -> list[Any]:
    """Return what PyTorch makes of a case.

    Raises:
        NoCounterpartError: It has no function for it.
    """
    function = _FUNCTIONS.get(case.operator)
    if function is None:
        raise NoCounterpartError("no function")
    feed = [_tensor(case.feed[name]) if name else None for name in case.nodes[0].input]
    made = function(feed, dict(case.attributes))
    return [item.numpy() for item in (made if isinstance(made, tuple) else (made,))]


def _tensor(array: Any) -> Any:
    if array.dtype.name not in _KNOWN:
        raise NoCounterpartError(array.dtype.name)
    return torch.from_numpy(np.array(array))


_KNOWN = frozenset({"float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool"})


def _only(told: dict[str, Any], *known: str, **required: Any) -> None:
    """Check that nothing else is asked for than PyTorch has."""
    if set(told) - set(known) - set(required) or any(
        told.get(name, value) != value for name, value in required.items()
    ):
        raise NoCounterpartError(f"{told}")


def _elementwise(function: Callable[..., Any], *known: str) -> Callable[..., Any]:
    def run(x: Tensors, told: dict[str, Any]) -> Any:
        _only(told, *known)
        made = function(*x, *told.values())
        if made.dtype not in {x[0].dtype, torch.bool}:
            raise NoCounterpartError("gives real numbers for whole ones")
        return made

    return run


def _conv(x: Tensors, told: dict[str, Any]) -> Any:
    _only(told, "strides", "dilations", "group", "pads", "kernel_shape", auto_pad="NOTSET")
    rank = x[0].ndim - 2
    pads = told.get("pads") or [0] * 2 * rank
    spread = [number for at in reversed(range(rank)) for number in (pads[at], pads[at + rank])]
    function = (functional.conv1d, functional.conv2d, functional.conv3d)[rank - 1]
    return function(functional.pad(x[0], spread), x[1], x[2] if len(x) > 2 else None, told.get("strides") or 1, 0,
                    told.get("dilations") or 1, told.get("group", 1))  # fmt: skip


def _conv_transpose(x: Tensors, told: dict[str, Any]) -> Any:
    _only(told, "strides", "dilations", "group", "pads", "output_padding", "kernel_shape", auto_pad="NOTSET")
    rank = x[0].ndim - 2
    pads = told.get("pads") or [0] * 2 * rank
    if pads[:rank] != pads[rank:]:
        raise NoCounterpartError("pads")
    function = (functional.conv_transpose1d, functional.conv_transpose2d, functional.conv_transpose3d)[rank - 1]
    return function(x[0], x[1], x[2] if len(x) > 2 else None, told.get("strides") or 1, tuple(pads[:rank]),
                    told.get("output_padding") or 0, told.get("group", 1), told.get("dilations") or 1)  # fmt: skip


def _pool(kind: str) -> Callable[..., Any]:
    def run(x: Tensors, told: dict[str, Any]) -> Any:
        known = ["kernel_shape", "strides", "pads", "ceil_mode", *(["dilations"] if kind == "max" else [])]
        known += ["count_include_pad"] if kind == "avg" else []
        _only(told, *known, auto_pad="NOTSET", storage_order=0)
        rank = x[0].ndim - 2
        pads, kernel = told.get("pads") or [0] * 2 * rank, told["kernel_shape"]
        if pads[:rank] != pads[rank:] or any(pad > size // 2 for pad, size in zip(pads, kernel, strict=False)):
            raise NoCounterpartError("pads")
        strides, ceil = told.get("strides") or [1] * rank, bool(told.get("ceil_mode"))
        name = f"{kind}_pool{rank}d"
        if kind == "max":
            return getattr(functional, name)(x[0], kernel, strides, pads[:rank], told.get("dilations") or 1, ceil)
        return getattr(functional, name)(x[0], kernel, strides, pads[:rank], ceil, bool(told.get("count_include_pad")))

    return run


def _resize(x: Tensors, told: dict[str, Any]) -> Any:
    _only(told, "mode", "coordinate_transformation_mode", "cubic_coeff_a", "nearest_mode", exclude_outside=0)
    mode, place = told.get("mode", "nearest"), told.get("coordinate_transformation_mode", "half_pixel")
    if len(x) < 3 or x[2] is None or not x[2].numel() or told.get("cubic_coeff_a", -0.75) != -0.75 or x[0].ndim < 3:
        raise NoCounterpartError("sizes")
    rank = x[0].ndim - 2
    scales = x[2].tolist()
    names = {"linear": {1: "linear", 2: "bilinear", 3: "trilinear"}, "cubic": {2: "bicubic"}}
    wanted = {"align_corners": True, "pytorch_half_pixel": False}
    if mode == "nearest" and place == "asymmetric" and told.get("nearest_mode") == "floor":
        return functional.interpolate(x[0], scale_factor=scales[2:], mode="nearest")
    if scales[:2] != [1, 1] or place not in wanted or rank not in names.get(mode, {}):
        raise NoCounterpartError(f"{mode} {place}")
    return functional.interpolate(x[0], scale_factor=scales[2:], mode=names[mode][rank], align_corners=wanted[place],
                                  recompute_scale_factor=False)  # fmt: skip


def _grid_sample(x: Tensors, told: dict[str, Any]) -> Any:
    mode = {"linear": "bilinear", "cubic": "bicubic"}.get(told.get("mode", "linear"), told.get("mode", "linear"))
    return functional.grid_sample(
        x[0], x[1], mode, told.get("padding_mode", "zeros"), bool(told.get("align_corners", 0))
    )


def _recurrent(x: Tensors, told: dict[str, Any], kind: str) -> Any:
    _only(told, "hidden_size", "direction", linear_before_reset=int(kind == "GRU"), layout=0, input_forget=0)
    if kind == "GRU" and not told.get("linear_before_reset"):
        raise NoCounterpartError("linear_before_reset")
    given = [*x, *[None] * (8 - len(x))]
    if given[4] is not None or given[7] is not None or told.get("direction") == "reverse":
        raise NoCounterpartError("lengths, peepholes, reverse")
    gates = {"RNN": [0], "GRU": [1, 0, 2], "LSTM": [0, 2, 3, 1]}[kind]
    directions, hidden = given[1].shape[0], given[2].shape[2]
    module = getattr(torch.nn, kind)(given[0].shape[2], hidden, bidirectional=directions == 2).to(given[0].dtype)

    def ordered(weights: Any) -> Any:
        return torch.cat([weights.reshape(len(gates), hidden, -1)[gate] for gate in gates]).squeeze()

    with torch.no_grad():
        for place in range(directions):
            tail = "_reverse" if place else ""
            getattr(module, f"weight_ih_l0{tail}").copy_(ordered(given[1][place]).reshape(len(gates) * hidden, -1))
            getattr(module, f"weight_hh_l0{tail}").copy_(ordered(given[2][place]).reshape(len(gates) * hidden, -1))
            bias = torch.zeros(2 * len(gates) * hidden) if given[3] is None else given[3][place]
            for name, part in zip(("ih", "hh"), bias.chunk(2), strict=True):
                getattr(module, f"bias_{name}_l0{tail}").copy_(ordered(part))
        zero = torch.zeros(directions, given[0].shape[1], hidden, dtype=given[0].dtype)
        h, c = (zero if item is None else item for item in (given[5], given[6]))
        y, last = module(given[0], (h, c) if kind == "LSTM" else h)
    y = y.reshape(*y.shape[:2], directions, hidden).permute(0, 2, 1, 3).contiguous()
    return (y, *last) if kind == "LSTM" else (y, last)


def _norm(x: Tensors, told: dict[str, Any]) -> Any:
    _only(told, "axis", "epsilon", "stash_type")
    axis = told.get("axis", -1) % x[0].ndim
    return functional.layer_norm(x[0], x[0].shape[axis:], x[1], x[2] if len(x) > 2 else None, told.get("epsilon", 1e-5))


def _rms_norm(x: Tensors, told: dict[str, Any]) -> Any:
    axis = told.get("axis", -1) % x[0].ndim
    return functional.rms_norm(x[0], x[0].shape[axis:], x[1], told.get("epsilon", 1e-5))


def _batch_norm(x: Tensors, told: dict[str, Any]) -> Any:
    _only(told, "epsilon", "momentum", "spatial", training_mode=0)
    return functional.batch_norm(x[0], x[3], x[4], x[1], x[2], eps=told.get("epsilon", 1e-5))


def _scatter(x: Tensors, told: dict[str, Any]) -> Any:
    reduce = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}.get(told.get("reduction", "none"))
    axis = told.get("axis", 0)
    index = torch.where(x[1] < 0, x[1] + x[0].shape[axis], x[1])
    return x[0].scatter(axis, index, x[2]) if reduce is None else x[0].scatter_reduce(axis, index, x[2], reduce)


def _cumulative(function: Any) -> Callable[..., Any]:
    def run(x: Tensors, told: dict[str, Any]) -> Any:
        _only(told, exclusive=0, reverse=0)
        return function(x[0], int(x[1].reshape(())), dtype=x[0].dtype)

    return run


def _loss(x: Tensors, told: dict[str, Any]) -> Any:
    weight = x[2] if len(x) > 2 else None
    return functional.nll_loss(x[0], x[1].long(), weight, ignore_index=told.get("ignore_index", -100),
                               reduction=told.get("reduction", "mean"))  # fmt: skip


def _attention(x: Tensors, told: dict[str, Any]) -> Any:
    _only(told, "is_causal", "scale")
    if x[0].ndim != 4 or len(x) > 4 or (len(x) == 4 and told.get("is_causal")):
        raise NoCounterpartError("inputs")
    return functional.scaled_dot_product_attention(
        x[0], x[1], x[2], x[3] if len(x) > 3 else None, is_causal=bool(told.get("is_causal")), scale=told.get("scale"),
        enable_gqa=True,
    )  # fmt: skip


def _fold(x: Tensors, told: dict[str, Any]) -> Any:
    pads = told.get("pads", [0] * 2 * len(x[1]))
    half = len(x[1])
    if half != 2 or pads[:half] != pads[half:]:
        raise NoCounterpartError("sizes")
    return functional.fold(
        x[0], x[1].tolist(), x[2].tolist(), told.get("dilations", 1), pads[:half], told.get("strides", 1)
    )


def _softmax(function: Any) -> Callable[..., Any]:
    def run(x: Tensors, told: dict[str, Any]) -> Any:
        return function(x[0], told.get("axis", -1))

    return run


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{
        name: _elementwise(getattr(torch, name.lower()))
        for name in (
            *("Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Cos", "Cosh", "Erf", "Exp", "Floor"),
            *("IsNaN", "Log", "Neg", "Reciprocal", "Relu", "Round", "Sigmoid", "Sign", "Sin", "Sinh", "Sqrt", "Tan"),
            *("Tanh", "Add", "Sub", "Mul", "Greater", "Less", "Det"),
        )
    },
    "AffineGrid": lambda x, told: functional.affine_grid(x[0], x[1].tolist(), bool(told.get("align_corners", 0))),
    "Attention": _attention,
    "AveragePool": _pool("avg"),
    "BatchNormalization": _batch_norm,
    "Celu": lambda x, told: functional.celu(x[0], told.get("alpha", 1.0)),
    "Col2Im": _fold,
    "Conv": _conv,
    "ConvTranspose": _conv_transpose,
    "CumProd": _cumulative(torch.cumprod),
    "CumSum": _cumulative(torch.cumsum),
    "Einsum": lambda x, told: torch.einsum(told["equation"].replace(" ", ""), *x),
    "Elu": lambda x, told: functional.elu(x[0], told.get("alpha", 1.0)),
    "Gelu": lambda x, told: functional.gelu(x[0], approximate=told.get("approximate", "none")),
    "GridSample": _grid_sample,
    "GRU": lambda x, told: _recurrent(x, told, "GRU"),
    "HardSwish": _elementwise(functional.hardswish),
    "LayerNormalization": _norm,
    "LeakyRelu": lambda x, told: functional.leaky_relu(x[0], told.get("alpha", 0.01)),
    "LSTM": lambda x, told: _recurrent(x, told, "LSTM"),
    "MatMul": _elementwise(torch.matmul),
    "MaxPool": _pool("max"),
    "Mish": _elementwise(functional.mish),
    "NegativeLogLikelihoodLoss": _loss,
    "Resize": _resize,
    "RMSNormalization": _rms_norm,
    "RNN": lambda x, told: _recurrent(x, told, "RNN"),
    "ScatterElements": _scatter,
    "Softplus": _elementwise(functional.softplus),
    "Softsign": _elementwise(functional.softsign),
}
