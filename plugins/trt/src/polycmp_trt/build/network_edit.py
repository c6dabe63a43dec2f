"""Loaders that change a network: its outputs, precisions, types, formats, debug tensors."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from polycmp.errors import ModelError, describe_exception, did_you_mean
from polycmp.loader import Loader, immediate, resolve
from polycmp.options import is_named, unknown_names
from polycmp_trt.build.network_parts import (
    layer_inputs,
    layer_outputs,
    layers,
    network_inputs,
    network_of,
    network_outputs,
)
from polycmp_trt.features import enum_value, import_tensorrt, require
from polycmp_trt.run.layout import tensorrt_dtype

if TYPE_CHECKING:
    import tensorrt as trt

    from polycmp_trt.types import Network, NetworkSource

_LOG = logging.getLogger("polycmp.trt")
_OPENING = {"RECURRENCE", "ITERATOR", "CONDITIONAL_INPUT"}
_CLOSING = {"LOOP_OUTPUT", "CONDITIONAL_OUTPUT"}
_NOT_MARKED = {"SHAPE", "CONSTANT", "TRIP_LIMIT", "CONDITION"}


class _NetworkLoader(Loader["Network"]):
    """Base of what takes a network, changes it in place, and passes `(builder, network[, parser])` on."""

    network: NetworkSource

    def call_impl(self) -> Network:
        """Return the same tuple after changing the network in place.

        Raises:
            ModelError: A name that was given is not in the network.
            BackendError: This release of TensorRT cannot do it.
        """
        parts: Network = resolve(self.network)
        self._change(network_of(parts))
        return parts

    def _change(self, network: trt.INetworkDefinition) -> None:
        raise NotImplementedError


class PostprocessNetwork(_NetworkLoader):
    """Lets a function change a network.

    Args:
        network: `(builder, network[, parser])` or a callable that returns it.
        func: Called as `func(network=network)`; it changes the network in place.
        name: Name of the function in messages.
    """

    def __init__(self, network: NetworkSource, func: Callable[..., Any], name: str | None = None) -> None:
        self.network = network
        self.func = func
        self.name = name

    def _change(self, network: trt.INetworkDefinition) -> None:
        name = self.name or getattr(self.func, "__name__", repr(self.func))
        _LOG.info("changing the network with %s", name)
        try:
            self.func(network=network)
        except (TypeError, ValueError, AttributeError, KeyError, IndexError, RuntimeError) as error:
            raise ModelError(f"{name} failed on the network", whose="trt", why=describe_exception(error)) from error


class ModifyNetworkOutputs(_NetworkLoader):
    """Chooses which tensors a network returns.

    Args:
        network: `(builder, network[, parser])` or a callable that returns it.
        outputs: Names or patterns to return instead of the network's own outputs; `*` or `mark all` means every
            tensor except constants, shapes, and what is inside loops and conditions.
        exclude_outputs: Names or patterns to leave out.
        mark_layer_types: Return also what layers of these types make, members of `tensorrt.LayerType` or their names.
    """

    def __init__(
        self,
        network: NetworkSource,
        outputs: str | Sequence[str] | None = None,
        exclude_outputs: Sequence[str] | None = None,
        mark_layer_types: Sequence[Any] | None = None,
    ) -> None:
        self.network = network
        self.outputs = outputs
        self.exclude_outputs = exclude_outputs
        self.mark_layer_types = mark_layer_types

    def _change(self, network: trt.INetworkDefinition) -> None:
        tensors = {tensor.name: tensor for layer in layers(network) for tensor in layer_outputs(layer)}
        output_names = self._output_names(network, tensors)
        drop = [tensor for tensor in network_outputs(network) if tensor.name not in output_names]
        present = {tensor.name for tensor in network_outputs(network)}
        for tensor in drop:
            network.unmark_output(tensor)
        for name in output_names:
            if name not in present:
                network.mark_output(tensors[name])
        if not network.num_outputs:
            raise ModelError("no output is left in the network", whose="trt", hint="--trt-outputs NAME...")

    def _output_names(self, network: trt.INetworkDefinition, tensors: Mapping[str, Any]) -> dict[str, None]:
        present = [tensor.name for tensor in network_outputs(network)]
        patterns = [self.outputs] if isinstance(self.outputs, str) else list(self.outputs or [])
        if patterns == ["mark", "all"] or patterns in (["mark all"], ["mark-all"]):
            patterns = ["*"]
        known = {*tensors, *present}
        for name in unknown_names([*patterns, *(self.exclude_outputs or [])], known):
            raise ModelError(f"the network has no tensor {name!r}", whose="trt", why=did_you_mean(name, known))
        markable = markable_tensors(network)
        names = {} if patterns or self.mark_layer_types else dict.fromkeys(present)
        for pattern in patterns:
            chosen = [pattern] if pattern in known else [name for name in markable if is_named(name, [pattern])]
            names.update(dict.fromkeys(chosen))
        if patterns == ["*"]:
            names.update(dict.fromkeys(present))
        names.update(dict.fromkeys(self._by_type(network)))
        return {name: None for name in names if not is_named(name, self.exclude_outputs or [])}

    def _by_type(self, network: trt.INetworkDefinition) -> Iterator[str]:
        kinds = {enum_value("LayerType", kind, "--trt-outputs-by-type") for kind in self.mark_layer_types or ()}
        for layer in layers(network):
            if layer.type in kinds:
                yield from (tensor.name for tensor in layer_outputs(layer))


def is_calculated(layer: trt.ILayer) -> bool:
    """Return whether a layer calculates real numbers, so that a precision can be asked of it."""
    kinds = import_tensorrt().DataType
    types = [tensor.dtype for tensor in layer_outputs(layer)]
    fixed = {*_OPENING, *_CLOSING, *_NOT_MARKED, "CAST", "IDENTITY", "QUANTIZE", "DEQUANTIZE"}
    return bool(types) and layer.type.name not in fixed and all(kind in {kinds.FLOAT, kinds.HALF} for kind in types)


def markable_tensors(network: trt.INetworkDefinition) -> list[str]:
    """Return the tensors that may become outputs: not constants or shapes, nothing inside a loop or a condition."""
    inside: set[str] = set()
    names = []
    for layer in layers(network):
        kind = layer.type.name
        is_inside = kind in _OPENING or (
            kind not in _CLOSING and any(tensor.name in inside for tensor in layer_inputs(layer))
        )
        outputs = [tensor.name for tensor in layer_outputs(layer)]
        if is_inside:
            inside.update(outputs)
        elif kind not in _NOT_MARKED:
            names.extend(outputs)
    return names


class SetLayerPrecisions(_NetworkLoader):
    """Asks for precisions of layers; `--precision-constraints` says how binding that is.

    A layer that calculates in float32 hands its result on in float32, too: where only the calculation is asked for, the
    builder of TensorRT 8.6 has no kernel for operators that it fuses, and float16 would cut the result off.

    Args:
        network: `(builder, network[, parser])` or a callable that returns it.
        layer_precisions: Layer name -> member of `tensorrt.DataType`, or a type's name.
    """

    def __init__(self, network: NetworkSource, layer_precisions: Mapping[str, Any]) -> None:
        self.network = network
        self.layer_precisions = layer_precisions

    def _change(self, network: trt.INetworkDefinition) -> None:
        require("layer_precision", "--layer-precisions")
        # The parser gives a weight's layer the weight's name, and a node of that name another one.
        calculating = [layer for layer in layers(network) if layer.type.name != "CONSTANT"]
        names = {layer.name for layer in calculating}
        for name in unknown_names(self.layer_precisions, names):
            _LOG.warning("no layer %r to set a precision for: %s", name, did_you_mean(name, names))
        for pattern, dtype in self.layer_precisions.items():
            for layer in calculating:
                if is_named(layer.name, [pattern]):
                    layer.precision = tensorrt_dtype(dtype)
        float32 = import_tensorrt().DataType.FLOAT
        boundary = {tensor.name for tensor in network_outputs(network)}  # --tensor-dtypes sets their types
        for layer in calculating:
            if layer.precision_is_set and layer.precision == float32 and is_calculated(layer):
                for index in range(layer.num_outputs):
                    if layer.get_output(index).name not in boundary:
                        layer.set_output_type(index, float32)


class SetDecomposableAttentions(_NetworkLoader):
    """Lets the builder take attention layers apart where no fused kernel fits.

    Args:
        network: `(builder, network[, parser])` or a callable that returns it.
    """

    def __init__(self, network: NetworkSource) -> None:
        self.network = network

    def _change(self, network: trt.INetworkDefinition) -> None:
        require("decomposable_attention", "--decomposable-attentions")
        kinds = import_tensorrt().LayerType
        for layer in layers(network):
            if layer.type in {kinds.ATTENTION_INPUT, kinds.ATTENTION_OUTPUT}:
                layer.attention.decomposable = True


def _boundary_tensors(network: trt.INetworkDefinition, names: Iterable[str], option: str) -> dict[str, Any]:
    tensors = {tensor.name: tensor for tensor in (*network_inputs(network), *network_outputs(network))}
    for name in unknown_names(names, tensors):
        raise ModelError(
            f"{option}: {name!r} is neither an input nor an output", whose="trt", why=did_you_mean(name, tensors)
        )
    return tensors


class SetTensorDatatypes(_NetworkLoader):
    """Sets element types of inputs and outputs.

    Args:
        network: `(builder, network[, parser])` or a callable that returns it.
        tensor_datatypes: Tensor name or pattern -> member of `tensorrt.DataType`, or a type's name; the last match
            counts.
    """

    def __init__(self, network: NetworkSource, tensor_datatypes: Mapping[str, Any]) -> None:
        self.network = network
        self.tensor_datatypes = tensor_datatypes

    def _change(self, network: trt.INetworkDefinition) -> None:
        require("tensor_dtype", "--tensor-dtypes")
        tensors = _boundary_tensors(network, self.tensor_datatypes, "--tensor-dtypes")
        for pattern, dtype in self.tensor_datatypes.items():
            for name, tensor in tensors.items():
                if is_named(name, [pattern]):
                    tensor.dtype = tensorrt_dtype(dtype)


class SetTensorFormats(_NetworkLoader):
    """Sets the memory formats that inputs and outputs may have.

    Args:
        network: `(builder, network[, parser])` or a callable that returns it.
        tensor_formats: Tensor name or pattern -> list of members of `tensorrt.TensorFormat`, or their names.
    """

    def __init__(self, network: NetworkSource, tensor_formats: Mapping[str, Sequence[Any]]) -> None:
        self.network = network
        self.tensor_formats = tensor_formats

    def _change(self, network: trt.INetworkDefinition) -> None:
        tensors = _boundary_tensors(network, self.tensor_formats, "--tensor-formats")
        for pattern, formats in self.tensor_formats.items():
            mask = 0
            for item in formats:
                mask |= 1 << int(enum_value("TensorFormat", item, "--tensor-formats"))
            for name, tensor in tensors.items():
                if is_named(name, [pattern]):
                    tensor.allowed_formats = mask


class MarkDebug(_NetworkLoader):
    """Marks tensors as debug tensors, which a runner then returns besides the outputs.

    Args:
        network: `(builder, network[, parser])` or a callable that returns it.
        mark_debug: Names or patterns of tensors.
    """

    def __init__(self, network: NetworkSource, mark_debug: Sequence[str]) -> None:
        self.network = network
        self.mark_debug = mark_debug

    def _change(self, network: trt.INetworkDefinition) -> None:
        require("debug_tensors", "--mark-debug")
        tensors = {tensor.name: tensor for layer in layers(network) for tensor in layer_outputs(layer)}
        tensors.update((tensor.name, tensor) for tensor in network_inputs(network))
        for name in unknown_names(self.mark_debug, tensors):
            raise ModelError(f"the network has no tensor {name!r}", whose="trt", why=did_you_mean(name, tensors))
        for name, tensor in tensors.items():
            if is_named(name, self.mark_debug):
                network.mark_debug(tensor)


mark_debug = immediate(MarkDebug)
modify_network_outputs = immediate(ModifyNetworkOutputs)
postprocess_network = immediate(PostprocessNetwork)
set_decomposable_attentions = immediate(SetDecomposableAttentions)
set_layer_precisions = immediate(SetLayerPrecisions)
set_tensor_datatypes = immediate(SetTensorDatatypes)
set_tensor_formats = immediate(SetTensorFormats)
