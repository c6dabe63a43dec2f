"""Inferring the types and shapes of the tensors inside a model."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from polycmp.errors import ModelError, describe_exception
from polycmp.loader import immediate, keyword_aliases
from polycmp_onnx.graph import (
    STANDARD,
    computed_tensors,
    known_values,
    nodes_within,
    schema_of,
    subgraphs,
    tensor_bytes,
)
from polycmp_onnx.load import OnnxLoader, own_model
from polycmp_onnx.passes import model_pass, noted_types

if TYPE_CHECKING:
    from collections.abc import Mapping

    from onnx import ModelProto

    from polycmp_onnx.load import ModelSource

_LOG = logging.getLogger("polycmp")
#: Bytes up to which a weight may be a shape or an axis that inference must see.
LARGEST_SHAPE = 4096
#: Element types that schemas write out, as ONNX numbers them.
_WRITTEN = {"tensor(float)": 1, "tensor(double)": 11, "tensor(int64)": 7, "tensor(bool)": 9, "tensor(string)": 8}
#: Element types of real numbers, as ONNX numbers them.
_REAL = {1, 10, 11, 16}
#: Outputs of ONNX Runtime's operators that are no real numbers where inputs are, by operator and place. Those of
#: operators whose names begin with "QLinear" or "QOrdered" are codes.
_NOT_REAL = {
    ("BeamSearch", 0), ("BiasDropout", 1), ("BitmaskBiasDropout", 1), ("BitmaskDropout", 1),
    ("EmbedLayerNormalization", 1), ("GreedySearch", 0), ("IsAllFinite", 0), ("QEmbedLayerNormalization", 1),
    ("QGemm", 0), ("QuantizeLinear", 0), ("Sampling", 0), ("Unique", 1), ("Unique", 2), ("Unique", 3),
    ("WhisperBeamSearch", 0),
}  # fmt: skip


@keyword_aliases("save_to_disk_threshold_bytes")
class InferShapes(OnnxLoader):
    """Notes in a model the types and shapes of all tensors that follow from its inputs.

    ONNX Runtime's symbolic inference, which follows shapes through arithmetic on them, comes first where it is
    installed; ONNX's own takes its place where that is missing or gives up.

    Args:
        model: A model, or a callable that returns one; it is not changed.
        error_ok: Return the model as it is, with a warning, where inference fails.
        allow_onnxruntime: Use ONNX Runtime's symbolic inference.
        external_data_dir: Folder of the weights that lie outside the file, where `model` is a path.
    """

    def __init__(
        self,
        model: ModelSource,
        error_ok: bool | None = True,
        allow_onnxruntime: bool | None = True,
        external_data_dir: str | None = None,
    ) -> None:
        self.model = model
        self.error_ok = error_ok is not False
        self.allow_onnxruntime = allow_onnxruntime is not False
        self.external_data_dir = external_data_dir

    def call_impl(self) -> ModelProto:
        """Return a model with shapes.

        Raises:
            ModelError: Inference failed and `error_ok` is false.
        """
        model = own_model(self.model, self.external_data_dir)
        note_shapes(model, error_ok=self.error_ok, allow_onnxruntime=self.allow_onnxruntime)
        return model


infer_shapes = immediate(InferShapes)


@model_pass()
def note_shapes(model: Any, *, error_ok: bool = True, allow_onnxruntime: bool = True) -> bool:
    """Note in a model the types and shapes of all tensors that follow from its inputs.

    Args:
        model: An `onnx.ModelProto` of any size, which is changed.
        error_ok: Leave the model as it is, with a warning, where inference fails.
        allow_onnxruntime: Use ONNX Runtime's symbolic inference.

    Returns:
        Whether anything changed.

    Raises:
        ModelError: Inference failed and `error_ok` is false.
    """
    import onnx

    small = structure(model)
    inferred = _with_onnxruntime(small) if allow_onnxruntime else None
    try:
        if inferred is None:
            inferred = onnx.shape_inference.infer_shapes(small, strict_mode=not error_ok, data_prop=True)
    except Exception as error:
        if not error_ok:
            raise ModelError("shape inference failed", whose="ONNX", why=describe_exception(error)) from error
        _LOG.warning("shape inference failed, continuing without it: %s", describe_exception(error))
        return False
    before = noted_types(model)
    _take_over(model, inferred)
    return noted_types(model) != before


def value_types(model: Any) -> dict[str, Any]:
    """Return the `ValueInfoProto` of every tensor whose type the model notes or ONNX can infer, by name.

    Large weights stay out of the inference, so this is quick for any model.

    Args:
        model: An `onnx.ModelProto`, which need not hold its external weights.
    """
    import onnx

    noted = _typed(model)
    if all(name in noted for name in computed_tensors(model.graph)):
        return noted
    small = structure(model)
    try:
        known = {**_typed(onnx.shape_inference.infer_shapes(small)), **noted}
        while told := types_by_operator(small, known):  # ONNX infers the types and shapes of what follows from them
            small.graph.value_info.extend(told.values())
            known = {**told, **_typed(onnx.shape_inference.infer_shapes(small)), **known}
    except Exception as error:  # noqa: BLE001 - types are a help here, never a need
        _LOG.info("some types stay unknown: %s", describe_exception(error))
        return noted
    return known


def _typed(model: Any) -> dict[str, Any]:
    """Return the `ValueInfoProto` of every tensor of which a model notes a type, by name."""
    known = known_values(model.graph).items()
    return {
        name: value
        for name, value in known
        if value.type.tensor_type.elem_type or value.type.WhichOneof("value") not in {None, "tensor_type"}
    }


def types_by_operator(model: Any, known: Mapping[str, Any]) -> dict[str, Any]:
    """Return the types, without shapes, that operators tell of tensors that ONNX infers none of, by name.

    Most operators of `ai.onnx.ml` have no inference, but their schemas say that they make `tensor(float)`, or what they
    read. Those of ONNX Runtime have no schema here: what they make of real numbers has the type of the first of them.

    Args:
        model: An `onnx.ModelProto`.
        known: Types of its tensors as far as they are known, as `ValueInfoProto` by name.
    """
    import onnx

    versions = {item.domain or "ai.onnx": item.version for item in model.opset_import}
    elements = {name: value.type.tensor_type.elem_type for name, value in known.items()}
    elements.update({item.name: item.data_type for item in model.graph.initializer})
    told: dict[str, Any] = {}
    for node in model.graph.node:
        unknown = [place for place, name in enumerate(node.output) if name and name not in elements]
        if not unknown:
            continue
        schema = schema_of(node.op_type, versions.get(node.domain or "ai.onnx", 0), node.domain)
        for place in unknown:
            element = _by_schema(schema, node, place, elements) if schema else _real_result(node, place, elements)
            if element:
                name = node.output[place]
                elements[name] = element
                told[name] = onnx.helper.make_tensor_value_info(name, element, None)
    return told


def _by_schema(schema: Any, node: Any, place: int, elements: Mapping[str, int]) -> int:
    """Return the element type of what an operator makes, as its schema tells it; 0 where it does not."""
    operands = zip(schema.inputs, node.input, strict=False)
    read = {form.type_str: elements[name] for form, name in operands if elements.get(name)}
    written = schema.outputs[min(place, len(schema.outputs) - 1)].type_str
    return read.get(written) or _WRITTEN.get(written) or 0


def _real_result(node: Any, place: int, elements: Mapping[str, int]) -> int:
    """Return the element type of real numbers that an operator without a schema makes; 0 where it makes others."""
    if node.op_type.startswith(("QLinear", "QOrdered")) or (node.op_type, place) in _NOT_REAL:
        return 0
    return next((kind for name in node.input if (kind := elements.get(name, 0)) in _REAL), 0)


def structure(model: Any) -> Any:
    """Return a model like the given one in which large weights are inputs."""
    import onnx

    small = type(model)(ir_version=model.ir_version, opset_import=model.opset_import, functions=model.functions)
    graph = small.graph
    graph.name = model.graph.name
    graph.node.extend(model.graph.node)
    graph.input.extend(model.graph.input)
    graph.output.extend(model.graph.output)
    graph.value_info.extend(model.graph.value_info)
    graph.sparse_initializer.extend(model.graph.sparse_initializer)
    fed = {value.name for value in graph.input}
    for item in model.graph.initializer:
        small_here = tensor_bytes(item) <= LARGEST_SHAPE and not onnx.external_data_helper.uses_external_data(item)
        if small_here and _has_content(item):
            graph.initializer.append(item)
        elif item.name not in fed:
            graph.input.append(onnx.helper.make_tensor_value_info(item.name, item.data_type, item.dims))
    _say_one_sided(graph.node)
    imported = {item.domain for item in small.opset_import}
    for domain in {node.domain for node in nodes_within(graph)} - imported - set(STANDARD):
        small.opset_import.append(onnx.helper.make_opsetid(domain, 1))  # ONNX needs it, and ONNX Runtime does not
    return small


def _has_content(tensor: Any) -> bool:
    """Return whether a weight was read with its numbers: a file's structure is read without those of large ones."""
    return 0 in tensor.dims or any(field.name.endswith("_data") for field, _ in tensor.ListFields())


