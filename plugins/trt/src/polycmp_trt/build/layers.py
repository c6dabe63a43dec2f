"""Content of a built engine: its layers as TensorRT reports them, and the precisions they actually have."""

from __future__ import annotations

import json
import logging
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from polycmp_trt.features import import_tensorrt
from polycmp_trt.run.context import bare_context, device_memory
from polycmp_trt.run.runtime import noted_errors

if TYPE_CHECKING:
    import tensorrt as trt

_LOG = logging.getLogger("polycmp.trt")
#: TensorRT's spellings of an element type at the end of "Format/Datatype".
_TYPES = re.compile(r"\b(FP32|FP16|BF16|FP8|FP4|INT8|INT4|INT32|INT64|UINT8|BOOL|FLOAT|HALF)\b", re.IGNORECASE)
_SPELLINGS = {"FLOAT": "FP32", "HALF": "FP16"}
#: The same in the names of kernels: `…_gemm_f16f16_f16f16_…`, `…_i8i8_…`, `…_h884cudnn_…`, `FP32FP32NCHW`.
_KERNEL_SPELLINGS = {
    "bf16": "BF16",
    "fp16": "FP16",
    "f16": "FP16",
    "h884": "FP16",
    "h1688": "FP16",
    "h16816": "FP16",
    "int8": "INT8",
    "i8": "INT8",
    "e4m3": "FP8",
    "fp32": "FP32",
    "f32": "FP32",
    "s1688": "FP32",
}
_KERNEL_TYPES = re.compile("[_ ](" + "|".join(_KERNEL_SPELLINGS) + ")")
#: Flags of the builder that allow a precision. Layers are called so, too, but for TF32, which is their float32.
_FLAGS = ("FP16", "BF16", "INT8", "FP8", "TF32")


@dataclass(frozen=True)
class Layer:
    """One layer of an engine.

    Attributes:
        name: Name of the layer; the names of fused layers are joined by TensorRT with ` + `.
        kind: Type of the layer; empty where the engine was built to record only names.
        inputs: Tensor name -> shape and format, as text.
        outputs: Tensor name -> shape and format, as text.
        details: Everything else that TensorRT reports, by key: tactic, origin, parameters.
    """

    name: str
    kind: str = ""
    inputs: Mapping[str, str] = field(default_factory=dict)
    outputs: Mapping[str, str] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def precision(self) -> str:
        """The element type of its first output, or where TensorRT does not report it, the one in its kernel's name."""
        for text in (*self.outputs.values(), *self.inputs.values()):
            if _type_of(text):
                return _type_of(text)
        return _type_of_kernel(str(self.details.get("TacticName", "")))


def _type_of(text: str) -> str:
    matches = _TYPES.findall(text)
    name = matches[-1].upper() if matches else ""
    return _SPELLINGS.get(name, name)


def _type_of_kernel(name: str) -> str:
    match = _KERNEL_TYPES.search(name.lower())
    return _KERNEL_SPELLINGS[match[1]] if match else ""


def loads_loosely(text: str) -> Any:
    """Parse JSON in which TensorRT left control characters or lone backslashes in strings."""
    try:
        return json.loads(text, strict=False)
    except json.JSONDecodeError:
        repaired = re.sub(r'\\(?!["\\/bfnrtu])', r"\\\\", text)
        repaired = re.sub(r"[\x00-\x1f]", " ", repaired)
        return json.loads(repaired, strict=False)


def engine_layers(engine: trt.ICudaEngine, profile: int = 0) -> list[Layer]:
    """Return the layers that an engine has in one optimization profile.

    Args:
        engine: A `tensorrt.ICudaEngine`.
        profile: The profile's index.
    """
    trt = import_tensorrt()
    inspector = engine.create_engine_inspector()
    with noted_errors():
        context = _context_with_shapes(engine, profile)
        if context is not None:  # else TensorRT does not report the types of layers whose shapes are dynamic
            inspector.execution_context = context
        text = inspector.get_engine_information(trt.LayerInformationFormat.JSON)
    try:
        raw = loads_loosely(text).get("Layers", [])
    except (json.JSONDecodeError, AttributeError):
        raw = [
            inspector.get_layer_information(index, trt.LayerInformationFormat.ONELINE).strip()
            for index in range(engine.num_layers)
        ]
    layers = [_layer(item) for item in raw]
    # Where all profiles' layers are listed together, the names of the second and later ones end in a mark.
    marks = {f"[profile {index}]" for index in range(1, engine.num_optimization_profiles)}
    if profile == 0:
        return [layer for layer in layers if not any(layer.name.endswith(mark) for mark in marks)]
    return [layer for layer in layers if layer.name.endswith(f"[profile {profile}]")] or layers


