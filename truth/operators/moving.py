"""Operators that move elements, choose them, or make tensors of a size."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from onnx import TensorProto, helper

from truth.operators.case import F32, Array, Case, allowed, axes_of, draw, each, int64s

_ODD = ((3, 5), (2, 3, 4), (1, 7), (0, 3), (5,))


def _numbered(*shape: int) -> Array:
    return np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)


def _are_axes(axes: Sequence[int], rank: int) -> bool:
    return all(-rank <= axis < rank for axis in axes) and len({axis % rank for axis in axes}) == len(axes)


def shaping() -> Iterator[Case]:
    """Make cases of Reshape, Flatten, Squeeze, Unsqueeze, Transpose, Expand and Tile."""
    shape: tuple[int, ...]
    for to in ([6], [3, 2], [-1], [0, -1], [0, 0], [2, -1, 3], [1, 6, 1]):
        yield from each("Reshape", [_numbered(2, 3), int64s(to)], allowzero=[None, 0])
    for to in ([0, 4], [4, 0], [0, 0, 7], [3, 0]):
        yield from each("Reshape", [_numbered(0, 3), int64s(to)], allowzero=[1])
    yield from each("Reshape", [_numbered(0, 3), int64s([-1, 3])], allowzero=[None])
    for shape in ((2, 3, 4, 1), (3,), (2, 0, 3), ()):
        yield from each("Flatten", [_numbered(*shape)], axis=[None, *range(-len(shape), len(shape) + 1)])
    for axes in (None, [0], [2], [0, 2], [-2, 0], [2, 0]):
        yield from each("Squeeze", [_numbered(1, 3, 1, 2)], axes=[axes])
        yield from each("Squeeze", [_numbered(1, 3, 1, 2), *([] if axes is None else [int64s(axes)])], since=13)
    for axes in ([0], [1], [0, 2], [2, 0], [-1], [-1, 0], [1, -2], [3, 0, -2]):
        for shape in ((2, 3), (), (0, 2)):
            if _are_axes(axes, len(shape) + len(axes)):
                yield from each("Unsqueeze", [_numbered(*shape)], axes=[axes])
                yield from each("Unsqueeze", [_numbered(*shape), int64s(axes)], since=13)
    for shape in ((), (3,), (2, 3), (2, 3, 4), (1, 2, 0, 3)):
        orders = itertools.permutations(range(len(shape)))
        yield from each("Transpose", [_numbered(*shape)], perm=[None, *(list(order) for order in orders if order)])
    for shape, to in (
        ((3, 1), [2, 3, 4]),
        ((3, 1), [1]),
        ((3, 1), [3, 4]),
        ((), [2, 2]),
        ((1,), [0]),
        ((2, 3), [1, 1]),
        ((3,), [5, 2, 3]),
        ((0, 1), [1, 4]),
        ((2,), []),
    ):
        yield from each("Expand", [_numbered(*shape), int64s(to)])
    for shape, repeats in (
        ((2, 3), [1, 1]),
        ((2, 3), [2, 3]),
        ((2, 3), [0, 2]),
        ((4,), [3]),
        ((0, 2), [2, 2]),
        ((), []),
    ):
        yield from each("Tile", [_numbered(*shape), int64s(repeats)])
    for operator in ("Transpose", "Expand", "Tile", "Reshape", "Squeeze", "Unsqueeze", "Flatten", "Concat", "Split"):
        for dtype in allowed(operator, 0):
            x = draw(2, 1, dtype=dtype)
            more = {
                "Expand": [int64s(2, 3)],
                "Tile": [int64s(2, 3)],
                "Reshape": [int64s(1, 2)],
                "Squeeze": [int64s([1])],
                "Unsqueeze": [int64s([1])],
                "Concat": [x],
            }.get(operator, [])
            if operator == "Split":
                yield from each(operator, [x], outputs=2, num_outputs=[None, 2])
            else:
                yield from each(operator, [x, *more], axis=[None, 1])


def joining() -> Iterator[Case]:
    """Make cases of Concat and Split."""
    for axis in axes_of(3)[1:]:
        shapes = [[2, 3, 4], [2, 3, 4], [2, 3, 4]]
        for count, at in ((1, 0), (2, 1), (3, 0)):
            shapes[1][axis or 0] = at
            yield from each(
                "Concat", [draw(*shape, seed=place) for place, shape in enumerate(shapes[:count])], axis=[axis]
            )
    for shape, axis, parts in (((7,), 0, [3, 4]), ((4, 6), 1, [1, 2, 3]), ((4, 6), -2, [0, 4]), ((2, 5), -1, [5, 0])):
        yield from each("Split", [_numbered(*shape)], outputs=len(parts), axis=[axis], split=[parts])
        yield from each("Split", [_numbered(*shape), int64s(parts)], outputs=len(parts), axis=[axis])
    for length, count in ((6, 3), (7, 3), (7, 2), (10, 4), (3, 3)):
        for axis in (None, 0, -1):
            x = _numbered(length, length)
            yield from each("Split", [x], outputs=count, axis=[axis], num_outputs=[count, None])


def slicing() -> Iterator[Case]:
    """Make cases of Slice and CenterCropPad."""
    spans = [
        ([1], [3], None, None),
        ([-2], [99], None, None),
        ([99], [-99], [0], [-1]),
        ([-1], [-99], [-1], [-2]),
        ([0, 1], [2, -1], [1, 0], [1, 2]),
        ([0], [0], [0], None),
        ([3], [1], [0], [1]),
        ([1], [99], [1], [3]),
        ([-3, -3], [-1, -1], [-1, -2], None),
        ([2**40], [-(2**40)], [1], [-1]),
        ([-(2**40)], [2**40], [1], [2]),
    ]
    for starts, ends, axes, steps in spans:
        x = _numbered(5, 6)
        if steps is None:
            yield from each("Slice", [x], starts=[starts], ends=[ends], axes=[axes])
        for kind in (np.int64, np.int32):
            if max(map(abs, starts)) > 2**31 and kind == np.int32:
                continue
            given = [None if item is None else np.array(item, kind) for item in (starts, ends, axes, steps)]
            while given[-1] is None:
                given.pop()
            yield from each("Slice", [x, *given], since=10)
    for shape, to, axes in (
        ((7, 5), [4, 4], None),
        ((4, 5), [7, 8], None),
        ((3, 4, 5), [6, 3], [0, 2]),
        ((5, 4), [2], [-1]),
        ((4, 4), [5, 3], [1, 0]),
        ((3, 3), [0, 2], None),
    ):
        for kind in (np.int64, np.int32):
            yield from each("CenterCropPad", [_numbered(*shape), np.array(to, kind)], axes=[axes])


def padding() -> Iterator[Case]:
    """Make cases of Pad."""
    for mode in (None, "constant", "edge", "reflect", "wrap"):
        for shape, pads in (
            ((5,), [2, 1]),
            ((5,), [-1, -2]),
            ((4, 5), [1, 0, 2, 3]),
            ((4, 5), [-1, 2, 3, -2]),
            ((4, 5), [0, 0, 0, 0]),
            ((3, 4, 2), [0, 1, 1, 2, 0, 0]),
            ((4, 5), [3, 4, 3, 4]),
            ((4,), [9, 9]),
            ((1, 3), [0, 2, 0, 2]),
            ((3,), [4, -2]),
        ):
            yield from each("Pad", [_numbered(*shape)], pads=[pads], mode=[mode], value=[None, 1.5])
            for more in ([], [np.array(7, np.float32)]) if mode in {None, "constant"} else ([],):
                yield from each("Pad", [_numbered(*shape), int64s(pads), *more], mode=[mode])
        for axes, pads in (([1], [2, -1]), ([-1, 0], [1, 2, 3, -1]), ([0], [1, 1])):
            for kind in (np.int64, np.int32):
                yield from each("Pad", [_numbered(4, 5), int64s(pads), None, np.array(axes, kind)], mode=[mode])
    for dtype in allowed("Pad", 0):
        yield from each("Pad", [draw(2, 3, dtype=dtype), int64s([1, 0, 0, 2])], mode=[None, "edge"])


def choosing() -> Iterator[Case]:
    """Make cases of operators that take elements by their place."""
    for shape in ((5,), (3, 4), (2, 3, 4)):
        for axis in axes_of(len(shape)):
            length = shape[0 if axis is None else axis]
            for index in (
                int64s(0, -1, 1),
                np.array(1, np.int64),
                np.array([[0, -length], [1, 1]], np.int32),
                int64s([]),
            ):
                yield from each("Gather", [_numbered(*shape), index], axis=[axis])
            places = np.resize(int64s(0, -1, 1), [2 if at < 2 else side for at, side in enumerate(shape)])
            yield from each("GatherElements", [_numbered(*shape), places], axis=[axis])
            for name in ("ScatterElements", "Scatter"):
                yield from each(name, [_numbered(*shape), places, draw(*places.shape)], axis=[axis])


def scattering() -> Iterator[Case]:
    """Make cases of ScatterElements and ScatterND."""
    for reduction, dtype in itertools.product(("none", "add", "mul", "max", "min"), (np.float32, np.int32, np.float16)):
        data, updates = draw(4, 5, dtype=dtype), draw(2, 5, dtype=dtype, seed=1)
        twice = int64s([[1, 0, 2, 1, 1], [1, -4, 3, 0, -3]])
        unique = int64s([[1, 0, 2, 1, 1], [2, -3, 3, 0, -4]])
        yield from each(
            "ScatterElements",
            [data, unique if reduction == "none" else twice, updates],
            reduction=[reduction],
            axis=[None, 0, -2],
        )
        for places, shape in (
            (int64s([[1], [-4], [1]]), (3, 5)),
            (int64s([[1, 2], [1, 2], [-1, 0]]), (3,)),
            (int64s([[[0, -1]], [[0, -1]]]), (2, 1)),
            (np.zeros((0, 1), np.int64), (0, 5)),
        ):
            # Where the last one wins, no place may come twice.
            index = places[:1] if reduction == "none" and places.size else places
            size = (1, *shape[1:]) if reduction == "none" and places.size else shape
            yield from each(
                "ScatterND",
                [data, index, draw(*size, dtype=dtype, seed=2)],
                reduction=[reduction, None] if reduction == "none" else [reduction],
            )


def picking() -> Iterator[Case]:
    """Make cases of GatherND, Compress and OneHot."""
    index: Any
    for data_shape, index, batch in (
        ((2, 3), [[0, 1], [-1, -1]], 0),
        ((2, 3), [[1], [0]], 0),
        ((2, 3, 4), [[1], [2]], 1),
        ((2, 3, 4), [[[1]], [[-2]]], 1),
        ((2, 2, 3), [[[1], [0]], [[2], [-1]]], 2),
    ):
        yield from each("GatherND", [_numbered(*data_shape), int64s(index)], batch_dims=[batch or None, batch])
    for shape, axis in (((5,), None), ((3, 4), None), ((3, 4), 0), ((3, 4), 1), ((3, 4), -1)):
        for condition in ([True, False, True], [False, False], [True], []):
            yield from each("Compress", [_numbered(*shape), np.array(condition, bool)], axis=[axis])
    for axis in (None, 0, 1, 2, -1, -2, -3):
        for depth in (np.array(4, np.int64), np.array([4], np.float32), np.array(3, np.int32)):
            for kind in (np.int64, np.float32, np.uint8):
                index = np.array([[0, 2, 9], [1, 3, 1]], kind)
                yield from each("OneHot", [index, depth, draw(2)], axis=[axis])
        yield from each("OneHot", [int64s([[0, -1], [-4, -5]]), np.array(4), int64s(7, 9)], axis=[axis])


def triangles() -> Iterator[Case]:
    """Make cases of Trilu and EyeLike."""
    for shape in ((3, 3), (2, 5), (5, 2), (2, 3, 4), (0, 3)):
        for k in (None, 0, 1, -1, -2, 7, -7):
            for kind in (np.float32, np.int64, np.bool_):
                more = [] if k is None else [np.array(k, np.int64)]
                yield from each("Trilu", [draw(*shape, dtype=kind), *more], upper=[None, 0, 1])
        if len(shape) == 2:
            yield from each("EyeLike", [draw(*shape)], k=[None, 1, -2, 9], dtype=[None, TensorProto.INT32])


def uniques() -> Iterator[Case]:
    """Make cases of Unique."""
    for axis in axes_of(2):
        for kind in (np.float32, np.int64, np.int8):
            x = np.array([[3, 1, 3, 0], [2, 5, 2, 0], [3, 1, 3, 0]], kind)
            for outputs in (1, 2, 4):
                yield from each("Unique", [x], axis=[axis], sorted=[None, 0, 1], outputs=outputs)
    yield from each("Unique", [np.array(["b", "a", "b"], object)], sorted=[None, 0], outputs=4)
    yield from each("Unique", [np.array([np.nan, 1, np.nan, 0], np.float32)], sorted=[None, 0], outputs=4)


def ordering() -> Iterator[Case]:
    """Make cases of TopK, with ties, of ReverseSequence, Range and NonMaxSuppression."""
    for dtype in allowed("TopK", 0):
        ties = np.array([[1, 3, 3, 0, 3], [2, 2, 2, 2, 2], [5, 4, 4, 5, 1]], dtype)
        for x in (ties, draw(3, 5, dtype=dtype)) if dtype in {F32, np.dtype(np.int64)} else (ties,):
            for axis, k in ((None, 3), (1, 5), (0, 2), (-2, 1), (-1, 0)):
                yield from each("TopK", [x], outputs=2, axis=[axis], k=[k])
                yield from each("TopK", [x, int64s([k])], outputs=2, axis=[axis], largest=[None, 0], sorted=[None, 1])
    yield from each(
        "TopK", [np.array([1, np.nan, 3, -np.inf, np.nan, 2], np.float32), int64s([4])], outputs=2, largest=[None, 0]
    )
    for shape, lengths in (((4, 3), [1, 4, 2]), ((4, 2, 3), [3, 4])):
        yield from each(
            "ReverseSequence", [_numbered(*shape), int64s(lengths)], batch_axis=[None, 1], time_axis=[None, 0]
        )
        turned = _numbered(*shape).swapaxes(0, 1).copy()
        yield from each("ReverseSequence", [turned, int64s(lengths)], batch_axis=[0], time_axis=[1])
    for dtype in allowed("Range", 0):
        for bounds in ((1, 6, 2), (6, 0, -2), (0, 0, 1), (3, 1, 1)):
            if dtype.kind != "u" or min(bounds) >= 0:
                yield from each("Range", [np.array(value, dtype) for value in bounds])
        if dtype.kind == "f":
            yield from each("Range", [np.array(value, dtype) for value in (0.0, 1.0, 0.3)])
    yield from each(
        "ConstantOfShape",
        [int64s(2, 3)],
        value=[None, helper.make_tensor("v", 1, [1], [1.5]), helper.make_tensor("v", TensorProto.INT8, [1], [-3])],
    )
    for to in ([], [0, 2], [1]):
        yield from each("ConstantOfShape", [int64s(to)])
    boxes = np.array([[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, -0.1, 1, 0.9], [0, 10, 1, 11], [1, 1, 0, 0]]], np.float32)
    centred = np.array([[[0.5, 0.5, 1, 1], [0.5, 0.6, 1, 1], [0.5, 0.4, 1, 1], [0.5, 10.5, 1, 1]]], np.float32)
    for center, box in ((None, boxes), (0, boxes), (1, centred)):
        scores = np.array([[[0.9, 0.75, 0.6, 0.95, 0.5], [0.1, 0.9, 0.3, 0.8, 0.2]]], np.float32)[:, :, : box.shape[1]]
        for most, overlap, least in itertools.product((None, 0, 1, 3), (None, 0.0, 0.5, 0.8), (None, 0.4)):
            given: list[Array | None] = [None if most is None else int64s([most])]
            given += [None if value is None else np.array([value], np.float32) for value in (overlap, least)]
            yield from each("NonMaxSuppression", [box, scores, *_trimmed(given)], center_point_box=[center])


def _trimmed(values: Sequence[Array | None]) -> list[Array | None]:
    found = list(values)
    while found and found[-1] is None:
        found.pop()
    return found


def blocks() -> Iterator[Case]:
    """Make cases of DepthToSpace and SpaceToDepth."""
    for shape, size in (((1, 8, 2, 3), 2), ((2, 9, 1, 2), 3), ((1, 4, 1, 1), 2)):
        yield from each("DepthToSpace", [_numbered(*shape)], blocksize=[size], mode=[None, "DCR", "CRD"])
    for shape, size in (((1, 2, 4, 6), 2), ((2, 1, 3, 9), 3)):
        yield from each("SpaceToDepth", [_numbered(*shape)], blocksize=[size], mode=[None, "DCR", "CRD"])


def casting() -> Iterator[Case]:
    """Make cases of Cast, CastLike and BitCast."""
    dtype: Any
    x: Array
    numbers = [-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0, 3, 100]
    targets = [
        "FLOAT",
        "DOUBLE",
        "FLOAT16",
        "BFLOAT16",
        "INT8",
        "INT16",
        "INT32",
        "INT64",
        "UINT8",
        "UINT16",
        "UINT32",
        "UINT64",
        "BOOL",
        "FLOAT8E4M3FN",
        "FLOAT8E5M2",
        "FLOAT8E4M3FNUZ",
        "FLOAT8E5M2FNUZ",
        "INT4",
        "UINT4",
    ]
    for dtype in allowed("Cast", 0):
        values = np.abs(numbers) if dtype.kind == "u" else numbers
        for target in targets:
            x = np.array(values, np.float64)
            if target.startswith("U"):
                x = np.abs(x)
            if target.endswith("INT4"):
                x = x.clip(-8 if target == "INT4" else 0, 7)
            yield from each("Cast", [x.astype(dtype)], to=[getattr(TensorProto, target)])
    large = np.array(
        [1e6, -1e6, np.inf, -np.inf, np.nan, 448, 465, 57344, 61440, 1e-9, 0.001953125, 17, 19, 240], np.float32
    )
    for target in targets[13:17]:
        for dtype in (np.float32, np.float16):
            with np.errstate(over="ignore"):
                x = large.astype(dtype)
            yield from each("Cast", [x], to=[getattr(TensorProto, target)], saturate=[None, 0, 1])
    for target in ("FLOAT16", "BFLOAT16", "FLOAT"):
        x = np.array([65504, 65519, 65520, 70000, -1e30, 1e-8, 6e-8, 3.4e38, np.inf, np.nan, 1 + 2**-9, 1 + 3 * 2**-9])
        yield from each("Cast", [x], to=[getattr(TensorProto, target)])
        yield from each("Cast", [x.astype(np.float32)], to=[getattr(TensorProto, target)])
    for texts, target in (
        (["1", "-2.5", "1e3", "NaN", "inf"], "FLOAT"),
        (["1", "-2", "7"], "INT64"),
        (["1"], "DOUBLE"),
    ):
        yield from each("Cast", [np.array(texts, object)], to=[getattr(TensorProto, target)])
    for x in (int64s(1, -2), np.array([1.5, -0.25, np.nan, np.inf, 1e10, 1e-5], np.float32), np.array([True, False])):
        yield from each("Cast", [x], to=[TensorProto.STRING])
    for dtype in allowed("CastLike", 1):
        yield from each("CastLike", [np.array([0.5, 1.5, 3, 0], np.float32), np.zeros(1, dtype)])
    for wide, narrow in (
        (np.float32, TensorProto.INT32),
        (np.int16, TensorProto.FLOAT16),
        (np.uint8, TensorProto.INT8),
    ):
        yield from each("BitCast", [draw(2, 3, dtype=wide)], to=[narrow])


def caching() -> Iterator[Case]:
    """Make cases of TensorScatter."""
    for mode in (None, "linear", "circular"):
        for axis in (None, 1, -2):
            cache, update = draw(2, 5, 2), draw(2, 2, 2, seed=1)
            for places in ([], [int64s(1, 3)], [int64s(4, 4)] if mode == "circular" else []):
                yield from each("TensorScatter", [cache, update, *places], mode=[mode], axis=[axis])
