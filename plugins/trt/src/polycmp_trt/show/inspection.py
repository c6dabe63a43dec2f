"""Engines and networks as text, for `inspect model`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from polycmp.errors import UsageError, did_you_mean
from polycmp.sentences import counted
from polycmp.tensors import TensorEntry, dtype_name, format_shape
from polycmp.terminal import visible
from polycmp_trt.build.layers import Layer, engine_layers, precisions
from polycmp_trt.build.network_parts import (
    layer_inputs,
    layer_outputs,
    layers,
    network_inputs,
    network_of,
    network_outputs,
)
from polycmp_trt.features import import_tensorrt, supports
from polycmp_trt.run.context import device_memory
from polycmp_trt.run.feeding import profile_values
from polycmp_trt.run.layout import numpy_dtype

if TYPE_CHECKING:
    import tensorrt as trt

_SHOW = ("layers", "attrs", "weights")
#: Attributes of all layers, which do not characterise one.
_COMMON = {"name", "type", "num_inputs", "num_outputs", "num_ranks", "metadata", "precision", "precision_is_set"}


def _parts(show: Iterable[str], what: str) -> set[str]:
    parts = set(show)
    for part in parts - set(_SHOW):
        raise UsageError(f"--show {part!r} is not offered for {what}", why=did_you_mean(part, _SHOW))
    return parts


def inspect_engine(loader: Callable[[], Any], show: Iterable[str] = ()) -> str:
    """Return an engine as text: inputs, outputs, memory, the range of each profile, layers per precision.

    Args:
        loader: A callable that returns a `tensorrt.ICudaEngine`.
        show: Further parts: "layers" for the layers of each profile, "attrs" for their tactics and parameters too;
            "weights" adds nothing, since the weights of an engine cannot be read.

    Raises:
        UsageError: There is no such part.
    """
    parts = _parts(show, "TensorRT engines")
    engine = loader()
    profiles = engine.num_optimization_profiles
    names = [engine.get_tensor_name(index) for index in range(engine.num_io_tensors)]
    inputs, outputs = _split(engine, names)
    lines = ["TensorRT engine", f"  Name: {engine.name or '(none)'}"]
    for noun, group in (("Input", inputs), ("Output", outputs)):
        lines.append(f"  {counted(len(group), noun)}")
        lines += [f"    {_engine_tensor(engine, name)}" for name in group]
    lines += _engine_facts(engine)
    lines.append(f"  {counted(profiles, 'Optimization profile')}")
    for profile in range(profiles):
        lines.append(f"    Profile {profile}")
        lines += [f"      {_range(engine, profile, name)}" for name in inputs]
    for profile in range(profiles):
        profile_layers = engine_layers(engine, profile)
        place = f" in profile {profile}" if profiles > 1 else ""
        lines.append(f"  {counted(len(profile_layers), 'Layer')}{place}{_precisions(profile_layers)}")
        if parts & {"layers", "attrs"}:
            lines += _engine_layers(profile_layers, "attrs" in parts)
    return "\n".join(map(visible, lines))


def _split(engine: trt.ICudaEngine, names: list[str]) -> tuple[list[str], list[str]]:
    mode = import_tensorrt().TensorIOMode
    inputs = [name for name in names if engine.get_tensor_mode(name) == mode.INPUT]
    return inputs, [name for name in names if name not in inputs]


def _engine_tensor(engine: trt.ICudaEngine, name: str) -> str:
    trt = import_tensorrt()
    entry = TensorEntry(numpy_dtype(engine.get_tensor_dtype(name)), tuple(engine.get_tensor_shape(name)))
    notes = []
    form = engine.get_tensor_format(name)
    if form != trt.TensorFormat.LINEAR:
        notes.append(form.name)
    if engine.get_tensor_location(name) == trt.TensorLocation.HOST:
        notes.append("shape tensor, read on the host")
    return f"{name}: {entry}" + (f" ({', '.join(notes)})" if notes else "")


def _engine_facts(engine: trt.ICudaEngine) -> list[str]:
    facts = [f"  Device memory: {device_memory(engine)} bytes"]
    if supports("weight_streaming_budget") and engine.streamable_weights_size:
        facts.append(f"  Weights that can be streamed: {engine.streamable_weights_size} bytes")
    if engine.refittable:
        facts.append("  Refittable")
    return facts


def _range(engine: trt.ICudaEngine, profile: int, name: str) -> str:
    values = []
    if engine.get_tensor_location(name) == import_tensorrt().TensorLocation.HOST:
        values = profile_values(engine, profile, name)
    shapes = values or engine.get_tensor_profile_shape(name, profile)
    if not shapes:
        return f"{name}: not given"
    low, best, high = (format_shape(tuple(shape)) for shape in shapes)
    return f"{name}: min={low}, opt={best}, max={high}" + (" (values)" if values else "")


def _precisions(items: list[Layer]) -> str:
    counts = precisions(items)
    return ": " + ", ".join(f"{count} {name}" for name, count in counts.items()) if counts else ""


def _engine_layers(items: list[Layer], details: bool) -> Iterator[str]:
    for index, layer in enumerate(items):
        yield f"    Layer {index} | {layer.name}" + (f" [{layer.kind}]" if layer.kind else "")
        for arrow, tensors in (("<-", layer.inputs), ("->", layer.outputs)):
            yield from (f"      {arrow} {name}: {text}" for name, text in tensors.items())
        if details:
            yield from (f"      {key} = {_short(value)}" for key, value in layer.details.items())


def _short(value: object, limit: int = 160) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= limit else f"{text[:limit]}…"


def inspect_network(loader: Callable[[], Any], show: Iterable[str] = ()) -> str:
    """Return a network as text: inputs, outputs, and its layers by type.

    Args:
        loader: A callable that returns `(builder, network[, parser])`.
        show: Further parts: "layers" for each layer, "attrs" for their parameters too, "weights" for the weights.

    Raises:
        UsageError: There is no such part.
    """
    parts = _parts(show, "TensorRT networks")
    network_source = loader()
    network = network_of(network_source)
    lines = ["TensorRT network", f"  Name: {network.name or '(none)'}"]
    for noun, tensors in (("Input", network_inputs(network)), ("Output", network_outputs(network))):
        lines.append(f"  {counted(len(tensors), noun)}")
        lines += [f"    {_tensor(tensor)}" for tensor in tensors]
    kinds: dict[str, int] = {}
    for layer in layers(network):
        kinds[layer.type.name] = kinds.get(layer.type.name, 0) + 1
    summary = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items(), key=lambda item: (-item[1], item)))
    lines.append(f"  {counted(network.num_layers, 'Layer')}: {summary or 'none'}")
    if parts:
        lines += _network_layers(network, parts)
    return "\n".join(map(visible, lines))


def _tensor(tensor: trt.ITensor) -> str:
    try:
        shape: tuple[int, ...] | None = tuple(tensor.shape)
    except ValueError:  # a rank that TensorRT does not know yet has a negative length
        shape = None
    return f"{tensor.name}: {dtype_name(numpy_dtype(tensor.dtype))}{format_shape(shape)}"


def _network_layers(network: trt.INetworkDefinition, parts: set[str]) -> Iterator[str]:
    for index, layer in enumerate(layers(network)):
        if parts & {"layers", "attrs"}:
            yield f"    Layer {index} | {layer.name} [{layer.type.name}]"
            yield from (f"      <- {_tensor(tensor)}" for tensor in layer_inputs(layer))
            yield from (f"      -> {_tensor(tensor)}" for tensor in layer_outputs(layer))
        if parts & {"attrs", "weights"}:
            attributes = layer_attributes(layer)
            for name, value in attributes.items():
                is_weight = isinstance(value, np.ndarray)
                if is_weight and "weights" in parts:
                    yield f"      {layer.name}.{name} = {_weights(value)}"
                elif not is_weight and "attrs" in parts:
                    yield f"      {name} = {_short(value)}"


def _weights(value: np.ndarray[Any, Any]) -> str:
    with np.printoptions(precision=5, threshold=24, edgeitems=3):
        return f"{dtype_name(value.dtype)}{format_shape(value.shape)} {' '.join(str(value).split())}"


def layer_attributes(layer: trt.ILayer) -> Mapping[str, Any]:
    """Return the parameters of a layer by name, weights as NumPy arrays.

    TensorRT shows every layer through the common base class; its own class is found by its type.
    """
    special = _special_class(layer.type.name)
    if special is None:
        return {}
    before = layer.__class__
    layer.__class__ = special
    try:
        return dict(_read_attributes(layer))
    finally:
        layer.__class__ = before


def _special_class(kind: str) -> type[trt.ILayer] | None:
    trt = import_tensorrt()
    class_name = kind.replace("_", "").lower()
    aliases = {"gridsample": "igridsamplelayer", "onehot": "ionehotlayer", "slice": "islicelayer"}
    class_name = aliases.get(class_name, f"i{class_name}layer")
    names = {name.lower(): name for name in dir(trt) if name.startswith("I") and name.endswith("Layer")}
    return getattr(trt, names[class_name]) if class_name in names else None


def _read_attributes(layer: trt.ILayer) -> Iterator[tuple[str, Any]]:
    for name in dir(type(layer)):
        if name.startswith("_") or name in _COMMON or not isinstance(getattr(type(layer), name, None), property):
            continue
        try:
            value = getattr(layer, name)
        except (RuntimeError, TypeError, ValueError):  # not every parameter applies to every variant of a layer
            continue
        yield name, getattr(value, "name", value) if not isinstance(value, np.ndarray) else value
