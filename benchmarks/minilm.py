"""Writes a sentence encoder of MiniLM's kind and size as ONNX: 6 layers, 384 wide, 90 MB, random weights.

    python benchmarks/minilm.py FILE.onnx [--batch 8] [--tokens 128]

How long it takes to load, run and compare does not depend on what the weights are.
"""

from __future__ import annotations

import argparse
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

LAYERS, WIDTH, HEADS, INNER, WORDS, POSITIONS = 6, 384, 12, 1536, 30522, 512


class Encoder:
    """Collects nodes and weights."""

    def __init__(self, batch: int, tokens: int) -> None:
        self.rng = np.random.default_rng(0)
        self.batch, self.tokens = batch, tokens
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []

    def constant(self, name: str, value: np.ndarray) -> str:
        self.weights.append(numpy_helper.from_array(value, name))
        return name

    def weight(self, name: str, *shape: int) -> str:
        return self.constant(name, (self.rng.standard_normal(shape) * 0.05).astype(np.float32))

    def node(self, op: str, inputs: list[str], output: str, **attributes: object) -> str:
        self.nodes.append(helper.make_node(op, inputs, [output], name=output, **attributes))
        return output

    def linear(self, x: str, name: str, inner: int, outer: int) -> str:
        product = self.node("MatMul", [x, self.weight(f"{name}.w", inner, outer)], f"{name}.matmul")
        return self.node("Add", [product, self.weight(f"{name}.b", outer)], f"{name}.out")

    def norm(self, x: str, name: str) -> str:
        scale = self.constant(f"{name}.scale", np.ones(WIDTH, np.float32))
        return self.node("LayerNormalization", [x, scale, self.weight(f"{name}.bias", WIDTH)], f"{name}.out", axis=-1)

    def heads(self, x: str, name: str, order: list[int]) -> str:
        shape = self.constant(f"{name}.shape", np.array([0, 0, HEADS, WIDTH // HEADS], np.int64))
        split = self.node("Reshape", [self.linear(x, name, WIDTH, WIDTH), shape], f"{name}.split")
        return self.node("Transpose", [split], f"{name}.heads", perm=order)

    def attention(self, x: str, mask: str, name: str) -> str:
        query = self.heads(x, f"{name}.query", [0, 2, 1, 3])
        key = self.heads(x, f"{name}.key", [0, 2, 3, 1])
        value = self.heads(x, f"{name}.value", [0, 2, 1, 3])
        scale = self.constant(f"{name}.root", np.float32(1 / math.sqrt(WIDTH / HEADS)).reshape(()))
        scores = self.node("Mul", [self.node("MatMul", [query, key], f"{name}.qk"), scale], f"{name}.scaled")
        masked = self.node("Add", [scores, mask], f"{name}.masked")
        weighted = self.node("MatMul", [self.node("Softmax", [masked], f"{name}.p", axis=-1), value], f"{name}.pv")
        joined = self.node("Transpose", [weighted], f"{name}.back", perm=[0, 2, 1, 3])
        flat = self.node("Reshape", [joined, self.constant(f"{name}.flat", np.array([0, 0, WIDTH]))], f"{name}.joined")
        return self.linear(flat, f"{name}.dense", WIDTH, WIDTH)

    def gelu(self, x: str, name: str) -> str:
        root = self.constant(f"{name}.root2", np.float32(math.sqrt(2)).reshape(()))
        one, half = (self.constant(f"{name}.{v}", np.float32(v).reshape(())) for v in (1.0, 0.5))
        erf = self.node("Erf", [self.node("Div", [x, root], f"{name}.div")], f"{name}.erf")
        product = self.node("Mul", [x, self.node("Add", [erf, one], f"{name}.add")], f"{name}.mul")
        return self.node("Mul", [product, half], f"{name}.out")

    def layer(self, x: str, mask: str, name: str) -> str:
        mixed = self.node("Add", [x, self.attention(x, mask, f"{name}.attention")], f"{name}.sum1")
        mixed = self.norm(mixed, f"{name}.norm1")
        wide = self.gelu(self.linear(mixed, f"{name}.up", WIDTH, INNER), f"{name}.gelu")
        return self.norm(
            self.node("Add", [mixed, self.linear(wide, f"{name}.down", INNER, WIDTH)], f"{name}.sum2"), f"{name}.norm2"
        )

    def model(self) -> onnx.ModelProto:
        """Return the model: three whole-number inputs [batch, tokens], one output [batch, tokens, 384]."""
        words = self.node("Gather", [self.weight("words", WORDS, WIDTH), "input_ids"], "words.out")
        types = self.node("Gather", [self.weight("types", 2, WIDTH), "token_type_ids"], "types.out")
        places = self.weight("positions", POSITIONS, WIDTH)
        index = self.constant("index", np.arange(self.tokens))
        summed = self.node("Add", [words, types], "embedding.sum")
        summed = self.node("Add", [summed, self.node("Gather", [places, index], "positions.out")], "embedding.all")
        real = self.node("Cast", ["attention_mask"], "mask.float", to=TensorProto.FLOAT)
        axes = self.constant("mask.axes", np.array([1, 2]))
        lifted = self.node("Unsqueeze", [real, axes], "mask.lifted")
        inverse = self.node("Sub", [self.constant("mask.one", np.float32(1).reshape(())), lifted], "mask.inverse")
        mask = self.node("Mul", [inverse, self.constant("mask.low", np.float32(-1e4).reshape(()))], "mask")
        x = self.norm(summed, "embedding.norm")
        for index_of_layer in range(LAYERS):
            x = self.layer(x, mask, f"layer{index_of_layer}")
        self.node("Identity", [x], "last_hidden_state")
        shape = [self.batch, self.tokens]
        names = ("input_ids", "attention_mask", "token_type_ids")
        inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, shape) for name in names]
        output = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, [*shape, WIDTH])
        graph = helper.make_graph(self.nodes, "encoder", inputs, [output], self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def write(path: Path, batch: int = 8, tokens: int = 128) -> Path:
    """Write the model and return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(Encoder(batch, tokens).model(), path)
    return path


def write_apart(path: Path) -> str:
    """Write the model from a process of its own and return its path.

    What a process has used at most counts as used by the programs that it starts, too.
    """
    subprocess.run([sys.executable, __file__, path], check=True, stdout=subprocess.DEVNULL)
    return str(path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--tokens", type=int, default=128)
    options = parser.parse_args()
    print(write(options.file, options.batch, options.tokens), f"{options.file.stat().st_size / 1e6:.1f} MB")
