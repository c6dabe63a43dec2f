"""Which types an engine tells of the layers of the network that it was built from."""

from __future__ import annotations

import pytest

from polycmp_trt.build.layers import Layer
from polycmp_trt.build.shared_types import chosen_types

HALF, FULL = "Half/FP16", "Row major/Float"


def layer(name, text):
    return Layer(name, "Gemm", {}, {"y": text})


@pytest.mark.parametrize(
    ("engine", "types"),
    [
        ([layer("a + b", HALF), layer("c", FULL)], {"a": "FP16", "b": "FP16", "c": "FP32"}),
        ([layer("PWN(PWN(a), b)", HALF)], {"a": "FP16", "b": "FP16"}),
        ([layer("a", FULL), layer("b", FULL)], {"a": "FP32", "b": "FP32"}),
        ([layer("a", FULL), layer("{ForeignNode[b...c]}", FULL)], {}),
        ([layer("a", HALF), layer("{ForeignNode[b...c]}", FULL)], {"a": "FP16"}),
        ([Layer("a")], {}),
    ],
    ids=["fused", "point by point", "all in float32", "compiled", "compiled beside float16", "names alone"],
)
def test_types_by_the_networks_layers(engine, types):
    assert chosen_types(engine) == types
