"""Scenarios that polycmp does not judge rightly yet, each with its reason; a test fails as soon as one is right."""

from __future__ import annotations

from collections.abc import Mapping

MASK = "the lowest number of a mask becomes infinite in a coarse type, and Softmax absorbs it"
STEPS = "quantised tensors are not judged in steps of their scale"
ILL = "a file in a coarse type, or a value in its tail, is called ill-conditioned"
BOTH = "NaN or infinity on both sides in the same places"
TIE = "a coarse type makes a tie, and an operator that decides is accused"

SHAPES = "unknown dimensions become 1, which the file's padding does not allow"

PENDING: Mapping[str, str] = {
    "static int8: ONNX Runtime against the reference": STEPS,
    "static int8: ONNX Runtime against itself without optimisation": STEPS,
    "static int8, symmetric: ONNX Runtime against the reference": STEPS,
    "static int8, symmetric: ONNX Runtime against itself without optimisation": STEPS,
    "float16: ONNX Runtime against the reference": ILL,
    "float16: ONNX Runtime against itself without optimisation": ILL,
    "float16 encoder: ONNX Runtime against the reference": ILL,
    "float16 encoder: ONNX Runtime against itself without optimisation": ILL,
    "mixed precision: ONNX Runtime against the reference": ILL,
    "mixed precision: ONNX Runtime against itself without optimisation": ILL,
    "bfloat16: ONNX Runtime against the reference": ILL,
    "bfloat16: ONNX Runtime against itself without optimisation": ILL,
    "encoder: float16 asked for": MASK,
    "encoder: bfloat16 asked for": MASK,
    "decoder: float16 asked for": MASK,
    "decoder: bfloat16 asked for": MASK,
    "dynamic int8: float16 asked for": STEPS,
    "dynamic int8: bfloat16 asked for": STEPS,
    "static int8: float16 asked for": STEPS,
    "static int8: bfloat16 asked for": STEPS,
    "static int8, symmetric: float16 asked for": STEPS,
    "static int8, symmetric: bfloat16 asked for": STEPS,
    "static int8, depthwise: float16 asked for": STEPS,
    "static int8, depthwise: bfloat16 asked for": STEPS,
    "static int8, symmetric, whole biases: float16 asked for": STEPS,
    "static int8, symmetric, whole biases: bfloat16 asked for": STEPS,
    "static int8, encoder: float16 asked for": MASK,
    "static int8, encoder: bfloat16 asked for": MASK,
    "float16 encoder: bfloat16 asked for": MASK,
    "mask, float16: nothing wrong": MASK,
    "mask, bfloat16: nothing wrong": MASK,
    "saturated sigmoid, unoptimised: nothing wrong": ILL,
    "floor of a tie: nothing wrong": ILL,
    "two equal maxima, float16: nothing wrong": TIE,
    "infinite on both sides: nothing wrong": BOTH,
    "NaN in the input: nothing wrong": BOTH,
    "mixed precision: layout at m1.product": ILL,
    "mixed precision: row-noise at m0.relu": ILL,
    "float16: row-noise at s1.c1": ILL,
    "static int8: layout at s1.c1": STEPS,
    "static int8: row-noise at s0.add": STEPS,
    "static int8: saturate at stem.bn": STEPS,
    "static int8, symmetric: layout at s0.c2": STEPS,
    "static int8, symmetric: shuffle at s1.r1": STEPS,
    "MiniLM: float16 asked for": MASK,
    "MiniLM: bfloat16 asked for": MASK,
    "MiniLM converted to float16, against the reference": MASK,
    "MiniLM converted to float16, unoptimised": MASK,
    "MiniLM in float16: row-noise at l2.up.matmul": MASK,
    "MiniLM in dynamic int8, against the reference": STEPS,
    "MiniLM in dynamic int8, against float64": STEPS,
    "MiniLM in dynamic int8, unoptimised": STEPS,
    **{
        f"{name}: {command} against {other}": SHAPES
        for name in ("silero-vad", "silero-vad, opset 15", "silero-vad in float16", "silero-vad without If")
        for command in ("run", "locate")
        for other in ("the reference", "itself without optimisation")
    },
}
