"""Turning the float32 inside of a model into a smaller type.

Each operand is judged by what ONNX's own schema of its operator takes: where that lacks the smaller type, the operand
stays in float32, with casts where a tensor passes from one type to the other. A tensor is cast in the graph that
makes it, before the first node that reads it otherwise, so nodes stay in order and branches see it from within.

`convert_float_to_float16` of ONNX Runtime leaves nodes out of order and types that do not fit after branches and
shapes: of 376 random models of `truth.writing` 167 were invalid or did not run, once sorted; of this module's none.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

from polycmp.errors import describe_exception
from polycmp_onnx.graph import (
    STANDARD,
    GraphView,
    graphs_within,
    is_standard,
    is_too_large,
    keep_items,
    nodes_within,
    rename,
    schema_of,
    subgraphs,
)
from polycmp_onnx.operators import MICROSOFT
from polycmp_onnx.shapes import structure
from polycmp_onnx.tidy import sort_nodes

_LOG = logging.getLogger("polycmp")
#: Operators that stay in float32 although ONNX lets them be smaller: runtimes lack kernels, or the loss is ruinous.
_STAY = (
    "CumSum", "DequantizeLinear", "DynamicQuantizeLinear", "Max", "Min", "QuantizeLinear", "RandomUniformLike",
    "Resize", "RoiAlign", "TopK", "Upsample",
)  # fmt: skip
#: Operators of ONNX Runtime, which have no schema here, of which all real operands may be float16.
_NARROW_CONTRIB = frozenset({
    "Attention", "BiasGelu", "BiasSplitGelu", "FastGelu", "FusedMatMul", "Gelu", "GroupNorm", "GroupQueryAttention",
    "MultiHeadAttention", "QuickGelu", "RotaryEmbedding", "SkipGroupNorm", "SkipLayerNormalization",
    "SkipSimplifiedLayerNormalization",
})  # fmt: skip
#: Operators that compute sizes: where only these lie between whole numbers and what takes no smaller type, float32
#: stays, for float16 holds whole numbers up to 2048 only.
_COUNTING = (
    "Abs", "Add", "Cast", "Ceil", "Concat", "Div", "Floor", "Gather", "Identity", "Mod", "Mul", "Neg", "Pow", "Range",
    "Reciprocal", "Reshape", "Round", "Slice", "Sqrt", "Squeeze", "Sub", "Transpose", "Unsqueeze", "Where",
)  # fmt: skip
#: Attributes that name the type of a result, and the operators of which float32 is meant where they are absent.
_TYPE_ATTRIBUTES = frozenset({"to", "dtype", "output_dtype", "output_datatype"})
_FLOAT_BY_DEFAULT = {
    "RandomNormal": "dtype", "RandomUniform": "dtype", "BlackmanWindow": "output_datatype",
    "HammingWindow": "output_datatype", "HannWindow": "output_datatype", "MelWeightMatrix": "output_datatype",
}  # fmt: skip
_FLOAT: int = TensorProto.FLOAT
_WHOLE = frozenset({TensorProto.INT8, TensorProto.INT16, TensorProto.INT32, TensorProto.INT64, TensorProto.UINT8,
                    TensorProto.UINT16, TensorProto.UINT32, TensorProto.UINT64})  # fmt: skip

#: Makes a weight of the smaller type of one of float32.
Shrink = Callable[[Any], Any]


def lower_precision(
    model: Any, kind: int, shrink: Callable[[np.ndarray[Any, Any]], Any], stays: Callable[[Any], bool]
) -> Any:
    """Return a model whose float32 inside is of a smaller type; its inputs and outputs keep their types.

    Functions become part of the graphs that call them, since what they hold has a type only there.

    Args:
        model: An `onnx.ModelProto` none of whose weights is an input; it is changed, and may be the one returned.
        kind: The smaller type, FLOAT16 or BFLOAT16 of `onnx.TensorProto`.
        shrink: Turns an array of float32 into one of the smaller type.
        stays: Says which nodes are to keep calculating in float32.
    """
    model = _without_functions(model)
    sort_nodes(model)
    _Narrowing(model, kind, shrink, stays).run()
    return model


def _without_functions(model: Any) -> Any:
    if not model.functions or is_too_large(model):
        return model
    from onnx.inliner import inline_local_functions

    inlined = inline_local_functions(model)
    domains = {node.domain for node in nodes_within(inlined.graph)} | STANDARD
    keep_items(inlined.opset_import, lambda item: item.domain in domains)
    return inlined


class _Scope:
    """A graph on its way.

    Attributes:
        graph: The graph.
        outer: The one around it.
        nodes: The nodes so far.
        types: Element types of its tensors as they were, 0 for what is no tensor or not known.
        homes: Element types of those as they are now, where they were float32.
        constants: Weights in float32 that can be of both types, each with the initializer or Constant that holds it.
        casts: Names of the same tensors in the other type.
        inside: Names under which the model's outputs go on inside, where they are of the smaller type there.
        used: Constants that are read in float32, and those in the smaller type.
    """

    def __init__(self, graph: Any, outer: _Scope | None, types: dict[str, int]) -> None:
        self.graph, self.outer, self.types = graph, outer, types
        self.nodes: list[Any] = []
        self.homes: dict[str, int] = {}
        self.constants: dict[str, Any] = {}
        self.casts: dict[str, str] = {}
        self.inside: dict[str, str] = {}
        self.used: tuple[set[str], set[str]] = (set(), set())

    def find(self, name: str) -> _Scope | None:
        """Return the scope that knows a name, from here outwards."""
        scope: _Scope | None = self
        while scope is not None and name not in scope.types:
            scope = scope.outer
        return scope

    def type_of(self, name: str) -> int:
        """Return the element type that a tensor had."""
        scope = self.find(name)
        return 0 if scope is None else scope.types[name]


class _Narrowing:
    """One conversion of one model."""

    def __init__(self, model: Any, kind: int, shrink: Shrink, stays: Callable[[Any], bool]) -> None:
        self._model, self._kind, self._shrink, self._stays = model, kind, shrink, stays
        self._opsets = {item.domain or "ai.onnx": item.version for item in model.opset_import}
        self._functions = {(item.domain, item.name) for item in model.functions}
        self._type_name = f"tensor({helper.tensor_dtype_to_string(kind).rpartition('.')[2].lower()})"
        self._word = _word(kind)
        self._used_names = set(_all_names(model.graph))
        self._later: dict[str, int] = {}

    def run(self) -> None:
        inferred = _inferred(self._model).graph
        graph = self._model.graph
        scope = _Scope(graph, None, _types(graph, inferred))
        fed = {value.name for value in graph.input}
        for value in graph.input:
            scope.homes[value.name] = _FLOAT
        self._take_weights(scope, fed | {value.name for value in graph.output})
        scope.inside = {value.name: "" for value in graph.output}
        self._nodes(scope, inferred, forced=False)
        for value in graph.output:
            if scope.inside.get(value.name):
                self._read(scope, value.name, _FLOAT)
        self._finish(scope)
        self._tell_of_later()

    def _tell_of_later(self) -> None:
        """Warn of operators that stay in float32 for the opset alone, and name the opset that would change that."""
        opset = self._opsets.get("ai.onnx", 1)
        for first in sorted(set(self._later.values())):
            names = [name for name, version in self._later.items() if version == first]
            _LOG.warning(
                "%s in float32: ONNX lets %s be %s from opset %d on, and the model has opset %d; "
                "next: export it with opset %d, as by torch.onnx.export(…, opset_version=%d)",
                f"{', '.join(sorted(names))} {'stay' if len(names) > 1 else 'stays'}",
                "them" if len(names) > 1 else "it",
                self._word,
                first,
                opset,
                first,
                first,
            )

    def _take_weights(self, scope: _Scope, fixed: set[str]) -> None:
        """Note the weights of a graph; those that a caller may feed, or gets to see, stay as they are."""
        for item in scope.graph.initializer:
            if item.data_type == _FLOAT and item.name not in fixed:
                scope.constants[item.name] = item
            elif item.data_type == _FLOAT:
                scope.homes[item.name] = _FLOAT
        for item in scope.graph.sparse_initializer:
            scope.types[item.values.name] = item.values.data_type
            scope.homes[item.values.name] = _FLOAT

    def _nodes(self, scope: _Scope, inferred: Any, *, forced: bool) -> None:
        graph = scope.graph
        counting = set() if forced else self._counting(scope)
        known = {tuple(node.output): node for node in inferred.node}
        for index, node in enumerate(list(graph.node)):
            exact = forced or index in counting or self._keeps(scope, node)
            self._node(scope, deepcopy(node), known.get(tuple(node.output), node), exact=exact)

    def _node(self, scope: _Scope, node: Any, inferred: Any, *, exact: bool) -> None:
        """Take one node over, with the types that its operands are to have."""
        places = [self._operand_type(node, place, inputs=True, exact=exact) for place in range(len(node.input))]
        source = scope.type_of(node.input[0]) if node.input else 0
        for graph, known in zip(subgraphs(node), subgraphs(inferred), strict=True):
            self._subgraph(scope, graph, known, node, exact=exact)
        for place, name in enumerate(node.input):
            if name and scope.type_of(name) == _FLOAT:
                if places[place] == _FLOAT and not exact:
                    self._look_later(node, place)
                node.input[place] = self._read(scope, name, places[place])
        results = [self._operand_type(node, place, inputs=False, exact=exact) for place in range(len(node.output))]
        scope.nodes.append(node)
        if is_standard(node, "Constant"):
            self._take_constant(scope, node)
            return
        narrowed = False
        for place, name in enumerate(list(node.output)):
            if not name:
                continue
            if scope.types.get(name, 0) == 0:
                scope.types[name] = self._guess(node, place, source)
            if scope.types[name] != _FLOAT:
                continue
            scope.homes[name] = results[place]
            narrowed = narrowed or results[place] == self._kind
            if results[place] == self._kind and name in scope.inside:
                scope.inside[name] = node.output[place] = self._name(f"{name}_inside")
        if narrowed:
            self._set_types(node)

    def _subgraph(self, outer: _Scope, graph: Any, inferred: Any, node: Any, *, exact: bool) -> None:
        scope = _Scope(graph, outer, _types(graph, inferred))
        kind = _FLOAT if exact else self._kind
        for place, value in enumerate(graph.input):
            if not scope.types[value.name] and is_standard(node, "Loop", "Scan") and place < len(node.input):
                scope.types[value.name] = outer.type_of(node.input[place])  # subgraphs need not declare types
            if scope.types.get(value.name) == _FLOAT:
                scope.homes[value.name] = kind
                if value.type.WhichOneof("value") == "tensor_type":
                    value.type.tensor_type.elem_type = kind
        self._take_weights(scope, {value.name for value in graph.input})
        self._nodes(scope, inferred, forced=exact)
        for value in graph.output:
            if scope.type_of(value.name) == _FLOAT:
                value.name = self._read(scope, value.name, kind)
                if value.type.WhichOneof("value") == "tensor_type":
                    value.type.tensor_type.elem_type = kind
        self._finish(scope)

    def _read(self, scope: _Scope, name: str, kind: int) -> str:
        """Return under which name a tensor is to be read in a type, casting it where it is defined."""
        home = scope.find(name)
        if home is None:
            return name
        if name in home.constants:
            home.used[kind == self._kind].add(name)
            if kind != self._kind:
                return name
            if name not in home.casts:
                home.casts[name] = self._name(f"{name}_{self._word}")
                held = home.constants[name]
                if isinstance(held, onnx.NodeProto):
                    home.nodes.append(_constant(held, home.casts[name], self._shrunk(_value(held))))
            return home.casts[name]
        present = home.homes.get(name, _FLOAT)
        inside = home.inside.get(name) or name
        if present == kind:
            return inside
        if name not in home.casts:
            outside = inside != name  # then what is cast is what the model gives out
            home.casts[name] = name if outside else self._name(f"{name}_cast_to_{_word(kind)}")
            home.nodes.append(
                helper.make_node("Cast", [inside], [home.casts[name]], self._name(f"{name}_Cast"), to=kind)
            )
        return home.casts[name]

    def _finish(self, scope: _Scope) -> None:
        """Put the nodes into the graph, and the weights in the types that they are read in."""
        exact, narrowed = scope.used
        replaced = {scope.casts[name]: name for name in narrowed - exact}
        dropped = set()
        for name in narrowed:
            held = scope.constants[name]
            if isinstance(held, onnx.NodeProto):
                dropped |= {id(held)} if name not in exact else set()
                continue
            shrunk = self._shrunk(held)
            shrunk.name = name if name not in exact else scope.casts[name]
            if name in exact:
                scope.graph.initializer.append(shrunk)
            else:
                held.CopyFrom(shrunk)
        del scope.graph.node[:]
        scope.graph.node.extend(node for node in scope.nodes if id(node) not in dropped)
        for node in scope.graph.node if replaced else ():
            rename(node, replaced)
        for value in scope.graph.value_info:
            if value.type.WhichOneof("value") == "tensor_type" and scope.homes.get(value.name) == self._kind:
                value.type.tensor_type.elem_type = self._kind
        keep_items(scope.graph.value_info, lambda value: value.name not in scope.constants)

    def _take_constant(self, scope: _Scope, node: Any) -> None:
        value, name = _value(node), node.output[0]
        if value is None:
            scope.homes[name] = _FLOAT
            return
        scope.types[name] = value.data_type
        if value.data_type == _FLOAT and not scope.inside.keys() & {name}:
            scope.constants[name] = node
        elif value.data_type == _FLOAT:
            scope.homes[name] = _FLOAT

    def _shrunk(self, tensor: Any) -> Any:
        return helper.make_tensor(
            tensor.name,
            self._kind,
            tensor.dims,
            self._shrink(onnx.numpy_helper.to_array(tensor)).tobytes(),
            raw=True,
        )

    def _keeps(self, scope: _Scope, node: Any) -> bool:
        """Return whether all real operands of a node stay in float32."""
        if bool(self._stays(node)) or is_standard(node, *_STAY):
            return True
        if self._schema(node) is None:
            return not (node.domain == MICROSOFT and node.op_type in _NARROW_CONTRIB) and not is_standard(
                node, "SimplifiedLayerNormalization"
            )
        if node.domain not in STANDARD:
            return True
        return self._holds_no_tensors(scope, node)

    def _holds_no_tensors(self, scope: _Scope, node: Any) -> bool:
        """Return whether a node deals in sequences and the like, which cannot be cast, or in unknown types."""
        schema = self._schema(node)
        if is_standard(node, "If", "Loop", "Scan"):
            return bool(node.output) and self._type_name not in _allowed(schema.outputs, 0)
        formal = [item.types for item in (*schema.inputs, *schema.outputs)]
        if any(types and not any(word.startswith("tensor(") for word in types) for types in formal):
            return True
        return any(name and scope.type_of(name) == 0 for name in node.input)

    def _schema(self, node: Any) -> Any:
        domain = "" if node.domain in STANDARD else node.domain
        if (node.domain, node.op_type) in self._functions:
            return None
        return schema_of(node.op_type, self._opsets.get(domain or "ai.onnx", 1), domain)

    def _operand_type(self, node: Any, place: int, *, inputs: bool, exact: bool) -> int:
        """Return the type that a real operand of a node is to have."""
        schema = None if exact else self._schema(node)
        if schema is None:
            return _FLOAT if exact else self._kind
        allowed = _allowed(schema.inputs if inputs else schema.outputs, place)
        return self._kind if self._type_name in allowed else _FLOAT

    def _look_later(self, node: Any, place: int) -> None:
        """Note an operator of which a later opset lets an operand be of the smaller type."""
        if node.op_type in self._later or not is_standard(node, node.op_type):
            return
        for version in range(self._opsets.get("ai.onnx", 1) + 1, onnx.defs.onnx_opset_version() + 1):
            if self._type_name in _allowed(onnx.defs.get_schema(node.op_type, version).inputs, place):
                self._later[node.op_type] = version
                return

    def _guess(self, node: Any, place: int, source: int) -> int:
        """Return the element type of a result that ONNX cannot infer: that of the operand of the same type."""
        schema = self._schema(node)
        if schema is None:
            return source if source else _FLOAT
        words = _words(schema.outputs, place)
        if not words or words.startswith(("seq", "optional")):
            return 0
        return source if schema.inputs and _words(schema.inputs, 0) == words else 0

    def _set_types(self, node: Any) -> None:
        """Let a node that chooses the type of its result choose the smaller one."""
        for attribute in node.attribute:
            if attribute.name in _TYPE_ATTRIBUTES and attribute.i == _FLOAT:
                attribute.i = self._kind
            elif attribute.name == "value" and attribute.t.data_type == _FLOAT:
                attribute.t.CopyFrom(self._shrunk(attribute.t))
        present = {attribute.name for attribute in node.attribute}
        name = _FLOAT_BY_DEFAULT.get(node.op_type)
        if name and name not in present:
            node.attribute.append(helper.make_attribute(name, self._kind))
        if is_standard(node, "ConstantOfShape") and "value" not in present:
            zero = onnx.numpy_helper.from_array(np.zeros(1, np.float32))
            node.attribute.append(helper.make_attribute("value", self._shrunk(zero)))

    def _counting(self, scope: _Scope) -> set[int]:
        """Return the positions of nodes that compute sizes for what takes sizes: these stay in float32."""
        view = GraphView(scope.graph)
        fixed = {item.name for item in scope.graph.initializer if item.data_type == _FLOAT}
        counted: set[str] = set()
        candidates = set()
        for index, node in enumerate(view.nodes):
            if is_standard(node, "Constant"):
                fixed.update(node.output)
            real = [name for name in node.input if name and scope.type_of(name) == _FLOAT]
            starts = is_standard(node, "Cast") and scope.type_of(node.input[0]) in _WHOLE
            follows = bool(counted.intersection(real)) and all(name in counted or name in fixed for name in real)
            if is_standard(node, *_COUNTING) and (starts or follows) and scope.types.get(node.output[0]) == _FLOAT:
                counted.update(node.output)
                candidates.add(index)
        if not candidates:
            return set()
        staying: set[int] = set()
        for index in sorted(candidates, reverse=True):
            uses = view.uses.get(view.nodes[index].output[0], ())
            if uses and all(self._counts(scope, view.nodes[use.node], use.node in staying, use.place) for use in uses):
                staying.add(index)
        return staying

    def _counts(self, scope: _Scope, node: Any, is_staying: bool, place: int) -> bool:
        if place < 0:
            return False
        if is_staying or self._keeps(scope, node):
            return True
        if is_standard(node, "Cast"):
            return bool(scope.types.get(node.output[0], 0) in _WHOLE)
        return self._operand_type(node, place, inputs=True, exact=False) == _FLOAT

    def _name(self, name: str) -> str:
        unique, number = name, 1
        while unique in self._used_names:
            number += 1
            unique = f"{name}_{number}"
        self._used_names.add(unique)
        return unique


def _word(kind: int) -> str:
    return {_FLOAT: "float32", TensorProto.FLOAT16: "float16"}.get(kind, "bfloat16")


def _types(graph: Any, inferred: Any) -> dict[str, int]:
    """Return the element types of the tensors that a graph defines; 0 for what is no tensor, or not known."""
    types = {name: 0 for node in graph.node for name in node.output if name}
    for value in (*inferred.value_info, *inferred.output, *graph.value_info, *graph.output, *graph.input):
        kind = value.type.tensor_type.elem_type if value.type.WhichOneof("value") == "tensor_type" else 0
        if kind and value.name in types:
            types[value.name] = kind
    types.update((value.name, value.type.tensor_type.elem_type) for value in graph.input)
    types.update((item.name, item.data_type) for item in graph.initializer)
    return types


def _allowed(formal: Sequence[Any], place: int) -> frozenset[str]:
    """Return the types that an operand of an operator may have."""
    if not formal:
        return frozenset()
    return frozenset(formal[min(place, len(formal) - 1)].types)


def _words(formal: Sequence[Any], place: int) -> str:
    return str(formal[min(place, len(formal) - 1)].type_str) if formal else ""


def _value(node: Any) -> Any:
    """Return the tensor of a Constant; None if it is sparse or text."""
    for attribute in node.attribute:
        if attribute.name == "value":
            return attribute.t
        if attribute.name in {"value_float", "value_floats"}:
            return onnx.numpy_helper.from_array(np.array(helper.get_attribute_value(attribute), np.float32))
        if attribute.name in {"value_int", "value_ints"}:
            return onnx.numpy_helper.from_array(np.array(helper.get_attribute_value(attribute), np.int64))
    return None


def _constant(node: Any, name: str, value: Any) -> Any:
    return helper.make_node("Constant", [], [name], f"{node.name}_{name}" if node.name else "", value=value)


def _inferred(model: Any) -> Any:
    small = structure(model)
    try:
        return onnx.shape_inference.infer_shapes(small)
    except Exception as error:  # noqa: BLE001 - it raises whatever it meets, and types are noted in the model, too
        _LOG.info("types are taken from the model alone: %s", describe_exception(error))
        return small


def _all_names(graph: Any) -> Iterator[str]:
    for inner in graphs_within(graph):
        yield from (value.name for value in (*inner.input, *inner.output, *inner.value_info))
        yield from (item.name for item in inner.initializer)
        yield from (name for node in inner.node for name in (node.name, *node.input, *node.output))
