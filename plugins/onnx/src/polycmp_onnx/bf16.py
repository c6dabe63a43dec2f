"""Converting a model to bfloat16."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from polycmp.errors import ModelError, describe_exception
from polycmp.loader import immediate, resolve
from polycmp_onnx.load import OnnxLoader

if TYPE_CHECKING:
    from onnx import ModelProto

    from polycmp_onnx.load import ModelSource

#: The first opset whose arithmetic knows bfloat16.
_BF16_OPSET = 13
#: Inputs that ONNX requires in float32 for data of any type: operator -> positions.
_STAY_FLOAT = {"Resize": {1, 2}, "Upsample": {1}}


class ConvertToBf16(OnnxLoader):
    """Turns the float32 inside of an ONNX model into bfloat16; its inputs and outputs keep their types.

    Args:
        model: An `onnx.ModelProto`, or a callable that returns one; it is not changed.
    """

    def __init__(self, model: ModelSource) -> None:
        self.model = model

    def call_impl(self) -> ModelProto:
        """Return the model in bfloat16.

        Raises:
            ModelError: It cannot be brought to an opset that knows bfloat16.
        """
        import onnx

        source = resolve(self.model)
        opset = next((item.version for item in source.opset_import if item.domain in {"", "ai.onnx"}), _BF16_OPSET)
        if opset < _BF16_OPSET:
            try:
                model = onnx.version_converter.convert_version(source, _BF16_OPSET)
            except Exception as error:
                raise ModelError(
                    f"the model has opset {opset}, and bfloat16 needs {_BF16_OPSET}",
                    whose="the model",
                    why=describe_exception(error),
                    hint="export the model with a newer opset",
                ) from error
        else:
            model = onnx.ModelProto()
            model.CopyFrom(source)
        _narrow_graph(model.graph, top=True)
        return model


convert_to_bf16 = immediate(ConvertToBf16)


def _narrow_graph(graph: Any, *, top: bool) -> None:
    """Make every float32 in a graph bfloat16, casting at the inputs and outputs of the whole model."""
    float_, bfloat = 1, 16  # onnx.TensorProto.FLOAT and BFLOAT16
    kept = _float_operands(graph)
    for tensor in graph.initializer:
        if tensor.data_type == float_ and tensor.name not in kept:
            _narrow_tensor(tensor)
    for node in graph.node:
        if node.op_type == "Constant" and node.output[0] in kept:
            continue
        for attribute in node.attribute:
            if attribute.t.data_type == float_:
                _narrow_tensor(attribute.t)
            elif attribute.name in {"to", "dtype"} and attribute.i == float_:
                attribute.i = bfloat
            if attribute.HasField("g"):
                _narrow_graph(attribute.g, top=False)
        if node.op_type == "Constant":
            _narrow_value_attributes(node)
    del graph.value_info[:]
    if top:
        _cast_boundary(graph, float_, bfloat)
    else:
        for value in (*graph.input, *graph.output):
            if value.type.tensor_type.elem_type == float_:
                value.type.tensor_type.elem_type = bfloat


def _float_operands(graph: Any) -> set[str]:
    return {
        name
        for node in graph.node
        for index, name in enumerate(node.input)
        if name and index in _STAY_FLOAT.get(node.op_type, ())
    }


def _narrow_tensor(tensor: Any) -> None:
    import onnx

    values = onnx.numpy_helper.to_array(tensor)
    import ml_dtypes

    narrow = values.astype(ml_dtypes.bfloat16)
    name = tensor.name
    tensor.Clear()
    tensor.name = name
    tensor.data_type = onnx.TensorProto.BFLOAT16
    tensor.dims.extend(values.shape)
    tensor.raw_data = narrow.tobytes()


def _narrow_value_attributes(node: Any) -> None:
    """Give a Constant written as plain numbers the form of a tensor, which alone can be bfloat16."""
    import onnx

    for attribute in node.attribute:
        if attribute.name not in {"value_float", "value_floats"}:
            continue
        plain = attribute.f if attribute.name == "value_float" else list(attribute.floats)
        tensor = onnx.numpy_helper.from_array(np.asarray(plain, np.float32))
        _narrow_tensor(tensor)
        attribute.CopyFrom(onnx.helper.make_attribute("value", tensor))


def _cast_boundary(graph: Any, float_: int, bfloat: int) -> None:
    from onnx import helper

    weights = {tensor.name for tensor in graph.initializer}
    inputs = {
        value.name: f"{value.name}__bf16"
        for value in graph.input
        if value.type.tensor_type.elem_type == float_ and value.name not in weights
    }
    outputs = {
        value.name: f"{value.name}__bf16" for value in graph.output if value.type.tensor_type.elem_type == float_
    }
    for node in graph.node:
        rename = inputs | outputs
        stays = _STAY_FLOAT.get(node.op_type, set())
        for index, name in enumerate(node.input):
            if name in rename and index not in stays:
                node.input[index] = rename[name]
        for index, name in enumerate(node.output):
            node.output[index] = outputs.get(name, name)
        _rename_inside(node, rename)
    before = [helper.make_node("Cast", [old], [new], name=f"{old}__to_bf16", to=bfloat) for old, new in inputs.items()]
    after = []
    for old, new in outputs.items():
        source = inputs.get(old, new)
        after.append(helper.make_node("Cast", [source], [old], name=f"{old}__from_bf16", to=float_))
    nodes = list(graph.node)
    del graph.node[:]
    graph.node.extend([*before, *nodes, *after])


def _rename_inside(node: Any, rename: Mapping[str, str]) -> None:
    """Rename what the graphs inside a node read from outside."""
    for attribute in node.attribute:
        if not attribute.HasField("g"):
            continue
        for inner in attribute.g.node:
            for index, name in enumerate(inner.input):
                inner.input[index] = rename.get(name, name)
            _rename_inside(inner, rename)
        for value in attribute.g.output:
            value.name = rename.get(value.name, value.name)
