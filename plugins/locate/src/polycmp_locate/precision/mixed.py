"""Models in mixed precision: layers of a float model in place of those of the same model in a smaller type.

It works on the graphs alone, so it does not matter how the smaller model was made: float16, bfloat16, integers chosen
while it runs, Quantize/DequantizeLinear, or weights of 4 bits.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from polycmp_locate.precision.model_pair import REAL, ModelPair
from polycmp_locate.precision.splice import Splice, add_domains, static_nodes
from polycmp_onnx import clean_up, sort_nodes
from polycmp_onnx.graph import keep_items, reads
from polycmp_onnx.load import OnnxLoader

if TYPE_CHECKING:
    from onnx import ModelProto

__all__ = ["Forced", "Layer", "Mixer"]

#: Suffix of the names of tensors that layers compute alone.
_ALONE_SUFFIX = "_alone"


@dataclass(frozen=True)
class Layer:
    """The smallest part of the float model between tensors that the reduced model has, too.

    Attributes:
        nodes: Positions of its nodes in the float model.
        inputs: Names, in the float model, of the tensors that it reads and that depend on the model's inputs.
        outputs: Names, in the float model, of the tensors that it makes for others.
        name: The name of its most expensive node, or what that makes.
        op_type: That node's type.
        reduced: Whether the reduced model computes it with other operators or types.
    """

    nodes: tuple[int, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    name: str
    op_type: str
    reduced: bool

    @property
    def label(self) -> str:
        """The layer for people."""
        more = f" and {len(self.nodes) - 1} more" if len(self.nodes) > 1 else ""
        return f"{self.op_type} {self.name!r}{more}"


@dataclass(frozen=True)
class Forced:
    """A model in which each layer reads tensors that are fed.

    Attributes:
        model: The model.
        inputs: Names of its inputs, each with the tensor's name in the float model.
        outputs: Tensors by their name in the float model, each with the output that is what its layer makes of it.
    """

    model: ModelProto
    inputs: Mapping[str, str]
    outputs: Mapping[str, str]


class LoadedModel(OnnxLoader):
    """Loads a model that is in memory."""

    def __init__(self, model: ModelProto) -> None:
        self.model = model

    def call_impl(self) -> ModelProto:
        """Return the model."""
        return self.model


class Mixer(ModelPair):
    """Puts layers of a float model in place of a reduced model's; arguments and errors as of `ModelPair`."""

    @cached_property
    def layers(self) -> tuple[Layer, ...]:
        """The layers, in the float model's order."""
        nodes = self.exact.graph.node
        layers = [self._layer(group) for group in _joined(nodes, self.dynamic, self.pairs)]
        return tuple(layer for layer in layers if layer is not None)

    def mix(self, kept: Iterable[Layer]) -> ModelProto:
        """Return the reduced model with some layers as the float model has them.

        Args:
            kept: The layers that stay in float.
        """
        model = deepcopy(self.reduced)
        float_nodes = sorted({index for layer in kept for index in layer.nodes})
        if float_nodes:
            splice = Splice(self, model, float_nodes)
            splice.run()
            add_domains(model, self.exact)
            clean_up(model)
            splice.give_names_back()
            sort_nodes(model)
        return model

    def forced(self, layers: Iterable[Layer]) -> Forced:
        """Return a model in which each layer of the reduced model reads tensors that are fed, not those made before.

        So one run gives the error of each layer alone, independent of those before it.

        Args:
            layers: The layers to look at.
        """
        import onnx

        model = deepcopy(self.reduced)
        graph, back = model.graph, {other: name for name, other in self.pairs.items()}
        outputs = {name: f"{self.pairs[name]}{_ALONE_SUFFIX}" for layer in layers for name in layer.outputs}
        for node in graph.node:
            node.output[:] = [f"{name}{_ALONE_SUFFIX}" if name in back else name for name in node.output]
        del graph.output[:]
        for name, alone in outputs.items():
            graph.output.append(onnx.helper.make_tensor_value_info(alone, self.type_of(name), None))
        clean_up(model)
        read = {name for node in graph.node for name in reads(node)}
        keep_items(graph.input, lambda value: value.name in read)
        fed = {value.name for value in graph.input}
        for other in sorted((read & set(back)) - fed):
            graph.input.append(onnx.helper.make_tensor_value_info(other, self.type_of(back[other]), None))
        del graph.value_info[:]
        return Forced(model, {value.name: back[value.name] for value in graph.input}, outputs)

    def reduced_nodes(self, layer: Layer) -> list[Any]:
        """Return the reduced model's nodes that replace a layer."""
        border = {self.pairs[name] for name in layer.inputs}
        nodes: dict[int, Any] = {}
        waiting = [self.pairs[name] for name in layer.outputs]
        while waiting:
            index = self._reduced_maker.get(waiting.pop())
            if index is None or index in nodes:
                continue
            nodes[index] = self.reduced.graph.node[index]
            waiting.extend(name for name in reads(nodes[index]) if name not in border)
        return [nodes[index] for index in sorted(nodes)]

    def exact_nodes(self, layer: Layer) -> list[Any]:
        """Return the float model's nodes of a layer, those that compute with weights alone included."""
        nodes = [self.exact.graph.node[index] for index in layer.nodes]
        fixed = static_nodes(self.exact.graph, nodes, self.dynamic)
        return [node for node in [*fixed, *nodes] if node.op_type != "Constant"]

    def float_weight(self, layer: Layer, shape: Sequence[int]) -> np.ndarray[Any, Any] | None:
        """Return the weight of a layer in the float model that has a shape; None if it has no such weight."""
        import onnx

        read = {name for index in layer.nodes for name in self.exact.graph.node[index].input}
        for item in self.exact.graph.initializer:
            if item.name in read and tuple(item.dims) == tuple(shape):
                return np.asarray(onnx.numpy_helper.to_array(item))
        return None

    def _layer(self, group: Sequence[int]) -> Layer | None:
        """Return the layer of some nodes; None if one of its inputs or outputs has no counterpart."""
        nodes = [self.exact.graph.node[index] for index in group]
        computed = {name for node in nodes for name in node.output}
        read = dict.fromkeys(name for node in nodes for name in reads(node))
        inputs = tuple(name for name in read if name not in computed and name in self.dynamic)
        outputs = tuple(name for node in nodes for name in node.output if name in self.pairs)
        if not outputs or not all(name in self.pairs for name in inputs):
            return None
        main = max(nodes, key=lambda node: (node.op_type in _EXPENSIVE, len(node.input)))
        layer = Layer(tuple(group), inputs, outputs, main.name or main.output[0], main.op_type, False)
        reduced = self._is_reduced(layer, nodes)
        return Layer(layer.nodes, inputs, outputs, layer.name, layer.op_type, reduced)

    def _is_reduced(self, layer: Layer, nodes: Sequence[Any]) -> bool:
        border = [*layer.inputs, *layer.outputs]
        if any(self.type_of(name) != self.exact_type(name) for name in border):
            return any(self.exact_type(name) in REAL for name in layer.outputs)
        op_types = sorted(node.op_type for node in nodes)
        weights = self._static_makers(nodes)
        others = [node for node in self.reduced_nodes(layer) if node.op_type != "Constant"]
        return sorted(node.op_type for node in others) != sorted([*op_types, *weights])

    def _static_makers(self, nodes: Sequence[Any]) -> list[str]:
        """Return the types of the nodes that compute with weights alone what some nodes read."""
        return [node.op_type for node in static_nodes(self.exact.graph, nodes, self.dynamic)]


#: Operators that multiply matrices, and so take most of the time.
_EXPENSIVE = frozenset({"MatMul", "Gemm", "Conv", "ConvTranspose", "LSTM", "GRU", "RNN", "Einsum", "Attention"})


def _joined(nodes: Sequence[Any], dynamic: Collection[str], pairs: Collection[str]) -> list[list[int]]:
    """Return the positions of the nodes that depend on inputs, those together that share a tensor without a pair."""
    leader = list(range(len(nodes)))

    def find(index: int) -> int:
        while leader[index] != index:
            leader[index] = leader[leader[index]]
            index = leader[index]
        return index

    maker = {name: index for index, node in enumerate(nodes) for name in node.output if name in dynamic}
    for index, node in enumerate(nodes):
        for name in reads(node):
            if name in maker and name not in pairs:
                leader[find(index)] = find(maker[name])
    groups: dict[int, list[int]] = {}
    for index in sorted(set(maker.values())):
        groups.setdefault(find(index), []).append(index)
    return sorted(groups.values())
