"""What an engine's layers are as nodes of a model for viewers."""

from __future__ import annotations

import pytest

from polycmp_trt.build.layers import Layer
from polycmp_trt.show.onnx_like import network_names


def copy(read, made):
    return Layer("Reformatting CopyNode for a tensor", "Reformat", {read: ""}, {made: ""})


@pytest.mark.parametrize(
    ("copies", "names"),
    [
        ([], {}),
        ([copy("x", "Reformatted Input Tensor 0 to conv")], {"Reformatted Input Tensor 0 to conv": "x"}),
        ([copy("Reformatted Output Tensor 0 to conv", "y")], {"Reformatted Output Tensor 0 to conv": "y"}),
        (
            [copy("c", "Reformatted Input Tensor 0 to a"), copy("Reformatted Input Tensor 0 to a", "again")],
            {"Reformatted Input Tensor 0 to a": "c", "again": "c"},
        ),
    ],
    ids=["no copy", "of an input", "of an output", "of a copy"],
)
def test_copies_into_other_layouts_have_the_networks_name(copies, names):
    layers = [Layer("conv + relu", "CaskConvolution", {"x": ""}, {"y": ""}), *copies]
    assert network_names(layers) == names