def _context_with_shapes(engine: trt.ICudaEngine, profile: int) -> trt.IExecutionContext | None:
    """Return a context without memory, with the opt shapes of a profile; None where that is impossible."""
    trt = import_tensorrt()
    names = [engine.get_tensor_name(index) for index in range(engine.num_io_tensors)]
    inputs = [name for name in names if engine.get_tensor_mode(name) == trt.TensorIOMode.INPUT]
    if any(engine.get_tensor_location(name) == trt.TensorLocation.HOST for name in inputs):
        return None
    if all(dim >= 0 for name in inputs for dim in tuple(engine.get_tensor_shape(name))):
        return None
    context = bare_context(engine)
    if context is None or context.active_optimization_profile < 0:
        return None
    if profile != context.active_optimization_profile and not context.set_optimization_profile_async(profile, 0):
        return None
    for name in inputs:
        context.set_input_shape(name, tuple(engine.get_tensor_profile_shape(name, profile)[1]))
    context.infer_shapes()
    return context


def _layer(item: object) -> Layer:
    if not isinstance(item, Mapping):
        return Layer(str(item))
    known = {"Name", "LayerType", "Inputs", "Outputs"}
    return Layer(
        str(item.get("Name", "?")),
        str(item.get("LayerType", "")),
        _tensors(item.get("Inputs")),
        _tensors(item.get("Outputs")),
        {key: value for key, value in item.items() if key not in known},
    )


def _tensors(items: Iterable[object] | None) -> dict[str, str]:
    tensors = {}
    for item in items or ():
        if isinstance(item, Mapping):
            dims = item.get("Dimensions", item.get("Shape", "?"))
            tensors[str(item.get("Name", "?"))] = (
                f"{dims} {item.get('Format/Datatype', item.get('Datatype', ''))}".strip()
            )
        else:
            tensors[str(item)] = ""
    return tensors


def precisions(layers: list[Layer]) -> dict[str, int]:
    """Count layers by precision, most frequent first; unknown precisions are left out."""
    return dict(Counter(layer.precision for layer in layers if layer.precision).most_common())


def report_build(
    engine: trt.ICudaEngine, layers: list[Layer], config: trt.IBuilderConfig, size: int, seconds: float
) -> dict[str, int]:
    """Log what was built, and warn of precisions that were allowed but not used.

    Args:
        engine: The `tensorrt.ICudaEngine`.
        layers: Its layers.
        config: The `tensorrt.IBuilderConfig` of the build.
        size: Bytes of the serialised engine.
        seconds: Duration of the build.

    Returns:
        Layers per precision.
    """
    counts = precisions(layers)
    _LOG.info(
        "built in %.1f s: %d layer(s)%s; %.1f MiB on disk, %.1f MiB of device memory for activations",
        seconds,
        len(layers),
        " (" + ", ".join(f"{count} {name}" for name, count in counts.items()) + ")" if counts else "",
        size / 2**20,
        device_memory(engine) / 2**20,
    )
    for name in allowed_precisions(config):
        if counts and name not in counts and name != "TF32":
            _LOG.warning(
                "%s was allowed, but no layer of the engine has it: the builder found other kernels faster%s",
                name.lower(),
                ", or the calibration gave no ranges" if name == "INT8" else "",
            )
    return counts


def allowed_precisions(config: trt.IBuilderConfig) -> list[str]:
    """Return the precisions that a configuration allows besides float32, as the builder's flags are called."""
    members = import_tensorrt().BuilderFlag.__members__
    return [name for name in _FLAGS if name in members and config.get_flag(members[name])]
