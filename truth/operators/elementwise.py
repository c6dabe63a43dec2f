"""Operators that work on each element, or on pairs of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from truth.operators.case import Array, Case, allowed, draw, each

_SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-30, -1e-30, 0.5, 1.5, 2.5, -0.5, -1.5, 88.0, -88.0, 3e38, 1.0, -1.0]
_UNARY: dict[str, dict[str, Any]] = {
    **{
        name: {}
        for name in (
            *("Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "BitwiseNot", "Ceil", "Cos", "Cosh", "Erf"),
            *("Exp", "Floor", "HardSwish", "Identity", "IsNaN", "Log", "Mish", "Neg", "Not", "Reciprocal", "Relu"),
            *("Round", "Sigmoid", "Sign", "Sin", "Sinh", "Softplus", "Softsign", "Sqrt", "Tan", "Tanh", "Size"),
            "NonZero",
        )
    },
    "Celu": {"alpha": [None, 0.3, 2.0, -0.5]},
    "Elu": {"alpha": [None, 0.3, 2.0, -0.5]},
    "Gelu": {"approximate": [None, "none", "tanh"]},
    "HardSigmoid": {"alpha": [None, 0.5], "beta": [None, 0.1]},
    "IsInf": {"detect_negative": [None, 0, 1], "detect_positive": [None, 0, 1]},
    "LeakyRelu": {"alpha": [None, 0.0, 1.5, -0.5]},
    "Selu": {"alpha": [None, 0.3], "gamma": [None, 0.7]},
    "Shape": {"start": [None, 1, -1, -7, 7], "end": [None, 0, 1, -1, -7, 7]},
    "Shrink": {"lambd": [None, 0.0, 1.5], "bias": [None, 0.7, 1.5]},
    "Swish": {"alpha": [None, 0.0, 1.7, -0.5]},
    "ThresholdedRelu": {"alpha": [None, 0.0, 0.5, -0.5]},
}
_BINARY = (
    *("Add", "And", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Div", "Equal", "Greater", "GreaterOrEqual", "Less"),
    *("LessOrEqual", "Mul", "Or", "PRelu", "Pow", "Sub", "Xor"),
)
_SHAPES = [((3, 4), (3, 4)), ((3, 4), (4,)), ((2, 1, 3), (2, 4, 1)), ((), (3,)), ((5,), ()), ((0, 3), (1, 3)),
           ((2, 3), (0, 2, 3)), ((), ()), ((2, 1, 3, 1, 2), (3, 1, 5, 1))]  # fmt: skip


def _special(dtype: np.dtype[Any]) -> Array:
    with np.errstate(all="ignore"):
        return np.array(_SPECIAL).astype(dtype)


def unary() -> Iterator[Case]:
    """Make cases of operators with one input."""
    for operator, choices in _UNARY.items():
        types = allowed(operator, 0)
        for dtype in types:
            yield from each(operator, [draw(2, 3, dtype=dtype)], **choices)
            if dtype.kind == "f" and dtype.itemsize > 1:
                yield from each(operator, [_special(dtype)], **choices)
        main = np.dtype(np.float32) if np.dtype(np.float32) in types else types[0]
        for shape in ((), (1,), (0,), (0, 3), (2, 1, 3), (1, 2, 3, 2, 1)):
            yield from each(operator, [draw(*shape, dtype=main)], **choices)


def _nonzero(array: Array) -> Array:
    return np.where(array == 0, np.ones_like(array), array)


def binary() -> Iterator[Case]:
    """Make cases of operators with two inputs that are broadcast."""
    for operator in _BINARY:
        types = allowed(operator, 0)
        for dtype in types:
            for first, second in _SHAPES if dtype in {types[0], np.dtype(np.float32)} else _SHAPES[:2]:
                if operator == "PRelu" and np.broadcast_shapes(first, second) != first:
                    continue  # its slope is broadcast, its data is not
                a, b = draw(*first, dtype=dtype, seed="a"), draw(*second, dtype=dtype, seed="b")
                if operator == "Pow":
                    a, b = (np.abs(a) + a.dtype.type(1)).astype(dtype), (np.abs(b)).astype(dtype)
                yield from each(operator, [a, _nonzero(b) if operator == "Div" else b])
            if dtype.kind == "f" and dtype.itemsize > 1:
                values = _special(dtype)
                yield from each(operator, [values[:, None], values] if operator != "PRelu" else [values, values])
    for dtype in allowed("Pow", 1):
        for base in (np.float32, np.int32):
            yield from each("Pow", [np.array([1, 2, 3], base), draw(3, dtype=dtype).clip(0)])
    for dtype in allowed("Mod", 0):
        for first, second in _SHAPES[:4]:
            a, b = draw(*first, dtype=dtype, seed="a"), _nonzero(draw(*second, dtype=dtype, seed="b"))
            yield from each("Mod", [a, b], fmod=[None, 0, 1] if dtype.kind in "iu" else [1])
        if dtype.kind == "f" and dtype.itemsize > 1:
            yield from each("Mod", [_special(dtype)[:, None], _special(dtype)], fmod=[1])
    for dtype in allowed("BitShift", 0):
        for shape in ((4,), (2, 4), ()):
            a, b = np.arange(1, 5, dtype=dtype), draw(*shape, dtype=dtype)
            yield from each("BitShift", [a, np.abs(b)], direction=["LEFT", "RIGHT"])
        yield from each("BitShift", [np.full(3, 200, dtype) if dtype.itemsize > 1 or dtype.kind == "u" else
                                     np.full(3, -100, dtype), np.array([0, 1, dtype.itemsize * 8 - 1], dtype)],
                        direction=["LEFT", "RIGHT"])  # fmt: skip


def several() -> Iterator[Case]:
    """Make cases of operators with any number of inputs, of clipping and of choosing."""
    for operator in ("Max", "Min", "Mean", "Sum"):
        for dtype in allowed(operator, 0):
            for shapes in (((2, 3),), ((2, 3), (2, 3)), ((2, 1), (3,), (4, 1, 1)), ((0, 2), (1, 2)), ((), (2,))):
                yield from each(operator, [draw(*shape, dtype=dtype, seed=at) for at, shape in enumerate(shapes)])
            if dtype.kind == "f" and dtype.itemsize > 1:
                yield from each(operator, [_special(dtype)[:, None], _special(dtype)])
    for dtype in allowed("Clip", 0):
        x, low, high = draw(3, 5, dtype=dtype), np.array(1, dtype), np.array(3, dtype)
        for limits in ([], [low], [None, high], [low, high], [high, low]):
            yield from each("Clip", [x, *limits])
        if dtype.kind == "f":
            yield from each("Clip", [_special(dtype), -high, high])
        yield from each("Clip", [x], min=[None, 0.5], max=[None, 1.0, 0.25])
    for dtype in allowed("Where", 1):
        for shape in ((2, 3), (3,), (4, 1, 1), ()):
            condition = draw(*shape, dtype=bool)
            yield from each("Where", [condition, draw(2, 3, dtype=dtype), draw(1, dtype=dtype, seed=1)])
    yield from each("Where", [np.array([True, False]), np.array(["a", "b"], object), np.array(["c"], object)])
    for dtype in allowed("SwiGLU", 0):
        for shape in ((2, 4), (3,), (0, 4)):
            yield from each("SwiGLU", [draw(*shape, dtype=dtype), draw(*shape, dtype=dtype, seed=1)],
                            alpha=[None, 1.7])  # fmt: skip
