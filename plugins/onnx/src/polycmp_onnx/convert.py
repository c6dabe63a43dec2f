"""Converting a model to float16."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import numpy as np

from polycmp.errors import ModelError, PluginError, UsageError, describe_exception, did_you_mean
from polycmp.loader import also_called, immediate
from polycmp_onnx.graph import is_too_large, keep_items, nodes_within, reads, subgraphs
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
        keep_float: Operator types, and names or patterns of nodes, that keep calculating in float32.
    """

    def __init__(self, model: ModelSource, keep_float: Sequence[str] = ()) -> None:
        self.model = model
        self.keep_float = tuple(keep_float)

    def call_impl(self) -> ModelProto:
        """Return the model in float16.

        Raises:
            PluginError: `onnxconverter_common` is not installed.
            ModelError: The conversion failed.
            UsageError: Nothing in the model is what `keep_float` names.
        """
        try:
            from onnxconverter_common.float16 import DEFAULT_OP_BLOCK_LIST, convert_float_to_float16
        except ImportError as error:
            raise PluginError(
                "conversion to float16 needs onnxconverter_common",
                whose="onnx",
                why=describe_exception(error),
                hint="pip install polycmp-onnx[fp16]",
            ) from error
        model = own_model(self.model)
        _separate_outputs(model.graph)
        types, names = _kept(model.graph, self.keep_float)
        _prepare(model.graph, {*DEFAULT_OP_BLOCK_LIST, *types}, names)
        kept = _weights_of(model.graph, {*DEFAULT_OP_BLOCK_LIST, *types}, names)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # one per weight that is clipped; the class says that they are
                made = convert_float_to_float16(
                    model,
                    min_positive_val=_SMALLEST,
                    max_finite_val=_LARGEST,
                    keep_io_types=True,
                    op_block_list=[*DEFAULT_OP_BLOCK_LIST, *types],
                    node_block_list=list(names),
                    check_fp16_ready=False,  # `_prepare` has just made what it would take for a converted model
                    disable_shape_infer=is_too_large(model),
                )
            _give_back(made.graph, kept)
            return made
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

    nodes = list(nodes_within(graph))
    read = {name for node in nodes for name in node.input}
    made = {name: node for node in graph.node for name in node.output}
    for output in [item for item in graph.output if item.name in read and item.name in made]:
        inner = f"{output.name}_inside"
        for node in nodes:
            for names in (node.input, node.output):
                names[:] = [inner if name == output.name else name for name in names]
        graph.node.append(onnx.helper.make_node("Identity", [inner], [output.name]))


def _kept(graph: Any, wanted: Sequence[str]) -> tuple[set[str], set[str]]:
    """Return the operator types, and the names of nodes, that are to keep calculating in float32.

    Raises:
        UsageError: The model has none of such a type or name.
    """
    nodes = list(nodes_within(graph))
    types, names = set(), set()
    present, named = {node.op_type.lower(): node.op_type for node in nodes}, {node.name for node in nodes if node.name}
    for word in wanted:
        fitting = {name for name in named if fnmatchcase(name, word)}
        if word.lower() in present:
            types.add(present[word.lower()])
        elif not fitting:
            raise UsageError(
                f"the model has no operator or node {word!r}",
                whose="--keep-float",
                why=did_you_mean(word, [*present.values(), *named]),
            )
        names |= fitting
    return types, names


def _weights_of(graph: Any, types: Collection[str], names: Collection[str]) -> dict[str, Any]:
    """Return copies of the float32 weights that operators read which stay in float32, by name."""
    import onnx

    read = {name for node in graph.node if node.op_type in types or node.name in names for name in node.input}
    kept = {}
    for item in graph.initializer:
        if item.name in read and item.data_type == onnx.TensorProto.FLOAT:
            kept[item.name] = onnx.TensorProto()
            kept[item.name].CopyFrom(item)
    return kept


def _give_back(graph: Any, kept: Mapping[str, Any]) -> None:
    """Let operators that stay in float32 read their weights as they were.

    The converter rounds these, too, and casts them back.
    """
    import onnx

    casts = {
        node.output[0]: node.input[0]
        for node in graph.node
        if node.op_type == "Cast" and node.input[0] in kept and node.attribute[0].i == onnx.TensorProto.FLOAT
    }
    keep_items(graph.node, lambda node: node.op_type != "Cast" or node.output[0] not in casts)
    for node in graph.node:
        node.input[:] = [f"{casts[name]}_float32" if name in casts else name for name in node.input]
    read = {name for node in nodes_within(graph) for name in reads(node)} | {value.name for value in graph.output}
    keep_items(graph.initializer, lambda item: item.name not in kept or item.name in read)
    for name in dict.fromkeys(casts.values()):
        kept[name].name = f"{name}_float32"
        graph.initializer.append(kept[name])


def _prepare(graph: Any, types: Collection[str] = (), names: Collection[str] = ()) -> None:
    """Do what the converter leaves undone, so that it makes a valid model.

    It names the casts that it adds after the nodes they lead to, so these need names; it notes float16 for what a Cast
    to float32 makes without changing the Cast; and it overlooks constants that are attributes rather than tensors.
    """
    import onnx

    for index, node in enumerate(graph.node):
        node.name = node.name or f"{node.op_type}_{graph.name}_{index}"
        for attribute in node.attribute:
            if node.op_type in types or node.name in names:
                continue  # it stays as it is
            if node.op_type == "Cast" and attribute.name == "to" and attribute.i == onnx.TensorProto.FLOAT:
                attribute.i = onnx.TensorProto.FLOAT16
            elif node.op_type == "Constant" and attribute.name in {"value_float", "value_floats"}:
                value = np.array(onnx.helper.get_attribute_value(attribute), np.float32)
                attribute.CopyFrom(onnx.helper.make_attribute("value", onnx.numpy_helper.from_array(value)))
        for inner in subgraphs(node):
            _prepare(inner, types, names)
