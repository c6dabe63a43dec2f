"""Whether `run`, `run --mark-all` and `locate` say one word of random networks in smaller types.

    python -m truth.pairs [--count N] [--seed N] [--beside {file,backend}]

Each pair is a random network of one of the kinds below, made smaller by a tool that is installed; every
other one has a weight that is off. It is asked about beside its source, or with `--beside backend` in ONNX Runtime and
in ONNX's reference. What `contrary` finds is printed, and so is each good file that is accused, to be read: a mask may
eat the scale of its scores, or a backend's kernel may be wrong. The exit status is 0 if no command contradicts another.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import logging
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from polycmp_onnx import convert_to_bf16, convert_to_fp16
from truth.build import Graph
from truth.judge import Said, is_contrary, run_words, word_of
from truth.networks.tools import TOOLS, Make

COMMANDS = ("run", "run --mark-all", "locate")
#: Shares by which half of the rows of a weight are too large.
SHARES = (0.0, 0.0, 0.0, 1e-4, 1e-2, 0.3)
#: Fewest numbers of a weight that is changed.
_FEWEST = 16
#: A kernel for several operators is wrong.
_FUSED = "probing removes the fault"


def convolutional(g: Graph) -> str:
    """Make convolutions with activations, some of them normalised, and a classifier."""
    x, channels = g.input("x", g.normal(2, 3, 16, 16)), 3
    for number in range(int(g.rng.integers(2, 5))):
        wide = int(g.rng.choice([4, 8, 16]))
        x, channels = g.conv(x, f"c{number}", channels, wide), wide
        if g.rng.random() < 0.5:
            x = g.batch_norm(x, f"n{number}", channels)
        x = g.node(str(g.rng.choice(["Relu", "Sigmoid", "LeakyRelu", "HardSwish"])), [x], f"a{number}")
    flat = g.node("Flatten", [g.node("GlobalAveragePool", [x], "pooled")], "flat")
    scores = g.linear(flat, "scores", channels, 10)
    return g.node("Softmax", [scores], "y") if g.rng.random() < 0.5 else scores


def transformer(g: Graph) -> str:
    """Make blocks of attention, some of it masked, and of gated products."""
    width, length = 32, 6
    x = g.input("x", g.normal(2, length, width))
    mask = g.const("mask", np.triu(np.full((length, length), -1e9), 1))
    for number in range(int(g.rng.integers(1, 4))):
        name = f"b{number}"
        normed = g.norm(x, f"{name}.n1", width)
        query, key, value = (g.linear(normed, f"{name}.{part}", width, width) for part in ("q", "k", "v"))
        scores = g.node("MatMul", [query, g.node("Transpose", [key], f"{name}.kt", perm=[0, 2, 1])], f"{name}.scores")
        scores = g.node("Mul", [scores, g.const(f"{name}.root", g.rng.choice([width**-0.5, 1.0]))], f"{name}.scaled")
        if g.rng.random() < 0.3:
            scores = g.node("Add", [scores, mask], f"{name}.masked")
        mixed = g.node("MatMul", [g.node("Softmax", [scores], f"{name}.shares"), value], f"{name}.mixed")
        x = g.node("Add", [x, g.linear(mixed, f"{name}.out", width, width)], f"{name}.sum")
        up = g.linear(g.norm(x, f"{name}.n2", width), f"{name}.up", width, 2 * width)
        gated = g.node("Mul", [up, g.node("Sigmoid", [up], f"{name}.gate")], f"{name}.gated")
        x = g.node("Add", [x, g.linear(gated, f"{name}.down", 2 * width, width)], f"{name}.end")
    return x


def perceptron(g: Graph) -> str:
    """Make products and functions of them, some of which amplify."""
    width = int(g.rng.choice([8, 32, 64]))
    x = g.input("x", g.normal(8, width))
    for number in range(int(g.rng.integers(2, 8))):
        x, name = g.linear(x, f"l{number}", width, width), f"a{number}"
        kind = str(g.rng.choice(["Relu", "Tanh", "Softplus", "norm", "exp", "ratio", "centred", "erf"]))
        if kind == "norm":
            x = g.norm(x, name, width)
        elif kind == "exp":
            x = g.node("Exp", [g.node("Tanh", [x], f"{name}.bent")], name)
        elif kind == "ratio":
            size = g.node("Add", [g.node("Abs", [x], f"{name}.abs"), g.const(f"{name}.least", 0.1)], f"{name}.size")
            x = g.node("Div", [x, size], name)
        elif kind == "centred":
            x = g.node("Sub", [x, g.node("ReduceMean", [x], f"{name}.mean", axes=[-1])], name)
        elif kind == "erf":
            risen = g.node("Add", [g.node("Erf", [x], f"{name}.erf"), g.const(f"{name}.one", 1)], f"{name}.up")
            x = g.node("Mul", [x, risen], name)
        else:
            x = g.node(kind, [x], name)
    return x


def recurrent(g: Graph) -> str:
    """Make LSTMs and GRUs, some in both directions, and a classifier of their mean."""
    width, hidden, steps = int(g.rng.choice([8, 24])), int(g.rng.choice([8, 16])), int(g.rng.choice([5, 20]))
    x = g.input("x", g.normal(steps, 2, width))
    for number in range(int(g.rng.integers(1, 3))):
        name, kind, directions = f"r{number}", str(g.rng.choice(["LSTM", "GRU"])), int(g.rng.integers(1, 3))
        gates = {"LSTM": 4, "GRU": 3}[kind]
        weights = [
            g.const(f"{name}.w", g.normal(directions, gates * hidden, width, scale=width**-0.5)),
            g.const(f"{name}.r", g.normal(directions, gates * hidden, hidden, scale=hidden**-0.5)),
            g.const(f"{name}.b", g.normal(directions, 2 * gates * hidden, scale=0.1)),
        ]
        attributes: dict[str, Any] = {"direction": "forward" if directions == 1 else "bidirectional"}
        if kind == "GRU":
            attributes["linear_before_reset"] = int(g.rng.integers(2))
        states = g.node(kind, [x, *weights], name, hidden_size=hidden, **attributes)
        width = directions * hidden
        apart = g.node("Transpose", [states], f"{name}.t", perm=[0, 2, 1, 3])
        x = g.node("Reshape", [apart, g.ints(f"{name}.shape", steps, 2, width)], f"{name}.flat")
        if g.rng.random() < 0.3:
            x = g.norm(x, f"{name}.n", width)
    scores = g.linear(g.node("ReduceMean", [x], "mean", axes=[0]), "scores", width, 12)
    return g.node(str(g.rng.choice(["LogSoftmax", "Softmax", "Sigmoid", "Identity"])), [scores], "y")


def skipping(g: Graph) -> str:
    """Make smaller and larger pictures, joined across the middle, some channels weighted by gates."""
    x, channels, skips = g.input("x", g.normal(1, 3, 24, 24)), 3, []
    for number, wide in enumerate((8, 16)):
        x = _activated(g, g.conv(x, f"d{number}.c", channels, wide), f"d{number}", wide)
        skips.append((x, wide))
        if g.rng.random() < 0.5:
            x = _activated(g, g.conv(x, f"w{number}.c", wide, wide, group=wide), f"w{number}", wide)
        if g.rng.random() < 0.5:
            pooled = g.node("GlobalAveragePool", [x], f"g{number}.pooled")
            squeezed = g.node("Relu", [g.conv(pooled, f"g{number}.c", wide, 4, 1)], f"g{number}.relu")
            gate = g.node("Sigmoid", [g.conv(squeezed, f"g{number}.e", 4, wide, 1)], f"g{number}.gate")
            x = g.node("Mul", [x, gate], f"g{number}")
        x, channels = g.node("MaxPool", [x], f"p{number}", kernel_shape=[2, 2], strides=[2, 2]), wide
    x = _activated(g, g.conv(x, "mid.c", channels, 16), "mid", 16)
    channels = 16
    for number, (skip, wide) in reversed(list(enumerate(skips))):
        if g.rng.random() < 0.5:
            scales = g.const(f"u{number}.scales", [1, 1, 2, 2])
            x = g.node("Resize", [x, "", scales], f"u{number}", mode=str(g.rng.choice(["nearest", "linear"])))
        else:
            weight = g.const(f"u{number}.w", g.normal(channels, channels, 2, 2, scale=channels**-0.5))
            x = g.node("ConvTranspose", [x, weight], f"u{number}", strides=[2, 2])
        joined = g.node("Concat", [x, skip], f"joined{number}", axis=1)
        x = _activated(g, g.conv(joined, f"up{number}.c", channels + wide, wide), f"up{number}", wide)
        channels = wide
    return g.node(str(g.rng.choice(["Sigmoid", "Identity", "Softmax"])), [g.conv(x, "head", channels, 2, 1)], "y")


def _activated(g: Graph, x: str, name: str, channels: int) -> str:
    """Add an activation to a convolution, and a normalisation before some."""
    if g.rng.random() < 0.6:
        x = g.batch_norm(x, f"{name}.n", channels)
    kind = str(g.rng.choice(["Relu", "silu", "HardSwish", "Elu", "mish", "PRelu"]))
    if kind == "silu":
        return g.node("Mul", [x, g.node("Sigmoid", [x], f"{name}.gate")], f"{name}.a")
    if kind == "mish":
        return g.node(
            "Mul", [x, g.node("Tanh", [g.node("Softplus", [x], f"{name}.soft")], f"{name}.gate")], f"{name}.a"
        )
    slopes = [g.const(f"{name}.slope", np.abs(g.normal(channels, 1, 1, scale=0.2)))] if kind == "PRelu" else []
    return g.node(kind, [x, *slopes], f"{name}.a")


def retrieving(g: Graph) -> str:
    """Make vectors of length one, and choose those of a table that are nearest."""
    width = 32
    x = g.linear(g.input("x", g.normal(6, width)), "first", width, width)
    x = g.node("Tanh", [x], "bent") if g.rng.random() < 0.5 else g.norm(x, "bent", width)
    x = g.linear(x, "second", width, width)
    unit = g.node("Div", [x, g.node("ReduceL2", [x], "size", axes=[-1], keepdims=1)], "unit")
    table = g.normal(50, width)
    near = g.node("MatMul", [unit, g.const("table", (table / np.linalg.norm(table, axis=1, keepdims=True)).T)], "near")
    shares = g.node(
        "Softmax", [g.node("Mul", [near, g.const("sharp", g.rng.choice([1.0, 20.0, 100.0]))], "scores")], "y"
    )
    choice = g.rng.integers(3)
    if choice == 1:
        g.node("TopK", [shares, g.ints("k", 5)], ["top", "which"])
    elif choice == 2:
        g.node("ArgMax", [shares], "which", axis=-1)
    if choice:
        g.output("which", kind=onnx.TensorProto.INT64)
    return "top" if choice == 1 else shares


NETWORKS: tuple[Callable[[Graph], str], ...] = (
    convolutional, transformer, perceptron, recurrent, skipping, retrieving,
)  # fmt: skip


def _saved(convert: Callable[[onnx.ModelProto], onnx.ModelProto]) -> Make:
    return lambda source, target, feeds: onnx.save(convert(onnx.load(source)), target)


#: Makers of another file, by what they make.
MAKERS: Mapping[str, Make] = {
    "same types": _saved(lambda model: model),
    "float16 of polycmp": _saved(convert_to_fp16),
    "bfloat16 of polycmp": _saved(convert_to_bf16),
    **{tool.name: tool.make for tool in TOOLS},
}


@dataclass(frozen=True)
class Pair:
    """Two files of one network.

    Attributes:
        name: The network, what the second file is made with, and the share by which a weight of it is too large.
        words: The files and backends for a command.
        is_good: Whether nothing is planted.
    """

    name: str
    words: tuple[str, ...]
    is_good: bool


def make_pair(seed: int, folder: Path, *, is_beside_backend: bool) -> Pair:
    """Write a pair to a folder.

    Args:
        seed: Seed of everything that is random.
        folder: The folder.
        is_beside_backend: Whether the second file runs in two backends, and not beside the first one.
    """
    rng = np.random.default_rng(seed)
    write, share = NETWORKS[rng.integers(len(NETWORKS))], 0.0 if is_beside_backend else float(rng.choice(SHARES))
    graph = Graph(write.__name__, seed)
    graph.output(write(graph))
    net = graph.net()
    old, spoilt, new = net.write(folder, "old.onnx"), folder / "spoilt.onnx", folder / "new.onnx"
    onnx.save(_spoilt(net.model, share, rng), spoilt)
    is_calibrated = rng.random() < 0.7
    other = {"x": rng.standard_normal(net.feed["x"].shape).astype(np.float32)}
    for tool in rng.permutation(list(MAKERS)):
        try:
            MAKERS[tool](spoilt, new, [net.feed if is_calibrated else other])
        except Exception:  # noqa: BLE001 - another tool is asked where one is not there, or makes nothing
            continue
        break
    runs_it = "onnx" if tool.startswith("bfloat16") else "onnxrt"
    beside = "onnx:name=old" if is_beside_backend else f"onnxrt:name=old,model={old}"
    words = (str(new), "-b", f"{runs_it}:name=new", "-b", beside, "--load-inputs", str(folder / "x.npz"))
    calibrated = "" if is_calibrated else ", calibrated with other inputs"
    return Pair(f"{seed}: {write.__name__}, {tool}{calibrated}, {share:g} too large", words, not share)


def _spoilt(model: onnx.ModelProto, share: float, rng: np.random.Generator) -> onnx.ModelProto:
    """Return a model of which half of the rows of a weight are too large by a share."""
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    large = [item for item in changed.graph.initializer if np.prod(item.dims) >= _FEWEST and item.name != "mask"]
    weight = large[int(rng.integers(len(large)))]
    array = numpy_helper.to_array(weight).copy()
    array[: len(array) // 2] *= np.float32(1 + share)
    weight.CopyFrom(numpy_helper.from_array(array, weight.name))
    return changed


def ask(pair: Pair, folder: Path) -> dict[str, Said]:
    """Return what each command says of a pair."""
    said = {}
    for command in COMMANDS:
        name, *options = command.split()
        said[command] = run_words([name, *pair.words, *options], folder / "said.json")
    return said


def contrary(said: Mapping[str, Said]) -> bool:
    """Return whether commands say of one pair what cannot both be true.

    Looking inside may add the name of a tensor whose fault the outputs do not show, and nothing else. Where the marks
    of `--mark-all` keep a kernel from being used, it sees another computation. BLIND says nothing of an output.
    """
    run, marked, located = (word_of(said[command]) for command in COMMANDS)
    probe = said["locate"].document.get("probe") or {}
    if not run or (run == located and (said["locate"].verdict == _FUSED or not probe.get("trusted", True))):
        return False
    return marked not in {run, "failed"} or is_contrary(marked, located, said["locate"].sentence)


def main(words: Sequence[str]) -> int:
    """Ask of random pairs, print what is to be read, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m truth.pairs", description=__doc__)
    parser.add_argument("--count", type=int, default=60, help="how many pairs")
    parser.add_argument("--seed", type=int, default=1, help="seed of the first; each has the next")
    parser.add_argument("--beside", choices=("file", "backend"), default="file", help="what the file runs beside")
    options = parser.parse_args(words)
    logging.disable(logging.WARNING)
    counts, bad = Counter[str](), 0
    for seed in range(options.seed, options.seed + options.count):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                pair = make_pair(seed, folder, is_beside_backend=options.beside == "backend")
                said = ask(pair, folder)
        answers = ", ".join(word_of(item) or "no answer" for item in said.values())
        counts[answers] += 1
        is_contrary = contrary(said)
        bad += is_contrary
        if is_contrary or (pair.is_good and "failed" in answers):
            print(f"{'contrary' if is_contrary else 'accused'}: {pair.name}: {answers}\n    {said['locate'].sentence}")
    for answers, count in counts.most_common():
        print(f"{count:5d}  {answers}")
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
