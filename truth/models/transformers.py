"""Transformers: an encoder with padding masks, a decoder with a cache, a vision transformer, a mixture of experts."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from truth.build import Graph, Net

LOWEST = float(np.finfo(np.float32).min)


def attention(g: Graph, x: str, name: str, width: int, heads: int, mask: str = "") -> str:
    """Add self-attention of several heads."""
    shape = g.ints(f"{name}.split", 0, 0, heads, width // heads)
    parts = {}
    for part, order in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])):
        split = g.node("Reshape", [g.linear(x, f"{name}.{part}", width, width), shape], f"{name}.{part}.split")
        parts[part] = g.node("Transpose", [split], f"{name}.{part}.heads", perm=order)
    scores = g.node("MatMul", [parts["q"], parts["k"]], f"{name}.scores")
    scores = g.node("Mul", [scores, g.const(f"{name}.root", (width / heads) ** -0.5)], f"{name}.scaled")
    if mask:
        scores = g.node("Add", [scores, mask], f"{name}.masked")
    mixed = g.node("MatMul", [g.node("Softmax", [scores], f"{name}.p", axis=-1), parts["v"]], f"{name}.mixed")
    back = g.node("Transpose", [mixed], f"{name}.back", perm=[0, 2, 1, 3])
    flat = g.node("Reshape", [back, g.ints(f"{name}.flat", 0, 0, width)], f"{name}.joined")
    return g.linear(flat, f"{name}.out", width, width)


def gelu(g: Graph, x: str, name: str) -> str:
    """Add GELU as exporters write it."""
    erf = g.node("Erf", [g.node("Div", [x, g.const(f"{name}.root2", 2**0.5)], f"{name}.div")], f"{name}.erf")
    product = g.node("Mul", [x, g.node("Add", [erf, g.const(f"{name}.one", 1)], f"{name}.add")], f"{name}.mul")
    return g.node("Mul", [product, g.const(f"{name}.half", 0.5)], name)


def block(g: Graph, x: str, name: str, width: int, mask: str = "", heads: int = 4) -> str:
    """Add one layer, normalised behind each half."""
    x = g.norm(
        g.node("Add", [x, attention(g, x, f"{name}.att", width, heads, mask)], f"{name}.sum1"), f"{name}.n1", width
    )
    wide = gelu(g, g.linear(x, f"{name}.up", width, 4 * width), f"{name}.gelu")
    return g.norm(
        g.node("Add", [x, g.linear(wide, f"{name}.down", 4 * width, width)], f"{name}.sum2"), f"{name}.n2", width
    )


def encoder(layers: int = 2, width: int = 32, words: int = 64) -> Net:
    """A sentence encoder: padding is masked with the lowest number, as exporters of PyTorch do."""
    g = Graph("encoder")
    ids = g.input("input_ids", g.rng.integers(0, words, (2, 8)), ["batch", "length"])
    lengths = np.array([[8], [5]])
    mask = g.input("attention_mask", (np.arange(8) < lengths).astype(np.int64), ["batch", "length"])
    x = g.node("Gather", [g.weight("words.w", words, width, scale=0.5), ids], "words")
    x = g.norm(g.node("Add", [x, g.weight("places", 8, width, scale=0.2)], "embedded"), "embedding", width)
    real = g.node(
        "Cast", [g.node("Unsqueeze", [mask, g.ints("axes", 1, 2)], "mask.4d")], "mask.bool", to=TensorProto.BOOL
    )
    bias = g.node("Where", [real, g.const("zero", 0), g.const("lowest", LOWEST)], "bias")
    for layer in range(layers):
        x = block(g, x, f"l{layer}", width, bias)
    g.node("Identity", [x], "hidden")
    weight = g.node(
        "Unsqueeze", [g.node("Cast", [mask], "mask.float", to=TensorProto.FLOAT), g.ints("last", 2)], "mask.3d"
    )
    summed = g.node("ReduceSum", [g.node("Mul", ["hidden", weight], "kept"), g.ints("along", 1)], "summed", keepdims=0)
    count = g.node("ReduceSum", [weight, "along"], "count", keepdims=0)
    g.node("LpNormalization", [g.node("Div", [summed, count], "mean")], "sentence", axis=-1, p=2)
    g.output("hidden", "sentence")
    return g.net()


def rms_norm(g: Graph, x: str, name: str, width: int) -> str:
    """Add root-mean-square normalisation, operator by operator."""
    square = g.node("Pow", [x, g.const(f"{name}.two", 2)], f"{name}.square")
    mean = g.node("ReduceMean", [square], f"{name}.mean", axes=[-1])
    root = g.node("Sqrt", [g.node("Add", [mean, g.const(f"{name}.eps", 1e-6)], f"{name}.plus")], f"{name}.root")
    scaled = g.node("Mul", [x, g.node("Reciprocal", [root], f"{name}.inverse")], f"{name}.scaled")
    return g.node("Mul", [scaled, g.const(f"{name}.w", 1 + g.normal(width, scale=0.1))], name)


def rotate(g: Graph, x: str, name: str) -> str:
    """Add rotary positions to heads [batch, heads, length, 8]."""
    low = g.node("Slice", [x, g.ints(f"{name}.0", 0), g.ints(f"{name}.4", 4), g.ints(f"{name}.3", 3)], f"{name}.low")
    high = g.node("Slice", [x, f"{name}.4", g.ints(f"{name}.8", 8), f"{name}.3"], f"{name}.high")
    turned = g.node("Concat", [g.node("Neg", [high], f"{name}.minus"), low], f"{name}.turned", axis=-1)
    cos = g.node("Mul", [x, "cosine"], f"{name}.cos")
    return g.node("Add", [cos, g.node("Mul", [turned, "sine"], f"{name}.sin")], name)


def decoder(layers: int = 2, width: int = 32, words: int = 64, past: int = 5) -> Net:
    """A decoder of Llama's kind that reads three tokens behind five cached ones."""
    g = Graph("decoder", seed=1)
    now = 3
    ids = g.input("input_ids", g.rng.integers(0, words, (1, now)), [1, "length"])
    places = g.input("position_ids", np.arange(past, past + now)[None], [1, "length"])
    real = g.node("Cast", [places], "places.float", to=TensorProto.FLOAT)
    column = g.node("Unsqueeze", [real, g.ints("third", 2)], "places.column")
    angles = g.node("Mul", [column, g.const("speeds", 10000.0 ** -(np.arange(4) / 4))], "angles")
    twice = g.node(
        "Unsqueeze", [g.node("Concat", [angles, angles], "angles.twice", axis=-1), g.ints("first", 1)], "angles.4d"
    )
    g.node("Cos", [twice], "cosine")
    g.node("Sin", [twice], "sine")
    seen = np.tril(np.ones((now, past + now), bool), past)
    bias = g.const("causal", np.where(seen, 0, LOWEST))
    x = g.node("Gather", [g.weight("words.w", words, width, scale=0.5), ids], "words")
    for layer in range(layers):
        x = decoder_layer(g, x, f"l{layer}", width, bias, past)
    g.node("MatMul", [rms_norm(g, x, "final", width), g.weight("head", width, words)], "logits")
    g.output("logits")
    return g.net()


