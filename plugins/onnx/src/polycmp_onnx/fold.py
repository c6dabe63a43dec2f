"""Calculating once what does not depend on the inputs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from polycmp.errors import PolycmpError
from polycmp.loader import also_called, immediate
from polycmp_onnx.graph import known_values, reads, replace_items, shape_of, subgraphs
from polycmp_onnx.load import OnnxLoader, own_model
from polycmp_onnx.shapes import infer_shapes

if TYPE_CHECKING:
    from onnx import ModelProto

    from polycmp_onnx.load import ModelSource

_RANDOM = {
    "RandomNormal",
    "RandomNormalLike",
    "RandomUniform",
    "RandomUniformLike",
    "Bernoulli",
    "Multinomial",
    "Dropout",
}
#: A quantised weight with its scale is what backends want to see; calculated, it would be a float weight again.
_QUANTISATION = {"QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear"}


@also_called("copy", "partitioning", "error_ok", "allow_onnxruntime_shape_inference")
class FoldConstants(OnnxLoader):
    """Replaces what can be calculated from weights alone by its result, and drops the weights no longer used.

    The calculation is that of ONNX's reference operators in the model's own types. Random operators, operators with
    subgraphs, quantisation, and operators that the evaluator lacks stay as they are.

    Args:
        model: A model, or a callable that returns one; it is not changed.
        num_passes: How often to go through the model at most; None to go on until nothing changes.
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
        model = own_model(self.model)
        left = math.inf if self.num_passes is None else self.num_passes
        while left > 0:
            before = len(model.graph.node)
            if self.do_shape_inference:
                model = infer_shapes(model)
            self._one_pass(model)
            if len(model.graph.node) == before:
                break
            left -= 1
        return model

    def _one_pass(self, model: Any) -> None:
        graph = model.graph
        fed = {value.name for value in graph.input}
        constants = {item.name: item for item in graph.initializer if item.name not in fed}
        values = known_values(graph)
        kept: list[Any] = []
        made: dict[str, Any] = {}
        for node in graph.node:
            results = self._results(model, node, constants, values)
            if results is None:
                kept.append(node)
            else:
                made.update(results)
                constants.update(results)
        _rebuild(graph, kept, made)

    def _results(self, model: Any, node: Any, constants: dict[str, Any], values: dict[str, Any]) -> Any:
        """Return the tensors that a node always makes, by name, or None if it has to stay."""
        import onnx

        arrays = self._shape(node, values) if node.op_type == "Shape" and self.fold_shapes else None
        if arrays is None and _is_foldable(node) and all(name in constants for name in node.input if name):
            arrays = _evaluate(model, node, [constants[name] for name in node.input if name])
        if arrays is None or any(not isinstance(array, np.ndarray) for array in arrays.values()):
            return None
        if self.size_threshold is not None and any(array.nbytes > self.size_threshold for array in arrays.values()):
            return None
        return {
            name: onnx.numpy_helper.from_array(array.astype(object) if array.dtype.kind == "U" else array, name)
            for name, array in arrays.items()
        }

    def _shape(self, node: Any, values: dict[str, Any]) -> dict[str, Any] | None:
        value = values.get(node.input[0])
        dims = None if value is None else shape_of(value)
        if dims is None or any(not isinstance(dim, int) or dim < 0 for dim in dims):
            return None
        limits = {attribute.name: attribute.i for attribute in node.attribute}
        return {node.output[0]: np.array(dims[limits.get("start", 0) : limits.get("end")], dtype=np.int64)}


fold_constants = immediate(FoldConstants)


def _is_foldable(node: Any) -> bool:
    return node.op_type not in _RANDOM | _QUANTISATION and not any(subgraphs(node))


def _evaluate(model: Any, node: Any, inputs: list[Any]) -> dict[str, Any] | None:
    """Return what a node makes of constants, or None if the evaluator cannot say."""
    import onnx

    from polycmp_onnx.reference import make_evaluator

    names = [name for name in node.output if name]
    graph = onnx.helper.make_graph([node], "node", [], [onnx.ValueInfoProto(name=name) for name in names], inputs)
    single = onnx.helper.make_model(graph, opset_imports=model.opset_import, functions=model.functions)
    try:
        return dict(zip(names, make_evaluator(single).run(None, {}), strict=True))
    except PolycmpError:
        return None


def _rebuild(graph: Any, kept: list[Any], made: dict[str, Any]) -> None:
    needed = {name for node in kept for name in reads(node)} | {value.name for value in graph.output}
    weights = [item for item in (*graph.initializer, *made.values()) if item.name in needed]
    replace_items(graph.node, kept)
    replace_items(graph.initializer, weights)
