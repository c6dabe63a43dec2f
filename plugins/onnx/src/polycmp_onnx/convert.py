"""Converting a model to float16."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from polycmp.errors import ModelError, PluginError, describe_exception
from polycmp.loader import also_called, immediate
from polycmp_onnx.graph import is_too_large, subgraphs
from polycmp_onnx.load import OnnxLoader, own_model

if TYPE_CHECKING:
    from onnx import ModelProto

    from polycmp_onnx.load import ModelSource

_LARGEST, _SMALLEST = 65504.0, 2.0**-24


@also_called("copy")
class ConvertToFp16(OnnxLoader):
    """Turns the float32 inside of a model into float16; its inputs and outputs keep their types.

    Weights beyond what float16 holds (65504, and 2**-24 towards zero) become the nearest number that it does hold.

    Args:
        model: A model, or a callable that returns one; it is not changed.
    """

    def __init__(self, model: ModelSource) -> None:
        self.model = model

    def call_impl(self) -> ModelProto:
        """Return the model in float16.

        Raises:
            PluginError: `onnxconverter_common` is not installed.
            ModelError: The conversion failed.
        """
        try:
            from onnxconverter_common.float16 import convert_float_to_float16
        except ImportError as error:
            raise PluginError(
                "conversion to float16 needs onnxconverter_common",
                whose="onnx",
                why=describe_exception(error),
                hint="pip install polycmp-onnx[fp16]",
            ) from error
        model = own_model(self.model)
        _separate_outputs(model.graph)
        _prepare(model.graph)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # one per weight that is clipped; the class says that they are
                return convert_float_to_float16(
                    model,
                    min_positive_val=_SMALLEST,
                    max_finite_val=_LARGEST,
                    keep_io_types=True,
                    check_fp16_ready=False,  # `_prepare` has just made what it would take for a converted model
                    disable_shape_infer=is_too_large(model),
                )
        except Exception as error:
            raise ModelError(
                "cannot be converted to float16", whose="the model", why=describe_exception(error)
            ) from error


convert_to_fp16 = immediate(ConvertToFp16)


def _separate_outputs(graph: Any) -> None:
    """Give outputs that other nodes read, too, a node of their own.

    The converter casts an output back to float32 for all its readers, without converting them with it.
    """
    import onnx

    nodes = list(_all_nodes(graph))
    read = {name for node in nodes for name in node.input}
    made = {name: node for node in graph.node for name in node.output}
    for output in [item for item in graph.output if item.name in read and item.name in made]:
        inner = f"{output.name}_inside"
        for node in nodes:
            for names in (node.input, node.output):
                names[:] = [inner if name == output.name else name for name in names]
        graph.node.append(onnx.helper.make_node("Identity", [inner], [output.name]))


def _all_nodes(graph: Any) -> Iterator[Any]:
    for node in graph.node:
        yield node
        for inner in subgraphs(node):
            yield from _all_nodes(inner)


def _prepare(graph: Any) -> None:
    """Do what the converter leaves undone, so that it makes a valid model.

    It names the casts that it adds after the nodes they lead to, so these need names; it notes float16 for what a Cast
    to float32 makes without changing the Cast; and it overlooks constants that are attributes rather than tensors.
    """
    import onnx

    for index, node in enumerate(graph.node):
        node.name = node.name or f"{node.op_type}_{graph.name}_{index}"
        for attribute in node.attribute:
            if node.op_type == "Cast" and attribute.name == "to" and attribute.i == onnx.TensorProto.FLOAT:
                attribute.i = onnx.TensorProto.FLOAT16
            elif node.op_type == "Constant" and attribute.name in {"value_float", "value_floats"}:
                value = np.array(onnx.helper.get_attribute_value(attribute), np.float32)
                attribute.CopyFrom(onnx.helper.make_attribute("value", onnx.numpy_helper.from_array(value)))
        for inner in subgraphs(node):
            _prepare(inner)
