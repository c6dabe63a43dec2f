"""Operators on images: convolutions, poolings, resizing, sampling."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from truth.operators.case import Array, Case, allowed, draw, each, int64s, told

_AUTO = ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")


def _ramp(*shape: int) -> Array:
    """Return numbers whose sums are exact in float32, no two of them equal."""
    count = int(np.prod(shape))
    return ((np.arange(count) * 37 % count) / 4).astype(np.float32).reshape(shape)


def convolutions() -> Iterator[Case]:
    """Make cases of Conv, ConvTranspose, ConvInteger, DeformConv and Col2Im."""
    sizes = {1: (7,), 2: (5, 6), 3: (3, 4, 5)}
    for rank, size in sizes.items():
        ones = [1] * rank
        kernels = [[3, 2, 2][:rank], [1] * rank, [2, 3, 1][:rank]]
        for kernel, group in itertools.product(kernels, (1, 2)):
            x, bias = draw(2, 4, *size), draw(6, seed=2)
            w = draw(6, 4 // group, *kernel, seed=1)
            for inputs in ([x, w], [x, w, bias]):
                yield from each(
                    "Conv",
                    inputs,
                    group=[group],
                    strides=[None, [2, 1, 2][:rank]],
                    dilations=[None, [2, 1, 1][:rank]],
                    auto_pad=[None, *_AUTO[1:]],
                    kernel_shape=[None, kernel],
                )
                yield from each(
                    "Conv",
                    inputs,
                    group=[group],
                    pads=[[1, 0, 2][:rank] + [0, 1, 1][:rank]],
                    strides=[None, [2] * rank],
                    dilations=[None, ones],
                )
            w = draw(4, 6 // group, *kernel, seed=1)
            for inputs in ([x, w], [x, w, bias]):
                yield from each(
                    "ConvTranspose",
                    inputs,
                    group=[group],
                    strides=[None, [2, 1, 2][:rank], [3] * rank],
                    dilations=[None, [2, 1, 1][:rank]],
                    auto_pad=[None, *_AUTO[1:]],
                )
                yield from each(
                    "ConvTranspose",
                    inputs,
                    group=[group],
                    pads=[[1, 0, 0][:rank] + [0, 1, 0][:rank]],
                    strides=[None, [2] * rank],
                )
                yield from each(
                    "ConvTranspose",
                    inputs,
                    group=[group],
                    strides=[[2] * rank],
                    output_padding=[[1, 0, 1][:rank]],
                    pads=[None, [0, 1, 0][:rank] * 2],
                )
                yield from each(
                    "ConvTranspose",
                    inputs,
                    group=[group],
                    strides=[[2] * rank],
                    auto_pad=[None, *_AUTO[1:3]],
                    output_shape=[[side * 2 + 1 for side in size], [side * 2 - 1 for side in size]],
                )
    for kind, weight in itertools.product((np.uint8, np.int8), (np.uint8, np.int8)):
        x, w = draw(1, 2, 5, 4, dtype=kind), draw(4, 2, 3, 2, dtype=weight, seed=1)
        for zeros in ([], [np.array(2, kind)], [np.array(2, kind), np.array(1, weight)]):
            yield from each(
                "ConvInteger",
                [x, w, *zeros],
                pads=[None, [1, 1, 0, 1]],
                strides=[None, [2, 1]],
                auto_pad=[None, "SAME_LOWER"],
            )
    for group, offset_group in ((1, 1), (2, 1), (1, 2), (2, 2)):
        x, w = draw(1, 4, 5, 6), draw(6, 4 // group, 2, 3, seed=1)
        offset, mask = (
            draw(1, offset_group * 12, 4, 4, seed=2) * np.float32(0.7),
            draw(1, offset_group * 6, 4, 4, seed=3),
        )
        for more in ([], [draw(6, seed=4)], [draw(6, seed=4), mask], [None, mask]):
            yield from each(
                "DeformConv",
                [x, w, offset, *more],
                group=[group],
                offset_group=[offset_group],
                kernel_shape=[None, [2, 3]],
            )
    folded: tuple[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]], ...] = (
        ((5, 5), (1, 5), {}),
        ((5, 5), (2, 2), {}),
        ((5, 6), (2, 2), {"strides": [1, 2]}),
        ((5, 5), (2, 2), {"dilations": [2, 1]}),
        ((5, 5), (3, 3), {"pads": [1, 0, 1, 2]}),
        ((3, 4, 5), (2, 2, 1), {}),
        ((7,), (3,), {"strides": [2]}),
    )
    for image, block, options in folded:
        rank = len(image)
        pads = options.get("pads", [0] * 2 * rank)
        strides, dilations = options.get("strides", [1] * rank), options.get("dilations", [1] * rank)
        counts = [
            (image[at] + pads[at] + pads[at + rank] - dilations[at] * (block[at] - 1) - 1) // strides[at] + 1
            for at in range(rank)
        ]
        x = draw(2, 3 * int(np.prod(block)), int(np.prod(counts)))
        values: dict[str, Any] = {name: [value] for name, value in options.items()}
        yield from each("Col2Im", [x, int64s(list(image)), int64s(list(block))], **values)


def poolings() -> Iterator[Case]:
    """Make cases of poolings, with windows that reach over the border."""
    sizes = {1: (7,), 2: (5, 8), 3: (4, 3, 5)}
    for rank, size in sizes.items():
        x = _ramp(1, 2, *size)
        for kernel in ([3, 2, 2][:rank], [1] * rank, [2, 3, 3][:rank]):
            pads = [None, [1, 1, 0][:rank] + [0, 1, 1][:rank], [kernel[at] - 1 for at in range(rank)] * 2]
            strides = [None, [2, 3, 2][:rank]]
            dilations = [None, [2, 1, 1][:rank]]
            for options in told(
                {"pads": pads, "ceil_mode": [None, 1], "strides": strides, "dilations": dilations},
                {"auto_pad": list(_AUTO[1:]), "strides": strides, "ceil_mode": [None, 1]},
                {"auto_pad": list(_AUTO[1:]), "strides": strides, "dilations": dilations[1:]},
            ):
                yield from each("MaxPool", [x], kernel_shape=[kernel], **options)
                yield from each("MaxPool", [x], kernel_shape=[kernel], outputs=2, storage_order=[None, 1], **options)
                yield from each("AveragePool", [x], kernel_shape=[kernel], count_include_pad=[None, 1], **options)
                yield from each("LpPool", [x], kernel_shape=[kernel], p=[None, 1, 3], **options)
        for operator in ("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"):
            for dtype in allowed(operator, 0):
                yield from each(operator, [draw(2, 3, *size, dtype=dtype)], p=[None, 1, 3])
    for operator in ("MaxPool", "AveragePool", "LpPool"):
        for dtype in allowed(operator, 0):
            yield from each(operator, [draw(1, 2, 5, 5, dtype=dtype)], kernel_shape=[[2, 3]], pads=[None, [1, 1, 0, 1]])
        for value in (np.nan, -np.inf, np.inf):
            x = _ramp(1, 1, 5, 5)
            x[0, 0, 2, 2] = value
            yield from each(operator, [x], kernel_shape=[[2, 2]], strides=[None, [2, 2]])
        yield from each(operator, [-_ramp(1, 1, 5, 5) - 1], kernel_shape=[[3, 3]], pads=[[1, 1, 1, 1]])
    pooled = np.array([[[[1, 2], [3, 4]]]], np.float32)
    for places in (int64s([[[[5, 7], [13, 15]]]]), int64s([[[[0, 3], [8, 11]]]])):
        yield from each(
            "MaxUnpool", [pooled, places], kernel_shape=[[2, 2]], strides=[[2, 2]], pads=[None, [0, 0, 0, 0]]
        )
        yield from each("MaxUnpool", [pooled, places, int64s(1, 1, 5, 5)], kernel_shape=[[2, 2]], strides=[[2, 2]])
    rois = np.array([[0, 0, 0, 3, 3], [1, 1, 2, 4, 4], [0, 2, 1, 2, 1]], np.float32)
    yield from each("MaxRoiPool", [draw(2, 2, 6, 7), rois], pooled_shape=[[2, 2], [1, 3]], spatial_scale=[None, 0.5])


def resizing() -> Iterator[Case]:
    """Make cases of Resize and Upsample, with sizes that are no whole numbers and coordinates that lie half-way."""
    modes = (
        "half_pixel",
        "pytorch_half_pixel",
        "align_corners",
        "asymmetric",
        "tf_crop_and_resize",
        "half_pixel_symmetric",
    )
    kinds: list[dict[str, Any]] = [
        {"mode": ["nearest"], "nearest_mode": [None, "round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]},
        {"mode": ["linear"]},
        {"mode": ["linear"], "antialias": [1]},
        {"mode": ["cubic"], "cubic_coeff_a": [None, -0.5], "exclude_outside": [None, 1]},
        {"mode": ["cubic"], "antialias": [1]},
    ]
    none = np.zeros(0, np.float32)
    roi = np.array([0, 0, 0.13, 0.27, 1, 1, 0.91, 0.79], np.float32)
    for mode, kind in itertools.product((None, *modes), kinds):
        region = roi if mode == "tf_crop_and_resize" else none
        x = draw(1, 2, 5, 7)
        for scales in (
            [1, 1, 2, 3],
            [1, 1, 1.7, 2.3],
            [1, 1, 0.6, 0.43],
            [1, 1, 0.5, 0.25],
            [1, 1, 1.5, 1],
            [1, 1, 0.3, 2.2],
        ):
            yield from each(
                "Resize", [x, region, np.array(scales, np.float32)], coordinate_transformation_mode=[mode], **kind
            )
        for sizes in ([1, 2, 10, 14], [1, 2, 8, 5], [1, 2, 1, 1], [1, 2, 3, 13], [1, 2, 5, 7]):
            yield from each(
                "Resize", [x, region, none, int64s(sizes)], coordinate_transformation_mode=[mode], until=12, **kind
            )
            yield from each(
                "Resize",
                [x, region if region.size else None, None, int64s(sizes)],
                since=13,
                coordinate_transformation_mode=[mode],
                **kind,
            )
        for axes in ([2, 3], [3, 2], [-1], [-2, -1]):
            yield from each(
                "Resize",
                [x, None, np.array([1.7, 0.6][: len(axes)], np.float32)],
                axes=[axes],
                coordinate_transformation_mode=[mode] if mode != modes[4] else [],
                **kind,
            )
            yield from each(
                "Resize",
                [x, None, None, int64s([9, 4][: len(axes)])],
                axes=[axes],
                keep_aspect_ratio_policy=[None, "not_larger", "not_smaller"],
                coordinate_transformation_mode=[mode] if mode != modes[4] else [],
                **kind,
            )
        yield from each(
            "Resize",
            [draw(6), region[:0], np.array([1.4], np.float32)],
            coordinate_transformation_mode=[mode] if mode != modes[4] else [],
            **kind,
        )
        yield from each(
            "Resize",
            [draw(1, 1, 3, 4, 5), none, np.array([1, 1, 1.5, 0.7, 2], np.float32)],
            coordinate_transformation_mode=[mode] if mode != modes[4] else [],
            **kind,
        )
    yield from each(
        "Resize",
        [draw(1, 2, 5, 7), roi, np.array([1, 1, 1.7, 2], np.float32)],
        mode=["linear"],
        coordinate_transformation_mode=["tf_crop_and_resize"],
        extrapolation_value=[None, 7.0],
    )
    for dtype in allowed("Resize", 0):
        yield from each(
            "Resize",
            [draw(1, 1, 4, 5, dtype=dtype), none, np.array([1, 1, 1.6, 2.2], np.float32)],
            mode=["nearest", "linear"],
        )
    for scales in ([1, 1, 2, 3], [1, 1, 1.5, 2.5], [1, 1, 1, 1]):
        yield from each("Upsample", [draw(1, 2, 3, 4)], mode=["nearest", "linear"], scales=[scales])
        yield from each("Upsample", [draw(1, 2, 3, 4), np.array(scales, np.float32)], mode=["nearest", "linear"])
        yield from each(
            "Resize", [draw(1, 2, 3, 4), np.array(scales, np.float32)], mode=["nearest", "linear"], until=10
        )
    yield from each(
        "Resize", [draw(1, 2, 6, 4), np.array([1, 1, 0.5, 0.7], np.float32)], mode=["nearest", "linear"], until=10
    )


def sampling() -> Iterator[Case]:
    """Make cases of GridSample, AffineGrid and RoiAlign."""
    corners = np.array([[[[-1, -1], [1, 1], [0, 0]], [[-1.4, 0.3], [2.6, -2.2], [0.9, -1]]]], np.float32)
    for mode, padding in itertools.product(
        (None, "bilinear", "linear", "nearest", "bicubic", "cubic"), (None, "zeros", "border", "reflection")
    ):
        for grid in (draw(1, 3, 2, 2) * np.float32(1.3), corners):
            old = mode in {None, "bilinear", "nearest", "bicubic"}
            new = mode in {None, "linear", "nearest", "cubic"}
            for shape in ((1, 2, 4, 5), (1, 1, 1, 3)):
                yield from each(
                    "GridSample",
                    [draw(*shape), grid],
                    mode=[mode],
                    padding_mode=[padding],
                    align_corners=[None, 1],
                    since=16 if old else 20,
                    until=99 if new else 19,
                )
        if mode in {None, "linear", "nearest"}:
            grid = draw(1, 2, 3, 2, 3) * np.float32(1.3)
            yield from each(
                "GridSample",
                [draw(1, 2, 3, 4, 5), grid],
                mode=[mode],
                padding_mode=[padding],
                align_corners=[None, 1],
                since=20,
            )
    for theta, size in (
        (draw(2, 2, 3), [2, 1, 3, 4]),
        (draw(1, 3, 4), [1, 1, 2, 3, 4]),
        (draw(1, 2, 3), [1, 2, 1, 1]),
        (draw(1, 2, 3, dtype=np.float64), [1, 1, 2, 5]),
    ):
        yield from each("AffineGrid", [theta, int64s(size)], align_corners=[None, 0, 1])
    rois = np.array([[0, 0, 4, 4], [1.3, 1, 6.2, 5.1], [2, 2, 2, 2], [-1, -1, 9, 9], [5, 4, 3, 2]], np.float32)
    for mode, count in itertools.product((None, "avg", "max"), (None, 0, 1, 2, 3)):
        for inputs in ([draw(2, 2, 6, 7), rois, int64s(0, 1, 0, 1, 1)],):
            yield from each(
                "RoiAlign",
                inputs,
                mode=[mode],
                sampling_ratio=[count],
                output_height=[None, 2],
                output_width=[None, 3],
                spatial_scale=[None, 0.5],
                coordinate_transformation_mode=[None, "half_pixel", "output_half_pixel"],
            )