def decoder_layer(g: Graph, x: str, name: str, width: int, bias: str, past: int) -> str:
    """Add a layer with a cache of keys and values, and a gated half behind it."""
    normal = rms_norm(g, x, f"{name}.n1", width)
    shape = g.ints(f"{name}.split", 0, 0, 4, 8)
    heads = {}
    for part in "qkv":
        product = g.node("MatMul", [normal, g.weight(f"{name}.{part}.w", width, width)], f"{name}.{part}")
        split = g.node("Reshape", [product, shape], f"{name}.{part}.split")
        heads[part] = g.node("Transpose", [split], f"{name}.{part}.heads", perm=[0, 2, 1, 3])
    query, key = rotate(g, heads["q"], f"{name}.q.turn"), rotate(g, heads["k"], f"{name}.k.turn")
    for part, made in (("k", key), ("v", heads["v"])):
        old = g.input(f"past.{name}.{part}", g.normal(1, 4, past, 8), [1, 4, "past", 8])
        g.node("Concat", [old, made], f"present.{name}.{part}", axis=2)
        g.output(f"present.{name}.{part}")
    turned = g.node("Transpose", [f"present.{name}.k"], f"{name}.k.t", perm=[0, 1, 3, 2])
    scores = g.node(
        "Mul", [g.node("MatMul", [query, turned], f"{name}.qk"), g.const(f"{name}.r", 8**-0.5)], f"{name}.scaled"
    )
    weights = g.node("Softmax", [g.node("Add", [scores, bias], f"{name}.masked")], f"{name}.p", axis=-1)
    mixed = g.node("MatMul", [weights, f"present.{name}.v"], f"{name}.mixed")
    back = g.node("Transpose", [mixed], f"{name}.back", perm=[0, 2, 1, 3])
    flat = g.node("Reshape", [back, g.ints(f"{name}.flat", 0, 0, width)], f"{name}.joined")
    x = g.node("Add", [x, g.node("MatMul", [flat, g.weight(f"{name}.o.w", width, width)], f"{name}.o")], f"{name}.sum1")
    normal = rms_norm(g, x, f"{name}.n2", width)
    gate = g.node("MatMul", [normal, g.weight(f"{name}.gate.w", width, 64)], f"{name}.gate")
    silu = g.node("Mul", [gate, g.node("Sigmoid", [gate], f"{name}.sigmoid")], f"{name}.silu")
    up = g.node("MatMul", [normal, g.weight(f"{name}.up.w", width, 64)], f"{name}.up")
    gated = g.node("Mul", [silu, up], f"{name}.gated")
    down = g.node("MatMul", [gated, g.weight(f"{name}.down.w", 64, width)], f"{name}.down")
    return g.node("Add", [x, down], f"{name}.sum2")


