"""One graph as pairing sees it: tensors that are the same but for rounding are one, operators have plain names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from functools import cached_property

from polycmp.graph import GraphNode, ModelGraph
from polycmp.judging import cast_weights
from polycmp.layerwise import final_outputs, static_tensors
from polycmp.precision import CUTTING
from polycmp.tensors import TensorEntry, TensorMetadata, dtype_class, dtype_name, is_floating
from polycmp_locate.pairing.codes import code_tensors
from polycmp_locate.pairing.source import module_of

#: Operators that other operators replace, by what they compute.
_PLAIN_TYPES = {
    "MatMulInteger": "MatMul", "QLinearMatMul": "MatMul", "FusedMatMul": "MatMul", "MatMulNBits": "MatMul",
    "MatMulIntegerToFloat": "MatMul", "DynamicQuantizeMatMul": "MatMul", "TransposeMatMul": "MatMul",
    "ConvInteger": "Conv", "QLinearConv": "Conv", "FusedConv": "Conv", "NhwcConv": "Conv", "NhwcFusedConv": "Conv",
    "QGemm": "Gemm", "FusedGemm": "Gemm", "QLinearAdd": "Add", "QLinearMul": "Mul", "QLinearSigmoid": "Sigmoid",
    "QLinearSoftmax": "Softmax", "QLinearConcat": "Concat", "QLinearAveragePool": "AveragePool",
    "QLinearGlobalAveragePool": "GlobalAveragePool", "QLinearLeakyRelu": "LeakyRelu", "QLinearReduceMean": "ReduceMean",
    "NhwcMaxPool": "MaxPool", "GatherBlockQuantized": "Gather", "FastGelu": "Gelu", "BiasGelu": "Gelu",
    "QuickGelu": "Gelu", "SkipLayerNormalization": "LayerNormalization",
    "SimplifiedLayerNormalization": "RMSNormalization", "SkipSimplifiedLayerNormalization": "RMSNormalization",
    "QAttention": "Attention", "MultiHeadAttention": "Attention",
}  # fmt: skip
#: Operators that move elements and calculate nothing.
MOVING = frozenset({"Reshape", "Transpose", "Squeeze", "Unsqueeze", "Flatten", "Identity"})
#: Where ONNX Runtime keeps operators on tensors whose channels lie in blocks, and what makes such tensors usual ones.
_BLOCKED, _UNBLOCKING = "com.microsoft.nchwc", "ReorderOutput"
_INTEGER = frozenset({"MatMulInteger", "ConvInteger"})
_ROUNDING = frozenset({"Cast", "Identity", "QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "Dropout",
                       "ReorderInput", "ReorderOutput"})  # fmt: skip
#: Where operators have tensors to calculate with; what is left out are scales, zero points, shapes and places.
_DATA_OPERANDS = {
    "MatMulInteger": (0, 1), "ConvInteger": (0, 1), "QLinearMatMul": (0, 3), "QLinearConv": (0, 3, 8),
    "QGemm": (0, 3, 6), "QuantizeLinear": (0,), "QLinearAdd": (0, 3), "QLinearMul": (0, 3),
    "Reshape": (0,), "Expand": (0,), "Unsqueeze": (0,), "Squeeze": (0,), "Slice": (0,), "Tile": (0,), "Pad": (0,),
    "Split": (0,),
}  # fmt: skip
#: Operators that run other graphs. What two of them read is not the same because their results are: a condition may be
#: inverted together with its branches, or part of a branch be moved out of it.
CONTROL_FLOW = frozenset({"If", "Loop", "Scan"})
COMMUTATIVE = frozenset({"Add", "Mul", "And", "Or", "Max", "Min", "Sum", "Equal", "Xor", "Mean"})


def calculates(node: GraphNode) -> bool:
    """Return whether an operator does more than to move or round elements."""
    return node.op_type not in _ROUNDING | MOVING


def plain_type(node: GraphNode) -> str:
    """Return the type of the computation of an operator, whichever operator replaced it."""
    return _PLAIN_TYPES.get(node.op_type, node.op_type)


class ModelSide:
    """One graph.

    Args:
        graph: The model.
        inputs: Types and shapes of what will be fed.
        ends: Tensors that are outputs of the model also if operators read them.

    Attributes:
        graph: The model.
        types: Types and shapes as far as they are known.
        static: Tensors that depend on weights alone.
        maker: The operator that makes each tensor.
        codes: Tensors of whole numbers that represent real ones, with scale and zero point; None where unknown.
        finals: The model's outputs, without those that are outputs only because all tensors were asked for.
        replaced: Further work that an operator of this graph does, by its first output: the
            type of an operator that the other graph has and this one has not.
    """

    def __init__(self, graph: ModelGraph, inputs: TensorMetadata, ends: Set[str] = frozenset()) -> None:
        self.graph = graph
        self.types = graph.types(inputs)
        self.static = static_tensors(graph)
        self.maker = {name: node for node in graph.nodes for name in node.outputs}
        self.codes = code_tensors(graph, self.types, self.static)
        self.replaced: dict[str, str] = {}
        self._twins: dict[str, str] = {}
        self.finals = frozenset(final_outputs(graph)) | (ends & frozenset(graph.outputs))
        self._roots: dict[str, str] = {}

    @cached_property
    def members(self) -> dict[str, list[str]]:
        """The tensors of each class, by its root."""
        members: dict[str, list[str]] = {}
        for name in (*self.graph.inputs, *self.computed):
            members.setdefault(self.root(name), []).append(name)
        return members

    @cached_property
    def cast_weights(self) -> dict[str, str]:
        """The coarse types of weights that a Cast widens, by the name of the Cast's result."""
        return cast_weights(self.graph)

    def split(self, names: Sequence[str], kind: str) -> None:
        """Split a class of tensors before some whose operators do more than round.

        Args:
            names: The tensors, which are the same to each other.
            kind: The type of the operator that the other graph has for that.
        """
        self.replaced[names[0]] = kind
        self._twins.update(dict.fromkeys(names[1:], names[0]))
        self._roots.clear()
        for cached in ("members", "nodes", "readers", "floats"):
            self.__dict__.pop(cached, None)

    def kind(self, node: GraphNode) -> str:
        """Return the type of the computation of an operator in this graph, whichever operator replaced it."""
        return next((self.replaced[name] for name in node.outputs if name in self.replaced), None) or plain_type(node)

    @cached_property
    def places(self) -> dict[int, int]:
        """The position of each operator, by its identity."""
        return {id(node): index for index, node in enumerate(self.graph.nodes)}

    @cached_property
    def computed(self) -> tuple[str, ...]:
        """Tensors that operators make of the inputs, in their order."""
        nodes = self.graph.nodes
        names = (name for node in nodes for name in node.outputs)
        return tuple(name for name in names if name not in self.static and name not in self.graph.opaque)

    @cached_property
    def floats(self) -> dict[str, GraphNode | None]:
        """Those of them that hold real numbers, with their operators; scales and steps of quantised ones left out."""
        return {name: self.maker[name] for name in self.computed if self._is_shown(name)}

    @cached_property
    def modules(self) -> dict[str, str]:
        """The module that makes each of these tensors, as far as the file says which."""
        modules = {name: module_of(self.maker[name]) for name in self.computed}
        return {name: module for name, module in modules.items() if module}

    @cached_property
    def op_types(self) -> frozenset[str]:
        """The plain types of all operators."""
        return frozenset(plain_type(node) for node in self.graph.nodes)

    def is_real(self, name: str) -> bool:
        """Return whether a tensor holds real numbers, as far as is known, or codes that can be multiplied out."""
        return self.codes.get(name) is not None or self._is_declared_real(name)

    def _is_declared_real(self, name: str) -> bool:
        entry = self.types.get(name)
        return name not in self.codes and (entry is None or entry.dtype is None or is_floating(entry.dtype))

    def type_name(self, name: str) -> str:
        """Return the element type of a tensor, that of its codes if it holds such; empty if that is not known."""
        steps, entry = self.codes.get(name), self.types.get(name)
        kind = steps.dtype if steps is not None else None if entry is None else entry.dtype
        return "" if kind is None else dtype_name(kind)

    def step_of(self, name: str) -> float:
        """Return the largest step of the scale to which a tensor was just rounded; 0 if it was not, or is unknown."""
        node = self.maker.get(name)
        codes = node.operand(0) if node is not None and node.op_type == "DequantizeLinear" else name
        steps = self.codes.get(codes)
        return 0.0 if steps is None or not steps.scale.size else float(steps.scale.max())

    def reach_of(self, codes: str) -> float:
        """Return the largest magnitude that codes can represent; 0 if that is not known."""
        steps = self.codes.get(codes)
        return 0.0 if steps is None or not steps.scale.size else max(map(abs, steps.ends))

    def class_of(self, name: str) -> str:
        """Return the kind of elements that a tensor is compared as; empty if that is not known."""
        if self.codes.get(name) is not None:
            return "float"
        entry = self.types.get(name)
        return "" if entry is None or entry.dtype is None else dtype_class(entry.dtype)

    @cached_property
    def _dequantised(self) -> frozenset[str]:
        """Tensors of codes that an operator of the graph multiplies out, so that no other code needs to."""
        return frozenset(node.operand(0) for node in self.graph.nodes if node.op_type == "DequantizeLinear")

    @cached_property
    def all_readers(self) -> dict[str, list[GraphNode]]:
        """All operators that read each tensor."""
        readers: dict[str, list[GraphNode]] = {}
        for node in self.graph.nodes:
            for name in node.inputs:
                readers.setdefault(name, []).append(node)
        return readers

    def quantisers(self, name: str) -> list[GraphNode]:
        """Return the readers of a tensor if all are QuantizeLinear; none for outputs."""
        readers = self.all_readers.get(name, [])
        only = name not in self.finals and all(node.op_type == "QuantizeLinear" for node in readers)
        return readers if only else []

    @cached_property
    def _blocked(self) -> frozenset[str]:
        """Tensors that have their channels in blocks, so that they have neither shape nor order of any other."""
        blocked: set[str] = set()
        for node in self.graph.nodes:
            if node.op_type != _UNBLOCKING and (node.domain == _BLOCKED or not blocked.isdisjoint(node.inputs)):
                blocked.update(node.outputs)
        return frozenset(blocked)

    def is_blocked(self, name: str) -> bool:
        """Return whether a tensor has its channels in blocks, so that no other is like it."""
        return name in self._blocked

    def _is_shown(self, name: str) -> bool:
        """Return whether a tensor can be compared as real numbers, and no other tensor represents it."""
        return (
            self.is_real(name)
            and name not in self._dequantised
            and not self._is_helper(name)
            and name not in self._blocked
        )

    def entry(self, name: str) -> TensorEntry | None:
        """Return the type and shape of a tensor as far as they are known; for one in a class, those of the class."""
        entry = self.types.get(name)
        if entry is not None and entry.shape is not None:
            return entry
        known = (self.types.get(item) for item in self.members.get(self.root(name), ()))
        return next((item for item in known if item is not None and item.shape is not None), entry)

    def root(self, name: str) -> str:
        """Return the tensor that one is the same as, but for rounding; itself if there is none."""
        root = self._roots.get(name)
        if root is None:
            before = self._before(name)
            root = self._roots[name] = name if before is None else self.root(before)
        return root

    def node(self, root: str) -> GraphNode | None:
        """Return the operator that calculates a tensor; None for the model's inputs."""
        return self.maker.get(root)

    def reads(self, node: GraphNode) -> tuple[str, ...]:
        """Return the roots of what an operator calculates with, weights and scales left out."""
        places = _DATA_OPERANDS.get(node.op_type)
        names = node.inputs if places is None else [node.operand(at) for at in places]
        return tuple(self.root(name) for name in names if name and name not in self.static)

    def weights_of(self, node: GraphNode) -> tuple[str, ...]:
        """Return the static tensors that an operator reads."""
        return tuple(name for name in node.inputs if name in self.static)

    @cached_property
    def nodes(self) -> tuple[GraphNode, ...]:
        """The operators that calculate something of the inputs, those that only round left out."""
        return tuple(node for node in self.graph.nodes if any(self.is_root(name) for name in node.outputs))

    def is_root(self, name: str) -> bool:
        """Return whether a tensor is made by calculating."""
        return name not in self.static and self.root(name) == name and not self._is_helper(name)

    @cached_property
    def readers(self) -> dict[str, list[tuple[GraphNode, int]]]:
        """Operators that calculate with a root, and at which place."""
        readers: dict[str, list[tuple[GraphNode, int]]] = {}
        for node in self.nodes:
            for place, name in enumerate(self.reads(node)):
                readers.setdefault(name, []).append((node, place))
        return readers

    def shown(self, root: str) -> Iterator[str]:
        """Yield the tensors of a class that can be compared: real ones, or all if none is."""
        names = [name for name in self.members.get(root, [root]) if name not in self._blocked]
        real = [name for name in names if self._is_shown(name)]
        whole = [name for name in real if not self._is_cut_next(name)]
        yield from whole or real or names

    def _is_cut_next(self, name: str) -> bool:
        """Return whether a tensor was rounded only to be cut: its codes may end where the activation cuts anyway."""
        node, readers = self.maker.get(name), self.all_readers.get(name, [])
        rounded = node is not None and node.op_type == "DequantizeLinear" and name not in self.finals
        return rounded and bool(readers) and all(reader.op_type in CUTTING for reader in readers)

    def _before(self, name: str) -> str | None:
        """Return the input of the operator that made a tensor, if that only rounds; None for any other."""
        node = self.maker.get(name)
        if node is None or name in self.static or not node.inputs or name in self.replaced:
            return None
        if name in self._twins:
            return self._twins[name]
        first = node.inputs[0]
        if first in self.static:
            return self._product(node)
        if node.op_type == "Cast":
            producer = self.maker.get(first)
            steps = producer is not None and producer.op_type in _INTEGER
            return first if steps or (self._is_declared_real(first) and self._is_declared_real(name)) else None
        if node.op_type in _ROUNDING:
            return first if name == node.outputs[0] else None
        return self._product(node)

    def _product(self, node: GraphNode) -> str | None:
        """Return the product of integers that a Mul only scales."""
        if node.op_type != "Mul" or len(node.inputs) != 2:
            return None
        for name, other in (node.inputs, node.inputs[::-1]):
            if name in self._unscaled and other in self._scales:
                return name
        return None

    @cached_property
    def _unscaled(self) -> frozenset[str]:
        """Products of integers, which may have been rounded since, but not been scaled."""
        products: set[str] = set()
        for node in self.graph.nodes:
            if node.op_type in _INTEGER:
                products.update(node.outputs)
            elif node.op_type in _ROUNDING and node.operand(0) in products:
                products.add(node.outputs[0])
        return frozenset(products - self.static)

    @cached_property
    def _scales(self) -> frozenset[str]:
        """Weights, scales found while running, and products of such."""
        scales = set(self.static)
        for node in self.graph.nodes:
            if node.op_type == "DynamicQuantizeLinear":
                scales.update(node.outputs[1:])
            elif (node.op_type in _ROUNDING and node.operand(0) in scales) or (
                node.op_type == "Mul" and scales.issuperset(node.inputs)
            ):
                scales.update(node.outputs)
        return frozenset(scales)

    def _is_helper(self, name: str) -> bool:
        """Return whether a tensor is a scale, or holds steps of one."""
        node = self.maker.get(name)
        if node is None or name in self.static:
            return False
        if node.op_type == "DynamicQuantizeLinear":
            return name != node.outputs[0]
        if node.op_type in _ROUNDING:
            return name in self._unscaled or name in self._scales
        return node.op_type == "Mul" and name in self._scales
