"""Pair of a float model and the same model in a smaller type: equal tensors, and their types."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from polycmp.errors import ModelError, describe_exception
from polycmp_onnx import value_types
from polycmp_onnx.graph import computed_tensors, graph_inputs, opset_of, reads

if TYPE_CHECKING:
    from onnx import ModelProto

#: The types of real numbers.
REAL = frozenset({1, 10, 11, 16})  # FLOAT, FLOAT16, DOUBLE, BFLOAT16 of onnx.TensorProto


class ModelPair:
    """A float model, and the same model in a smaller type.

    Args:
        exact: The float model; it is not changed.
        reduced: The same model in a smaller type; it is not changed.
        pairs: Names of tensors in the float model, each with that of the same tensor in the reduced one; by default
            those that have the same name in both.
        types: Element types of tensors of the reduced model, as numbers of `onnx.TensorProto`, that ONNX cannot infer.

    Raises:
        ModelError: The models have no tensor in common, or the float model cannot be brought to the other's opset.
    """

    def __init__(
        self,
        exact: ModelProto,
        reduced: ModelProto,
        pairs: Mapping[str, str] | None = None,
        types: Mapping[str, int] | None = None,
    ) -> None:
        self.reduced = reduced
        self.exact = same_opset(exact, reduced)
        self.pairs = dict(by_name(self.exact, reduced) if pairs is None else pairs)
        self._types = dict(types or {})
        inside = set(computed_tensors(self.exact.graph, constants=False))
        outer = {value.name for value in self.exact.graph.output}
        if not set(self.pairs) & (inside - outer or inside):
            raise ModelError(
                "the models have no tensor in common",
                why="no tensor inside the float model has a counterpart in the other",
                hint="give both models, one made of the other",
            )

    def type_of(self, name: str) -> int:
        """Return the element type that the reduced model gives the counterpart of a tensor, 0 if it is unknown.

        Args:
            name: The tensor in the float model.
        """
        other = self.pairs[name]
        return self._types.get(other) or _element(self._reduced_types.get(other)) or self.exact_type(name)

    def knows_type(self, name: str) -> bool:
        """Return whether the element type of a tensor's counterpart follows from the reduced model's file."""
        other = self.pairs[name]
        return bool(self._types.get(other) or _element(self._reduced_types.get(other)))

    def raw(self, other: str) -> str:
        """Return the reduced model's tensor before it was quantised, for one that was dequantised right after."""
        dequantiser = self._reduced_node(other)
        if dequantiser is None or dequantiser.op_type != "DequantizeLinear":
            return other
        quantiser = self._reduced_node(dequantiser.input[0])
        return str(quantiser.input[0]) if quantiser is not None and quantiser.op_type == "QuantizeLinear" else other

    @cached_property
    def exact_inputs(self) -> tuple[str, ...]:
        """Names of the float model's inputs."""
        return tuple(value.name for value in graph_inputs(self.exact.graph))

    def exact_weight(self, name: str) -> np.ndarray[Any, Any] | None:
        """Return a weight or constant of the float model; None if that is something it computes."""
        return _value(self._exact_weights, name)

    def exact_type(self, name: str) -> int:
        """Return a tensor's element type in the float model, 0 if it is not known."""
        return _element(self._exact_types.get(name))

    def dtype_of(self, name: str) -> np.dtype[Any]:
        """Return `type_of` as a NumPy type; float32 where it is unknown."""
        return _dtype(self.type_of(name))

    def exact_dtype(self, name: str) -> np.dtype[Any]:
        """Return `exact_type` as a NumPy type; float32 where it is unknown."""
        return _dtype(self.exact_type(name))

    def is_real(self, name: str) -> bool:
        """Return whether a tensor of the float model holds real numbers."""
        return self.exact_type(name) in {*REAL, 0}

    def note_types(self, types: Mapping[str, np.dtype[Any]]) -> None:
        """Record the types that tensors of the reduced model had in a run."""
        import onnx

        for name, dtype in types.items():
            self._types[name] = int(onnx.helper.np_dtype_to_tensor_dtype(dtype))

    def reduced_weight(self, name: str) -> np.ndarray[Any, Any] | None:
        """Return a weight or constant of the reduced model; None if that is something it computes."""
        return _value(self._reduced_weights, name)

    @cached_property
    def dynamic(self) -> set[str]:
        """Names of the float model's tensors that depend on its inputs."""
        dynamic = {value.name for value in graph_inputs(self.exact.graph)}
        for node in self.exact.graph.node:
            read = list(reads(node))
            if any(name in dynamic for name in read) or (not read and node.op_type != "Constant"):
                dynamic.update(name for name in node.output if name)
        return dynamic

    @cached_property
    def _exact_types(self) -> dict[str, Any]:
        return value_types(self.exact)

    @cached_property
    def _reduced_types(self) -> dict[str, Any]:
        return value_types(self.reduced)

    @cached_property
    def _reduced_maker(self) -> dict[str, int]:
        return {name: index for index, node in enumerate(self.reduced.graph.node) for name in node.output if name}

    @cached_property
    def _reduced_weights(self) -> dict[str, Any]:
        return _weights(self.reduced.graph)

    @cached_property
    def _exact_weights(self) -> dict[str, Any]:
        return _weights(self.exact.graph)

    def _reduced_node(self, name: str) -> Any:
        index = self._reduced_maker.get(name)
        return None if index is None else self.reduced.graph.node[index]


def by_name(exact: ModelProto, reduced: ModelProto) -> dict[str, str]:
    """Return the tensors that have the same name in both models and are computed or fed in both."""
    exact_names, reduced_names = _tensors(exact.graph), _tensors(reduced.graph)
    return {name: name for name in exact_names if name in reduced_names}


def _tensors(graph: Any) -> set[str]:
    return {value.name for value in graph_inputs(graph)} | set(computed_tensors(graph, constants=False))


def _weights(graph: Any) -> dict[str, Any]:
    """Return the tensors that a graph holds, by name."""
    weights = {item.name: item for item in graph.initializer}
    for node in graph.node:
        if node.op_type == "Constant" and node.attribute[0].name == "value":
            weights[node.output[0]] = node.attribute[0].t
    return weights


def _value(weights: Mapping[str, Any], name: str) -> np.ndarray[Any, Any] | None:
    import onnx

    return None if name not in weights else np.asarray(onnx.numpy_helper.to_array(weights[name]))


def _element(value: Any) -> int:
    return int(value.type.tensor_type.elem_type) if value is not None else 0


def _dtype(kind: int) -> np.dtype[Any]:
    import onnx

    dtype: np.dtype[Any] = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(kind or 1))
    return dtype


def same_opset(exact: ModelProto, reduced: ModelProto) -> Any:
    """Return the float model in the reduced one's opset.

    Args:
        exact: The float model.
        reduced: The other model.

    Raises:
        ModelError: It cannot be brought there.
    """
    import onnx

    exact_opset, reduced_opset = opset_of(exact), opset_of(reduced)
    if exact_opset == reduced_opset:
        return exact
    try:
        return onnx.version_converter.convert_version(exact, reduced_opset)
    except Exception as error:
        raise ModelError(
            f"the float model has opset {exact_opset}, the reduced one {reduced_opset}",
            why=describe_exception(error),
            hint=f"export the float model with opset {reduced_opset}",
        ) from error
