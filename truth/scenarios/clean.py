"""Scenarios in which nothing is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from truth.build import Net
from truth.host import fuses_experts, saturates
from truth.models import ARCHITECTURES, eight_bits, hard, lowbit
from truth.scenario import EQUAL, ILL_CONDITIONED, NO_FAULT, NOTHING, SAME, UNDECIDED, Expect, Scenario

#: Types that hold exact numbers where it matters: a coarse type is asked for, and nothing else is wrong.
COARSE = ("float16", "bfloat16")

_SIDES = (("onnx", "the reference"), ("onnxrt:optimization=off", "itself without optimisation"))
_PAIRS = [
    Scenario(
        f"{name}: ONNX Runtime against {words}",
        name,
        NO_FAULT,
        NOTHING,
        reference=reference,
    )
    for name in ARCHITECTURES
    for reference, words in _SIDES
]
_COARSE = [
    Scenario(
        f"{name}: {kind} asked for",
        name,
        NO_FAULT,
        NOTHING,
        candidate=f"onnx:dtype={kind}",
        reference="onnx",
    )
    for name in ARCHITECTURES
    for kind in COARSE
]


def _a_unit_more(model: onnx.ModelProto) -> None:
    """Change the rate of the chaotic map by one unit of float32, as another exporter may round it."""
    weight = next(item for item in model.graph.initializer if item.name == "rate")
    weight.CopyFrom(numpy_helper.from_array(np.nextafter(numpy_helper.to_array(weight), np.float32(4)), "rate"))


def _hard(name: str, net: Callable[[], Net], expect: Expect = NOTHING, **more: Any) -> Scenario:
    return Scenario(f"{name}: nothing wrong", name.partition(",")[0], NO_FAULT, expect, net=net, **more)


_HARD = [
    _hard("mask", hard.mask),
    _hard("mask, float16", hard.mask, candidate="onnx:dtype=float16", reference="onnxrt", words=("--atol", "1e-3")),
    _hard("mask, bfloat16", hard.mask, candidate="onnx:dtype=bfloat16"),
    _hard("saturated sigmoid", hard.saturated),
    _hard("saturated sigmoid, unoptimised", hard.saturated, reference="onnxrt:optimization=off"),
    _hard("saturated sigmoid, float16", hard.saturated, candidate="onnx:dtype=float16"),
    _hard("cancellation", hard.cancellation, Expect((EQUAL, *ILL_CONDITIONED.verdicts), exit=0), reference="onnx"),
    _hard("floor of a tie", hard.floor_tie),
    _hard("floor of a tie, bfloat16", hard.floor_tie, candidate="onnx:dtype=bfloat16"),
    _hard("two equal maxima", hard.nearest),
    _hard("two equal maxima, float16", hard.nearest, candidate="onnx:dtype=float16"),
    _hard("position buckets", hard.distances),
    _hard("position buckets, converted to float16", lambda: lowbit.half(hard.distances())),
    _hard("position buckets, float16", hard.distances, candidate="onnx:dtype=float16"),
    _hard("long sums", hard.long_sum),
    _hard("long sums, unoptimised", hard.long_sum, reference="onnxrt:optimization=off,threads=1"),
    _hard("large values", hard.large_values),
    _hard("large values, bfloat16", hard.large_values, candidate="onnx:dtype=bfloat16"),
    _hard("infinite on both sides", hard.both_infinite),
    _hard("NaN in the input", hard.not_a_number, SAME),
    _hard("steep softmax", hard.steep),
    _hard("steep softmax, float16", hard.steep, candidate="onnx:dtype=float16"),
    _hard("denormal numbers", hard.tiny),
    _hard("denormal numbers, flushed", hard.tiny, candidate="onnxrt:config=[session.set_denormal_as_zero:1]"),
    _hard("rounding of halves", hard.rounding, SAME),
    _hard("counted", hard.counted),
    _hard("remainder", hard.remainder),
    _hard("two outputs", hard.two_outputs),
    _hard("two outputs, unoptimised", hard.two_outputs, reference="onnxrt:optimization=off"),
    _hard("kept digits", hard.kept_digits, Expect((UNDECIDED,), exit=3)),  # its outputs are, in `run`, too
    _hard("kept digits, unoptimised", hard.kept_digits, reference="onnxrt:optimization=off"),
    _hard("chaotic, a constant a unit of float32 off", hard.chaotic, reference="good", changes=(_a_unit_more,)),
    _hard(
        "unknown operator",
        hard.lacking,
        Expect(("not judged",), exit=3, says=("Inverse 'inverse' is not judged",)),
    ),
    _hard("fused experts", lowbit.fused_experts, here=fuses_experts()),
    _hard(
        "fused experts, unoptimised", lowbit.fused_experts, reference="onnxrt:optimization=off", here=fuses_experts()
    ),
    *(
        Scenario(
            f"static int8, ties only: ONNX Runtime against {words}",
            "static int8, ties only",
            NO_FAULT,
            NOTHING,
            reference=reference,
            net=lowbit.tied,
        )
        for reference, words in _SIDES
    ),
    _hard("static int8, symmetric, eight bits", eight_bits, here=not saturates()),
]

SCENARIOS = (*_PAIRS, *_COARSE, *_HARD)
