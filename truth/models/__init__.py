"""Small versions of the architectures that people run, written with `onnx.helper` alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache

from truth.build import Net
from truth.models import lowbit, sequences, transformers, vision


def _external() -> Net:
    return replace(vision.resnet(seed=20), external=True)


def eight_bits() -> Net:
    """Symmetric activations and weights of eight bits: what a fused kernel adds up in 16 bits saturates."""
    return lowbit.static_int8(vision.resnet(), signed=True, symmetric=True, bias=True)


#: By name; quantised ones have weights of seven bits, so that no processor saturates.
ARCHITECTURES: Mapping[str, Callable[[], Net]] = {
    "encoder": transformers.encoder,
    "decoder": transformers.decoder,
    "vision transformer": transformers.vision_transformer,
    "mixture of experts": transformers.experts,
    "residual": vision.resnet,
    "depthwise": vision.mobilenet,
    "u-net": vision.unet,
    "detector": vision.detector,
    "super-resolution": vision.super_resolution,
    "speech": sequences.speech,
    "lstm": sequences.lstm,
    "gru": sequences.gru,
    "loop, if, scan": sequences.bodies,
    "graph network": sequences.graph_network,
    "diffusion": sequences.diffusion,
    "functions": sequences.functions,
    "recommender": sequences.recommender,
    "external data": _external,
    "dynamic int8": lowbit.dynamic_int8,
    "static int8": lambda: lowbit.static_int8(vision.resnet(), signed=False, symmetric=False, bits=7),
    "static int8, symmetric": lambda: lowbit.static_int8(vision.resnet(), signed=True, symmetric=True, bits=7),
    "static int8, depthwise": lambda: lowbit.static_int8(
        vision.mobilenet(), signed=False, symmetric=False, bits=7, bias=True
    ),
    "static int8, symmetric, whole biases": lambda: lowbit.static_int8(
        vision.resnet(), signed=True, symmetric=True, bits=7, bias=True
    ),
    "static int8, encoder": lambda: lowbit.static_int8(
        transformers.encoder(), signed=False, symmetric=False, bits=7, bias=True
    ),
    "four bits": lowbit.four_bit,
    "float16": lambda: lowbit.half(vision.resnet()),
    "float16 encoder": lambda: lowbit.half(transformers.encoder()),
    "mixed precision": lowbit.mixed,
    "bfloat16": lowbit.bfloat,
}


@cache
def net_of(architecture: str) -> Net:
    """Return an architecture's model and inputs; the same object every time.

    Raises:
        KeyError: There is none of that name.
    """
    return ARCHITECTURES[architecture]()
