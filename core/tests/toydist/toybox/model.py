"""The model format: inputs with named dimensions, weights as numbers or as seeds, and operators of NumPy."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from polycmp.errors import ModelError
from polycmp.tensors import TensorMetadata, as_dtype, is_floating


@dataclass(frozen=True)
class Node:
    """One operator."""

    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    name: str = ""
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Toy:
    """A model.

    Attributes:
        inputs: Name to element type and dimensions.
        outputs: Names.
        nodes: The operators in order.
        weights: Name to `dtype`, `shape`, and `values`, or `seed` and `scale` of random numbers.
    """

    inputs: Mapping[str, tuple[str, tuple[int | str, ...]]]
    outputs: tuple[str, ...]
    nodes: tuple[Node, ...]
    weights: Mapping[str, Mapping[str, Any]]

    @property
    def metadata(self) -> TensorMetadata:
        """The inputs."""
        metadata = TensorMetadata()
        for name, (dtype, shape) in self.inputs.items():
            metadata.add(name, dtype, shape)
        return metadata

    def dumps(self) -> bytes:
        """Return the model as a file's content."""
        return json.dumps(asdict(self)).encode()


def parse(content: bytes, path: str) -> Toy:
    """Return the model in a file's content.

    Raises:
        ModelError: It is none.
    """
    try:
        text = json.loads(content)
        nodes = tuple(
            Node(**{**item, "inputs": tuple(item["inputs"]), "outputs": tuple(item["outputs"])})
            for item in text["nodes"]
        )
        inputs = {name: (dtype, tuple(shape)) for name, (dtype, shape) in text["inputs"].items()}
        return Toy(inputs, tuple(text["outputs"]), nodes, text.get("weights", {}))
    except (ValueError, KeyError, TypeError) as error:
        raise ModelError(f"{path} is no toy", why=repr(error), hint=f"head {path}") from error


def weight(spec: Mapping[str, Any]) -> Any:
    """Return the array of a weight."""
    dtype, shape = as_dtype(spec["dtype"]), tuple(spec["shape"])
    if "seed" in spec:
        drawn = np.random.default_rng(spec["seed"]).standard_normal(shape) * spec.get("scale", 1.0)
        return drawn.astype(dtype)
    return np.broadcast_to(np.asarray(spec["values"], dtype), shape).copy()


def weight_bytes(spec: Mapping[str, Any]) -> int:
    """Return how much memory a weight takes."""
    return int(np.prod(spec["shape"], dtype=np.int64)) * as_dtype(spec["dtype"]).itemsize


def _softmax(x: Any) -> Any:
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def _matmul(x: Any, y: Any) -> Any:
    """Return a product that does not depend on the number of rows, as that of a BLAS does."""
    return np.einsum("...i,ij->...j", x, y) if x.ndim else x @ y


OPERATORS: Mapping[str, Callable[..., Any]] = {
    "MatMul": _matmul,
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Div": np.divide,
    "Relu": lambda x: np.maximum(x, 0),
    "Exp": np.exp,
    "Sqrt": np.sqrt,
    "Round": np.round,
    "Softmax": _softmax,
    "Sum": lambda x, axis=0: x.sum(axis=axis, keepdims=True),
    "Cast": lambda x, to: x.astype(as_dtype(to)),
    "Identity": lambda x: x.copy(),
    "Shape": lambda x: np.array(x.shape, np.int64),
    "Split": lambda x, axis=-1: tuple(part.copy() for part in np.split(x, 2, axis=axis)),
}


def rounded(value: Any, dtype: str) -> Any:
    """Return a tensor as a type holds it: float64 stays, a coarser type only rounds."""
    if not dtype or not is_floating(value.dtype):
        return value
    with np.errstate(all="ignore"):
        return value.astype(dtype) if dtype == "float64" else value.astype(as_dtype(dtype)).astype(value.dtype)


def run_node(node: Node, values: Mapping[str, Any], dtype: str) -> tuple[Any, ...]:
    """Return what an operator makes."""
    with np.errstate(all="ignore"):
        made = OPERATORS[node.op](*(values[name] for name in node.inputs), **node.attributes)
    return tuple(rounded(np.asarray(item), dtype) for item in (made if isinstance(made, tuple) else (made,)))
