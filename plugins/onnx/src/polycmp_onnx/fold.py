"""Calculating once what does not depend on the inputs.

onnxscript's optimiser writes Constants with attributes that older opsets lack (11 of 376 random models of
`truth.writing` became invalid) and leaves more nodes (2,385 of 4,835 where this leaves 2,077).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from polycmp.errors import PolycmpError
from polycmp.graph import RANDOM_OPERATORS
from polycmp.loader import immediate, keyword_aliases
from polycmp.tensors import is_size
from polycmp_onnx.graph import GraphView, is_standard, keep_items, nodes_within, shape_of, subgraphs
from polycmp_onnx.load import OnnxLoader, own_model
from polycmp_onnx.passes import WEIGHTS_APART, model_pass
from polycmp_onnx.shapes import note_shapes, value_types

if TYPE_CHECKING:
    from onnx import ModelProto

    from polycmp_onnx.load import ModelSource

#: Operators that do not always make the same numbers of the same inputs: Dropout draws while a model is trained.
_NOT_CONSTANT = {*RANDOM_OPERATORS, "Dropout"}
#: A quantised weight with its scale is what backends want to see; calculated, it would be a float weight again.
_QUANTISATION = {"QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear"}

#: Stands for a dimension that is not known in a shape of which others are.
_UNKNOWN = -(2**62)


@keyword_aliases("copy", "partitioning", "error_ok", "allow_onnxruntime_shape_inference")
class FoldConstants(OnnxLoader):
    """Replaces what can be calculated from weights alone by its result, and drops the weights no longer used.

    The calculation is that of ONNX's reference operators in the model's own types. Random operators, operators with
    subgraphs, quantisation, and operators that the evaluator lacks stay as they are.

    Args:
        model: A model, or a callable that returns one; it is not changed.
        num_passes: Largest number of passes over the model; None to go on until nothing changes.
        do_shape_inference: Infer shapes before each pass, so that more shapes are constants.
        fold_shapes: Replace Shape of a tensor with a fixed shape by that shape.
        size_threshold: Largest result in bytes to store; None for no limit.
    """

    def __init__(
        self,
        model: ModelSource,
        num_passes: int | None = None,
        do_shape_inference: bool = True,
        fold_shapes: bool = True,
        size_threshold: int | None = None,
    ) -> None:
        self.model = model
        self.num_passes = num_passes
        self.do_shape_inference = do_shape_inference
        self.fold_shapes = fold_shapes
        self.size_threshold = size_threshold

    def call_impl(self) -> ModelProto:
        """Return the folded model."""
        return self.apply(own_model(self.model))

    def apply(self, model: ModelProto) -> ModelProto:
        """Fold another model with the same options, and return it."""
        fold(model, self)
        return model

    def fold_graph(self, model: Any, graph: Any, around: Mapping[str, Any], values: Mapping[str, Any]) -> bool:
        """Fold a graph, and the subgraphs within it.

        Args:
            model: The model, for its operator sets and functions.
            graph: The graph, which is changed.
            around: The constants of the graphs around it, by name.
            values: Types of tensors as far as they are known, by name.

        Returns:
            Whether anything changed.
        """
        fed = {value.name for value in graph.input}
        constants = {name: item for name, item in around.items() if name not in fed}
        constants.update((item.name, item) for item in graph.initializer)
        shapes = {node.output[0]: node for node in graph.node if self.fold_shapes and is_standard(node, "Shape")}
        folded: dict[str, Any] = {}
        gone, modified = set(), False
        for index, node in enumerate(graph.node):
            known_dims = self._known_dims(node, shapes, constants, values)
            results = self._results(model, node, {**constants, **known_dims} if known_dims else constants, values)
            if known_dims and results is not None and any(map(_has_unknown_dim, results.values())):
                results = None
            if results is not None:
                folded.update(results)
                constants.update(results)
                gone.add(index)
                continue
            for inner in subgraphs(node):
                modified |= self.fold_graph(model, inner, constants, values)
        results = {value.name for value in graph.output} & folded.keys()
        for index in sorted(gone, reverse=True):
            modified |= _replace(
                graph.node, index, [folded[name] for name in graph.node[index].output if name in results]
            )
        folded = {name: item for name, item in folded.items() if name not in results}
        needed = GraphView(graph).read_names
        modified |= keep_items(graph.initializer, lambda item: item.name in needed)
        modified |= keep_items(graph.value_info, lambda value: value.name not in folded)
        graph.initializer.extend(item for name, item in folded.items() if name in needed)
        return modified

    def _results(self, model: Any, node: Any, constants: Mapping[str, Any], values: Mapping[str, Any]) -> Any:
        """Return the tensors that a node always makes, by name, or None if it has to stay."""
        import onnx

        if is_standard(node, "Constant") and len(node.attribute) == 1 and node.attribute[0].name == "value":
            tensor = node.attribute[0].t
            tensor.name = node.output[0]
            return {tensor.name: tensor} if self._is_small(onnx.numpy_helper.to_array(tensor)) else None
        arrays = self._shape(node, values) if self.fold_shapes and is_standard(node, "Shape") else None
        if arrays is None and _is_foldable(node, model) and all(name in constants for name in node.input if name):
            arrays = _evaluate(model, node, [constants[name] for name in node.input if name])
        if arrays is None or any(not isinstance(array, np.ndarray) for array in arrays.values()):
            return None
        if not all(map(self._is_small, arrays.values())):
            return None
        return {
            name: onnx.numpy_helper.from_array(array.astype(object) if array.dtype.kind == "U" else array, name)
            for name, array in arrays.items()
        }

    def _known_dims(
        self, node: Any, shapes: Mapping[str, Any], constants: Mapping[str, Any], values: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the shape that a node takes a part of, by name, where at least some of its dimensions are known."""
        import onnx

        name = node.input[0] if is_standard(node, "Gather", "Slice") else ""
        if name not in shapes or name in constants:
            return {}
        arrays = self._shape(shapes[name], values, unknown=_UNKNOWN) or {}
        return {name: onnx.numpy_helper.from_array(array, name) for name, array in arrays.items()}

    def _is_small(self, array: Any) -> bool:
        return self.size_threshold is None or array.nbytes <= self.size_threshold

    def _shape(self, node: Any, values: Mapping[str, Any], unknown: int | None = None) -> dict[str, Any] | None:
        """Return a tensor's shape as what a Shape node makes; None if a dimension has no number."""
        value = values.get(node.input[0])
        noted = None if value is None else shape_of(value)
        dims = [dim if is_size(dim) else unknown for dim in noted or ()]
        if noted is None or None in dims:
            return None
        limits = {attribute.name: attribute.i for attribute in node.attribute}
        return {node.output[0]: np.array(dims[limits.get("start", 0) : limits.get("end")], dtype=np.int64)}


