"""Operators that multiply matrices, transform signals, attend, and judge losses."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from onnx import TensorProto

from truth.operators.case import Array, Case, allowed, draw, each, int64s, told

_EQUATIONS = (
    ("ij->ji", ((3, 4),)),
    ("ij", ((3, 4),)),
    ("ii->i", ((3, 3),)),
    ("ii", ((3, 3),)),
    ("i,j->ij", ((3,), (4,))),
    ("ij,jk->ik", ((2, 3), (3, 4))),
    ("ij,jk", ((2, 3), (3, 4))),
    ("bij,bjk->bik", ((2, 2, 3), (2, 3, 4))),
    ("...ij,...jk->...ik", ((2, 1, 2, 3), (5, 3, 4))),
    ("...ii->...i", ((2, 3, 3),)),
    ("ij->", ((3, 4),)),
    ("i...->...", ((3, 4),)),
    ("b a , b c -> a c", ((2, 3), (2, 4))),
    ("ij,ij,ij->i", ((2, 3), (2, 3), (2, 3))),
    ("ba,cd", ((2, 3), (4, 5))),
    ("ij,j", ((2, 3), (3,))),
    ("...", ((2, 3),)),
    ("A...a->a...A", ((2, 3, 4),)),
    ("ij,kj->ik", ((2, 0), (3, 0))),
    ("i,i->", ((3,), (3,))),
    (",->", ((), ())),
    ("ijj->ij", ((2, 3, 3),)),
    ("ij,jk->ik", ((2, 1), (3, 4))),
)


def products() -> Iterator[Case]:
    """Make cases of MatMul, Gemm, Einsum and Det."""
    dtype: Any
    for first, second in (
        ((2, 3), (3, 4)),
        ((3,), (3, 4)),
        ((2, 3), (3,)),
        ((3,), (3,)),
        ((2, 1, 2, 3), (5, 3, 4)),
        ((2, 0), (0, 3)),
        ((0, 3), (3, 2)),
        ((5, 2, 3), (3,)),
        ((3,), (2, 3, 4)),
    ):
        for dtype in allowed("MatMul", 0):
            yield from each("MatMul", [draw(*first, dtype=dtype), draw(*second, dtype=dtype, seed=1)])
        for dtype in (np.uint8, np.int8):
            a, b = draw(*first, dtype=dtype), draw(*second, dtype=np.int8, seed=1)
            for zeros in (
                [],
                [np.array(2, dtype)],
                [None, np.array(1, np.int8)],
                [np.array(2, dtype), np.array(1, np.int8)],
            ):
                yield from each("MatMulInteger", [a, b, *zeros])
    a, b = draw(2, 3, dtype=np.uint8), draw(3, 4, dtype=np.uint8, seed=1)
    yield from each("MatMulInteger", [a, b, np.array([1, 2], np.uint8), np.array([1, 2, 3, 0], np.uint8)])
    for left, right in itertools.product((None, 1), (None, 1)):
        for dtype in allowed("Gemm", 0):
            a = draw(*((3, 2) if left else (2, 3)), dtype=dtype)
            b = draw(*((4, 3) if right else (3, 4)), dtype=dtype, seed=1)
            for c in (
                [],
                [draw(4, dtype=dtype)],
                [draw(2, 1, dtype=dtype)],
                [draw(2, 4, dtype=dtype)],
                [draw(1, dtype=dtype)],
                [np.array(2, dtype)],
            ):
                yield from each(
                    "Gemm", [a, b, *c], transA=[left], transB=[right], alpha=[None, 0.5], beta=[None, 2.0, 0.0]
                )
    for equation, shapes in _EQUATIONS:
        for dtype in (np.float32, np.float64, np.int64):
            yield from each(
                "Einsum", [draw(*shape, dtype=dtype, seed=at) for at, shape in enumerate(shapes)], equation=[equation]
            )
    for shape in ((3, 3), (2, 2, 2), (1, 1), (2, 3, 4, 4), (0, 2, 2)):
        for dtype in allowed("Det", 0):
            yield from each("Det", [draw(*shape, dtype=dtype)])


def signals() -> Iterator[Case]:
    """Make cases of DFT, STFT, windows and mel weights."""
    shape: tuple[int, ...]
    for shape, axes in (
        ((2, 8, 1), [1, -2]),
        ((2, 7, 1), [1]),
        ((1, 5, 2), [1]),
        ((2, 3, 5, 1), [1, 2, -2]),
        ((1, 4, 5, 2), [2, 1]),
        ((1, 1, 1), [1]),
    ):
        x = draw(*shape)
        for axis, length, inverse, onesided in itertools.product(axes, (None, 4, 11), (None, 1), (None, 1)):
            if onesided and (inverse or shape[-1] == 2):
                continue
            given: list[Array | None] = [x, None if length is None else np.array(length, np.int64)]
            old = given if length is not None else given[:1]
            yield from each("DFT", old, axis=[axis], inverse=[inverse], onesided=[onesided], until=19)
            yield from each("DFT", [*given, np.array(axis, np.int64)], inverse=[inverse], onesided=[onesided], since=20)
    yield from each("DFT", [draw(2, 5, 1)])
    yield from each("DFT", [draw(2, 3, 5, 2)], inverse=[None, 1])
    for shape in ((2, 20, 1), (1, 17)):
        x, step = draw(*shape), np.array(4, np.int64)
        for window, size in (
            (None, np.array(8, np.int64)),
            (draw(8, seed=1), None),
            (draw(7, seed=1), np.array(7, np.int64)),
        ):
            given = [x, step, window, size] if size is not None else [x, step, window]
            yield from each("STFT", given, onesided=[None, 0, 1])
    yield from each("STFT", [draw(1, 20, 2), np.array(3, np.int64), None, np.array(6, np.int64)], onesided=[0])
    for operator in ("HannWindow", "HammingWindow", "BlackmanWindow"):
        for count in (1, 2, 5, 10):
            for kind in (np.int64, np.int32):
                yield from each(
                    operator, [np.array(count, kind)], periodic=[None, 0], output_datatype=[None, TensorProto.DOUBLE]
                )
    for bins, length, rate, low, high in (
        (4, 16, 8192, 0.0, 4096.0),
        (8, 64, 16000, 20.0, 7600.0),
        (3, 8, 100, 1.0, 40.0),
    ):
        yield from each(
            "MelWeightMatrix",
            [
                *(np.array(value, np.int64) for value in (bins, length, rate)),
                *(np.array(value, np.float32) for value in (low, high)),
            ],
            output_datatype=[None, TensorProto.DOUBLE],
        )


def losses() -> Iterator[Case]:
    """Make cases of losses, Dropout that drops nothing, and of normalised vectors."""
    for shape in ((3, 5), (2, 4, 3), (2, 3, 2, 2)):
        labels = (np.arange(shape[0] * int(np.prod(shape[2:]))) % shape[1]).reshape(shape[0], *shape[2:])
        for kind in (np.int64, np.int32):
            for weights in ([], [np.abs(draw(shape[1]))]):
                [options] = told({"reduction": [None, "none", "sum", "mean"], "ignore_index": [None, 1, -1]})
                x = draw(*shape)
                yield from each("SoftmaxCrossEntropyLoss", [x, labels.astype(kind), *weights], outputs=2, **options)
                ignored = labels.astype(kind)
                ignored.reshape(-1)[0] = -1
                for target in (labels.astype(kind), ignored):
                    if target is ignored:
                        options = {**options, "ignore_index": [-1]}
                    yield from each("NegativeLogLikelihoodLoss", [x, target, *weights], **options)
    x = draw(2, 3)
    yield from each("Dropout", [x], outputs=1, ratio=[None, 0.3])
    yield from each("Dropout", [x], outputs=2, ratio=[None, 0.3], seed=[None])
    for ratio in (0.0, 0.5):
        yield from each("Dropout", [x, np.array(ratio, np.float32)], outputs=2)
        yield from each("Dropout", [x, np.array(ratio, np.float32), np.array(ratio == 0)], outputs=2)


def attention() -> Iterator[Case]:
    """Make cases of Attention, RotaryEmbedding, LinearAttention and CausalConvWithState."""
    more: list[Any]
    dtype: Any
    for dtype in (np.float32, np.float16):
        q, k, v = (
            draw(2, 4, 3, 8, dtype=dtype),
            draw(2, 2, 5, 8, dtype=dtype, seed=1),
            draw(2, 2, 5, 6, dtype=dtype, seed=2),
        )
        flat = [
            np.ascontiguousarray(item.swapaxes(1, 2)).reshape(item.shape[0], item.shape[2], -1) for item in (q, k, v)
        ]
        past = [draw(2, 2, 2, 8, dtype=dtype, seed=3), draw(2, 2, 2, 6, dtype=dtype, seed=4)]
        [options] = told({"is_causal": [None, 1], "scale": [None, 0.3], "softcap": [None, 2.0]})
        for inputs, heads in zip(([q, k, v], flat), told({}, {"q_num_heads": [4], "kv_num_heads": [2]}), strict=True):
            length = 5
            masks: list[Array | None] = [
                None,
                draw(3, length, dtype=dtype, seed=5),
                draw(3, length, dtype=bool, seed=6) | (np.arange(5) == 0),
                draw(2, 4, 3, length, dtype=dtype, seed=7),
                draw(2, 1, 3, length, dtype=dtype, seed=7),
            ]
            for mask in masks:
                more = [] if mask is None else [mask]
                yield from each("Attention", [*inputs, *more], **options, **heads)
                yield from each(
                    "Attention",
                    [*inputs, *more],
                    outputs=4,
                    qk_matmul_output_mode=[None, 1, 2, 3],
                    softcap=[None, 2.0],
                    is_causal=[None, 1],
                    **heads,
                )
            yield from each("Attention", [*inputs, None, *past], outputs=3, is_causal=[None, 1], **heads)
            yield from each(
                "Attention", [*inputs, draw(3, 7, dtype=dtype), *past], outputs=3, is_causal=[None, 1], **heads
            )
            yield from each("Attention", [*inputs, None, None, None, int64s(3, 5)], is_causal=[None, 1], **heads)
            yield from each("Attention", inputs, left_window_size=[0, 1], right_window_size=[None, 1], **heads)
        cos, sin = draw(7, 4, dtype=dtype, seed=8), draw(7, 4, dtype=dtype, seed=9)
        places = int64s([[0, 2, 5], [1, 1, 6]])
        yield from each("RotaryEmbedding", [q, cos, sin, places], interleaved=[None, 1])
        yield from each(
            "RotaryEmbedding",
            [q, cos[:, :2].copy(), sin[:, :2].copy(), places],
            interleaved=[None, 1],
            rotary_embedding_dim=[4],
        )
        yield from each("RotaryEmbedding", [flat[0], cos, sin, places], interleaved=[None, 1], num_heads=[4])
        picked = cos[places], sin[places]
        yield from each("RotaryEmbedding", [q, *picked], interleaved=[None, 1])
    b, t = 2, 3
    q, k, v = draw(b, t, 8), draw(b, t, 4, seed=1), draw(b, t, 6, seed=2)
    past_state, decay, beta = draw(b, 2, 2, 3, seed=3), -np.abs(draw(b, t, 2, seed=4)), np.abs(draw(b, t, 2, seed=5))
    for rule, more in (
        ("linear", []),
        ("linear", [past_state]),
        ("gated", [past_state, decay]),
        ("gated", [None, decay]),
        ("delta", [past_state, None, beta]),
        ("gated_delta", [past_state, decay, beta]),
        (None, [None, decay, beta]),
    ):
        yield from each(
            "LinearAttention",
            [q, k, v, *more],
            outputs=2,
            update_rule=[rule],
            scale=[None, 0.7],
            q_num_heads=[4],
            kv_num_heads=[2],
            chunk_size=[None, 2],
        )
    x, w, bias, state = draw(2, 3, 5), draw(3, 1, 4, seed=1), draw(3, seed=2), draw(2, 3, 3, seed=3)
    for given in ([x, w], [x, w, bias], [x, w, None, state], [x, w, bias, state], [x[:, :, :1].copy(), w, bias, state]):
        yield from each("CausalConvWithState", given, outputs=2, activation=[None, "silu", "swish", "none"])
