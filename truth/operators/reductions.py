"""Operators that make one element of many, along axes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from truth.operators.case import Array, Case, allowed, axes_of, draw, each, int64s

_REDUCTIONS = ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")
_AXES: tuple[tuple[tuple[int, ...], tuple[list[int] | None, ...]], ...] = (
    ((3,), (None, [0], [-1])),
    ((2, 3), (None, [0], [1], [-2], [0, 1], [1, 0], [-1, 0])),
    ((2, 3, 5), (None, [1], [0, 2], [-1, -3], [2, 1, 0])),
    ((1, 2, 3, 1, 2), (None, [3], [0, 4, 2])),
    ((0, 3), (None, [0], [1])),
    ((2, 0), (None, [0], [1])),
    ((), (None,)),
)


def _along(array: Array) -> Iterator[Array]:
    yield array
    if array.dtype.kind == "f" and array.size > 2:
        for value in (np.nan, np.inf, -np.inf):
            for place in (0, 1):
                changed = array.copy()
                changed.reshape(-1)[place] = value
                yield changed


def reductions() -> Iterator[Case]:
    """Make cases of Reduce… over axes, given as attribute or as input."""
    for kind in _REDUCTIONS:
        operator = f"Reduce{kind}"
        for dtype in allowed(operator, 0):
            for shape, sets in _AXES if dtype == np.float32 else _AXES[1:2]:
                base = draw(*shape, dtype=dtype)
                base = np.abs(base) if kind == "LogSum" else base
                for x in _along(base) if shape == (2, 3) else (base,):
                    for axes in sets:
                        yield from each(operator, [x], axes=[axes], keepdims=[None, 0, 1])
                        given = [] if axes is None else [int64s(axes)]
                        for inputs in ([x, *given], *([[x, int64s([])], [x, None]] if axes is None else ())):
                            yield from each(operator, inputs, noop_with_empty_axes=[None, 1], keepdims=[None, 0],
                                            since=13)  # fmt: skip
        yield from each(operator, [np.array([[1e4, 2e4], [-3e4, 300]], np.float16)], keepdims=[0])
        yield from each(operator, [np.array([[1000, 1001], [-1000, -1001]], np.float32)], keepdims=[0])
    for operator in ("ArgMax", "ArgMin"):
        for dtype in allowed(operator, 0):
            for shape in ((5,), (2, 3), (3, 1, 4)) if dtype == np.float32 else ((2, 3),):
                for x in (draw(*shape, dtype=dtype), np.ones(shape, dtype), np.abs(draw(*shape, dtype=dtype)) > 1):
                    if x.dtype == dtype:
                        yield from each(operator, [x], axis=axes_of(len(shape)), keepdims=[None, 0],
                                        select_last_index=[None, 1])  # fmt: skip
        yield from each(operator, [np.array([[1, np.nan, 3], [np.nan, 1, np.nan]], np.float32)], axis=[1, 0])


def cumulative() -> Iterator[Case]:
    """Make cases of CumSum and CumProd."""
    for operator in ("CumSum", "CumProd"):
        for dtype in allowed(operator, 0):
            for shape in ((5,), (2, 3), (0, 2), (2, 1, 3, 2)) if dtype == np.float32 else ((2, 3),):
                for axis in range(-len(shape), len(shape)):
                    for at in (np.array(axis, np.int64), np.array(axis, np.int32), int64s([axis])):
                        yield from each(operator, [draw(*shape, dtype=dtype), at], exclusive=[None, 1],
                                        reverse=[None, 1])  # fmt: skip


def normalising() -> Iterator[Case]:
    """Make cases of Softmax and its relatives, and of norms."""
    for operator in ("Softmax", "LogSoftmax", "Hardmax"):
        for dtype in allowed(operator, 0):
            for shape in ((4,), (2, 3), (2, 3, 4), (0, 3), (3, 0), (1, 2, 3, 2)) if dtype == np.float32 else ((2, 3),):
                yield from each(operator, [draw(*shape, dtype=dtype)], axis=axes_of(len(shape)))
        yield from each(operator, [np.array([[1e4, 1, 1e4], [-np.inf, 0, 1]], np.float32)], axis=[None, 0])
        yield from each(operator, [np.full((2, 3), -np.inf, np.float32)], axis=[-1])
    for dtype in allowed("LpNormalization", 0):
        for shape in ((4,), (2, 3, 4)):
            x = draw(*shape, dtype=dtype)
            yield from each("LpNormalization", [x], axis=axes_of(len(shape)), p=[None, 1, 2])
            yield from each("LpNormalization", [x * 0], p=[None, 1, 2])
    for shape in ((1, 5, 2, 2), (2, 3, 4, 1), (2, 7, 3)):
        yield from each("LRN", [draw(*shape)], size=[1, 2, 3, 4, 5, 9], alpha=[None, 0.5], beta=[None, 0.5],
                        bias=[None, 2.0])  # fmt: skip
    for dtype in allowed("MeanVarianceNormalization", 0):
        yield from each("MeanVarianceNormalization", [draw(2, 3, 4, 5, dtype=dtype)],
                        axes=[None, [0], [1], [-1, 0], [0, 1, 2, 3], [0, 2]])  # fmt: skip


def layers() -> Iterator[Case]:
    """Make cases of LayerNormalization and RMSNormalization."""
    for operator in ("LayerNormalization", "RMSNormalization"):
        for dtype in allowed(operator, 0):
            for shape in ((5,), (2, 3), (2, 3, 4), (2, 3, 2, 2)):
                for at in axes_of(len(shape)):
                    first = (-1 if at is None else at) % len(shape)
                    x, scale = draw(*shape, dtype=dtype), draw(*shape[first:], dtype=dtype, seed=1)
                    more: list[list[Array]] = [[]]
                    more += [[draw(*shape[first:], dtype=dtype, seed=2)]] if operator[0] == "L" else []
                    for bias in more:
                        for outputs in (1, 3) if operator[0] == "L" else (1,):
                            yield from each(operator, [x, scale, *bias], outputs=outputs, axis=[at],
                                            epsilon=[None, 0.1], stash_type=[None, 1])  # fmt: skip


def groups() -> Iterator[Case]:
    """Make cases of GroupNormalization, InstanceNormalization and BatchNormalization."""
    shape: tuple[int, ...]
    for shape in ((2, 4), (2, 4, 3), (1, 6, 2, 3)):
        for parts in (1, 2):
            for dtype in allowed("GroupNormalization", 0):
                x = draw(*shape, dtype=dtype)
                for count, since, until in ((parts, 18, 20), (shape[1], 21, 99)):
                    scale, bias = draw(count, dtype=dtype, seed=1), draw(count, dtype=dtype, seed=2)
                    yield from each("GroupNormalization", [x, scale, bias], num_groups=[parts], epsilon=[None, 0.1],
                                    stash_type=[None], since=since, until=until)  # fmt: skip
    for shape in ((2, 3, 4), (1, 3, 2, 5), (2, 3, 2, 2, 2), (2, 3)):
        for dtype in allowed("InstanceNormalization", 0):
            x, scale, bias = draw(*shape, dtype=dtype), draw(3, dtype=dtype, seed=1), draw(3, dtype=dtype, seed=2)
            if len(shape) > 2:
                yield from each("InstanceNormalization", [x, scale, bias], epsilon=[None, 0.1])
            mean, var = draw(3, dtype=dtype, seed=3), np.abs(draw(3, dtype=dtype, seed=4)) + dtype.type(1)
            yield from each("BatchNormalization", [x, scale, bias, mean, var], epsilon=[None, 0.1], spatial=[None, 1],
                            momentum=[None, 0.5])  # fmt: skip
            yield from each("BatchNormalization", [x, scale, bias, mean, var], training_mode=[1],
                            momentum=[None, 0.5], outputs=3)  # fmt: skip
