"""OpenVINO's own files: reading, describing, showing and writing them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from polycmp.errors import ModelError, UsageError
from polycmp.loader import Loader
from polycmp.tensors import ModelDescription, TensorMetadata
from polycmp_openvino.model import OpenvinoModel, ReadModel, import_openvino

#: Element types as the files name them, where NumPy calls them differently.
_TYPES = {
    "boolean": "bool", "f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16",
    "i64": "int64", "i32": "int32", "i16": "int16", "i8": "int8", "i4": "int4",
    "u64": "uint64", "u32": "uint32", "u16": "uint16", "u8": "uint8", "u4": "uint4",
    "fp32": "float32", "fp16": "float16", "fp64": "float64", "string": "string",
    "f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2",
}  # fmt: skip


def make_loader(source: Any, options: None) -> OpenvinoModel:
    """Return the loader of a file, or of the ONNX model that a loader makes.

    Args:
        source: A path, or a loader of ONNX models.
        options: There are none.
    """
    return OpenvinoModel(source)


def describe(source: str, options: None) -> ModelDescription:
    """Return names, types and shapes of inputs and outputs, read from the `.xml` file alone.

    Args:
        source: The file.
        options: There are none.

    Raises:
        ModelError: It is no model of OpenVINO.
    """
    try:
        root = ElementTree.parse(source).getroot()
    except (ElementTree.ParseError, OSError, UnicodeDecodeError) as error:
        raise ModelError("is not a readable XML file", whose=source, why=str(error)) from error
    if root.tag != "net" or root.find("layers") is None:
        raise ModelError(
            "is not a model of OpenVINO", whose=source, why=f"an OpenVINO IR begins with <net>, this with <{root.tag}>"
        )
    layers = {layer.get("id", ""): layer for layer in root.iterfind("layers/layer")}
    feeds = {edge.get("to-layer", ""): edge for edge in root.iterfind("edges/edge")}
    inputs, outputs = TensorMetadata(), TensorMetadata()
    for layer in layers.values():
        if layer.get("type") == "Parameter":
            _add(inputs, layer, layer.find("output/port"))
        elif layer.get("type") == "Result":
            edge = feeds[layer.get("id", "")]
            maker = layers[edge.get("from-layer", "")]
            ports = {port.get("id"): port for port in maker.iterfind("output/port")}
            _add(outputs, maker, ports.get(edge.get("from-port")))
    return ModelDescription(inputs, outputs)


def _add(metadata: TensorMetadata, layer: Any, port: Any) -> None:
    data = layer.find("data")
    names = sorted(name for name in port.get("names", "").replace("\\,", "\0").split(",") if name)
    name = names[0].replace("\0", ",") if names else layer.get("name", "")
    kind = port.get("precision", "").lower() or (data.get("element_type", "") if data is not None else "")
    dims = [int(dim.text or -1) for dim in port.iterfind("dim")]
    metadata.add(name, _TYPES.get(kind), dims)


def inspect(loader: Callable[[], ReadModel], show: Any) -> str:
    """Return the model as text: inputs, outputs, and how many operators of each type it has.

    Args:
        loader: Makes the model.
        show: Parts that the user wants to see; with `layers`, one line for each is added.
    """
    model = loader().model
    lines = [f"OpenVINO model {model.get_friendly_name()!r}", "inputs:"]
    lines += [f"  {port.get_any_name()}: {_typed(port)}" for port in model.inputs]
    lines += ["outputs:", *(f"  {sorted(port.get_names() or {'?'})[0]}: {_typed(port)}" for port in model.outputs)]
    operators = model.get_ordered_ops()
    if "layers" in (show or ()):
        lines.append("operators:")
        lines += [f"  {node.get_type_name()} {node.get_friendly_name()!r}" for node in operators]
        return "\n".join(lines)
    counts = Counter(node.get_type_name() for node in operators)
    lines.append("operators: " + ", ".join(f"{count} {name}" for name, count in counts.most_common()))
    return "\n".join(lines)


def _typed(port: Any) -> str:
    return f"{port.get_element_type().get_type_name()}{port.get_partial_shape().to_string()}"


def save(loader: Loader[Any], path: str) -> None:
    """Write a model as `.xml` with the weights in a `.bin` beside it, in the model's own types.

    Args:
        loader: Makes the model.
        path: The `.xml` file.

    Raises:
        UsageError: The file has another suffix, which OpenVINO would not find again.
    """
    if Path(path).suffix != ".xml":
        raise UsageError(f"OpenVINO writes models as .xml, not {Path(path).name}", hint=f"-o {Path(path).stem}.xml")
    import_openvino().save_model(loader().model, path, compress_to_fp16=False)