def _say_one_sided(nodes: Any) -> None:
    """Write STFT's default, half of the spectrum, where the attribute is absent: onnx 1.23 infers all of it then."""
    import onnx

    for node in nodes:
        if node.op_type == "STFT" and not any(item.name == "onesided" for item in node.attribute):
            node.attribute.append(onnx.helper.make_attribute("onesided", 1))


def _with_onnxruntime(model: Any) -> Any:
    """Return the model with shapes, or None if ONNX Runtime's inference is not there or gives up."""
    try:
        from onnxruntime.tools.symbolic_shape_infer import SymbolicShapeInference
    except ImportError as error:
        _LOG.debug("no symbolic shape inference: %s", describe_exception(error))
        return None
    try:
        return SymbolicShapeInference.infer_shapes(model, auto_merge=True)
    except Exception as error:  # noqa: BLE001 - it raises whatever its Python meets
        _LOG.info("symbolic shape inference gave up: %s", describe_exception(error))
        return None


def _take_over(model: Any, inferred: Any) -> None:
    """Note in a model what was inferred for its structure; large weights, which are inputs there, are no news."""
    weights = {item.name for item in model.graph.initializer}
    outputs = {item.name: item for item in inferred.graph.output}
    for item in model.graph.output:
        inferred_output = outputs.get(item.name)
        # Older releases of onnx forget the shapes of outputs that they cannot infer, and note them as tensors inside.
        if inferred_output is not None and inferred_output.type.tensor_type.HasField("shape"):
            item.CopyFrom(inferred_output)
    declared = {item.name for item in model.graph.output if item.type.tensor_type.HasField("shape")}
    inside = [value for value in inferred.graph.value_info if value.name not in weights | declared]
    del model.graph.value_info[:]
    model.graph.value_info.extend(inside)
    _take_over_subgraphs(model.graph, inferred.graph)


def _take_over_subgraphs(graph: Any, inferred: Any) -> None:
    others = {tuple(node.output): node for node in inferred.node}  # which may be in another order
    for node in graph.node:
        for inner, known in zip(subgraphs(node), subgraphs(others.get(tuple(node.output), node)), strict=False):
            del inner.value_info[:]
            inner.value_info.extend(known.value_info)
            _take_over_subgraphs(inner, known)