def vision_transformer(layers: int = 2, width: int = 32) -> Net:
    """An image in patches, a class token, layers, a head."""
    g = Graph("vit", seed=2)
    image = g.input("image", g.normal(2, 3, 16, 16), ["batch", 3, 16, 16])
    patches = g.node(
        "Conv", [image, g.weight("patch.w", width, 3, 4, 4), g.weight("patch.b", width)], "patch", strides=[4, 4]
    )
    row = g.node("Reshape", [patches, g.ints("row.shape", 0, width, -1)], "row")
    tokens = g.node("Transpose", [row], "tokens", perm=[0, 2, 1])
    batch = g.node("Gather", [g.node("Shape", [image], "shape"), g.ints("zeroth", 0)], "batch", axis=0)
    target = g.node("Concat", [batch, g.ints("one.width", 1, width)], "target", axis=0)
    token = g.node("Expand", [g.weight("class.w", 1, 1, width, scale=0.5), target], "class")
    x = g.node("Concat", [token, tokens], "sequence", axis=1)
    x = g.node("Add", [x, g.weight("places", 17, width, scale=0.2)], "embedded")
    for layer in range(layers):
        x = block(g, x, f"l{layer}", width)
    head = g.node("Gather", [g.norm(x, "final", width), g.const("nought", 0, np.int64)], "first", axis=1)
    g.node("Gemm", [head, g.weight("head.w", width, 10), g.weight("head.b", 10)], "logits")
    g.output("logits")
    return g.net()


def experts(width: int = 16, count: int = 4) -> Net:
    """A mixture of experts: the two best of four per token, weighted, scattered and gathered."""
    g = Graph("experts", seed=3)
    x = g.input("x", g.normal(6, width), ["tokens", width])
    normal = g.norm(x, "norm", width)
    router = g.node("Softmax", [g.linear(normal, "router", width, count)], "router.p", axis=-1)
    g.node("TopK", [router, g.ints("two", 2)], ["best", "chosen"], axis=-1)
    total = g.node("ReduceSum", ["best", g.ints("last", -1)], "total", keepdims=1)
    shares = g.node("Div", ["best", total], "shares")
    zeros = g.node("Mul", [router, g.const("zero", 0)], "zeros")
    g.node("ScatterElements", [zeros, "chosen", shares], "gates", axis=-1)
    made = []
    for number in range(count):
        up = g.node("Relu", [g.linear(normal, f"e{number}.up", width, 2 * width)], f"e{number}.relu")
        down = g.linear(up, f"e{number}.down", 2 * width, width)
        made.append(g.node("Unsqueeze", [down, g.ints(f"e{number}.axis", 1)], f"e{number}.made"))
    stacked = g.node("Concat", made, "stacked", axis=1)
    column = g.node("Unsqueeze", ["gates", g.ints("third", 2)], "gates.column")
    mixed = g.node(
        "ReduceSum", [g.node("Mul", [stacked, column], "weighted"), g.ints("middle", 1)], "mixed", keepdims=0
    )
    g.node("Add", [x, mixed], "y")
    flat = g.node("Gather", ["y", g.ints("order", 3, 1, 0)], "picked", axis=0)
    g.node("ScatterND", [g.weight("memory", 8, width), g.const("slots", [[1], [4], [6]], np.int64), flat], "written")
    g.output("y", "written")
    return g.net()
