"""Models in the format of the toy box, written as files for tests."""

from __future__ import annotations

import json
from pathlib import Path


def node(op, inputs, outputs, name=None, **attributes):
    """Return one operator; tensors are given as words, and its name is that of its first output."""
    reads, makes = inputs.split(), outputs.split()
    return {
        "op": op,
        "inputs": reads,
        "outputs": makes,
        "name": f"n_{makes[0]}" if name is None else name,
        "attributes": attributes,
    }


def number(value, dtype="float32"):
    """Return a weight that is one number."""
    return {"dtype": dtype, "shape": [], "values": value}


def drawn(*shape, seed=0, scale=1.0, dtype="float32"):
    """Return a weight of random numbers."""
    return {"dtype": dtype, "shape": list(shape), "seed": seed, "scale": scale}


def write(path, nodes, weights=None, inputs=None, outputs=("y",)):
    """Write a model from x [n,8] to y, unless inputs and outputs say otherwise; return its path."""
    model = {
        "inputs": inputs or {"x": ["float32", ["n", 8]]},
        "outputs": list(outputs),
        "nodes": nodes,
        "weights": weights or {},
    }
    Path(path).write_text(json.dumps(model))
    return path


def small(path, seed=0):
    """x [n,8] -> MatMul -> Relu -> Softmax -> y."""
    nodes = [node("MatMul", "x w", "h"), node("Relu", "h", "r"), node("Softmax", "r", "y")]
    return write(path, nodes, {"w": drawn(8, 8, seed=seed)})


def chain(path, length=12, changed=None, shape=("n", 8)):
    """MatMuls and Relus in turn: h1 r1 h2 r2 … y; the weight number `changed` is another one."""
    nodes, weights, source = [], {}, "x"
    for index in range(1, length + 1):
        target = "y" if index == length else f"r{index}"
        weights[f"w{index}"] = drawn(8, 8, seed=index if index != changed else 100 + index, scale=0.4)
        nodes += [node("MatMul", f"{source} w{index}", f"h{index}"), node("Relu", f"h{index}", target)]
        source = target
    return write(path, nodes, weights, {"x": ["float32", list(shape)]})


def residual(path):
    """Tensors that live across others, a weight that passes through an operator, two outputs of one, a whole number."""
    nodes = [
        node("Add", "w w", "ww"),
        node("MatMul", "x ww", "a"),
        node("Split", "a", "left right"),
        node("Shape", "x", "s"),
        node("Add", "left right", "b"),
        node("Cast", "s", "sf", to="float32"),
        node("Sum", "sf", "rows"),
        node("Mul", "b rows", "c"),
        node("Add", "c left", "y"),
    ]
    return write(path, nodes, {"w": drawn(8, 8, seed=3)})


def straight(path, length, width):
    """Identities of x [width]: as many tensors of as many numbers."""
    names = ["x", *(f"t{index}" for index in range(1, length)), "y"]
    nodes = [node("Add", f"{names[index]} one", names[index + 1]) for index in range(length)]
    return write(path, nodes, {"one": number(1)}, {"x": ["float32", [width]]})