fold_constants = immediate(FoldConstants)


@model_pass(requires=(WEIGHTS_APART,))
def fold(model: Any, options: FoldConstants) -> bool:
    """Replace what can be calculated from weights alone by its result, and drop the weights no longer used.

    Args:
        model: An `onnx.ModelProto`, which is changed.
        options: Options of the loader.

    Returns:
        Whether anything changed.
    """
    remaining_passes, modified = math.inf if options.num_passes is None else options.num_passes, False
    while remaining_passes > 0:
        noted = note_shapes(model) if options.do_shape_inference else False
        values = value_types(model) if options.fold_shapes else {}
        folded = options.fold_graph(model, model.graph, {}, values)
        modified |= noted or folded
        if not folded:
            break
        remaining_passes -= 1
    return modified


def _replace(nodes: Any, index: int, results: list[Any]) -> bool:
    """Take a node out; outputs of the graph are still made by a node, for not every backend returns weights."""
    import onnx

    if not results:
        del nodes[index]
    elif not is_standard(nodes[index], "Constant"):
        constants = [onnx.helper.make_node("Constant", [], [item.name], value=item) for item in results]
        nodes[index].CopyFrom(constants[0])
        for further in constants[1:]:
            nodes.insert(index, further)
    else:
        return False
    return True


def _has_unknown_dim(tensor: Any) -> bool:
    import onnx

    return bool((onnx.numpy_helper.to_array(tensor) == _UNKNOWN).any())


def _is_foldable(node: Any, model: Any) -> bool:
    return not (is_standard(node, *_QUANTISATION) or any(subgraphs(node)) or _draws([node], model.functions))


def _draws(nodes: Iterable[Any], functions: Sequence[Any]) -> bool:
    """Return whether some of the nodes draw random numbers, by themselves or in a function that they call."""
    bodies = {(function.domain, function.name): function.node for function in functions}
    waiting, seen = list(nodes), set()
    while waiting:
        node = waiting.pop()
        if is_standard(node, *_NOT_CONSTANT):
            return True
        waiting += [inner for graph in subgraphs(node) for inner in nodes_within(graph)]
        called = (node.domain, node.op_type)
        if called in bodies and called not in seen:
            seen.add(called)
            waiting += bodies[called]
    return False


def _evaluate(model: Any, node: Any, inputs: list[Any]) -> dict[str, Any] | None:
    """Evaluate a node on constants; None if the evaluator cannot."""
    import onnx

    from polycmp_onnx.reference import make_evaluator

    names = [name for name in node.output if name]
    graph = onnx.helper.make_graph([node], "node", [], [onnx.ValueInfoProto(name=name) for name in names], inputs)
    single = onnx.helper.make_model(graph, opset_imports=model.opset_import, functions=model.functions)
    try:
        return dict(zip(names, make_evaluator(single).run(None, {}), strict=True))
    except PolycmpError:
        return None
