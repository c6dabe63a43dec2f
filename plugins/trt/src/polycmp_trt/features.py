"""Features of the installed TensorRT: the only place that knows that releases differ.

Every query looks for names in the module itself (`BuilderFlag.FP16`, `OnnxParser.supports_model_v2`), never at a
version number, so an unknown release is judged by what it has. Queries take the module, or import it.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from polycmp.errors import BackendError, PluginError, UsageError, describe_exception, did_you_mean

if TYPE_CHECKING:
    from types import ModuleType

__all__ = [
    "FEATURES",
    "Feature",
    "enum_names",
    "enum_value",
    "enum_values",
    "has",
    "has_builder_flag",
    "import_tensorrt",
    "release",
    "require",
    "supports",
]

_CONVERTED = (
    "the plugin converts the ONNX model instead and builds it strongly typed; a network script must do so itself"
)
_TYPED_MODEL = "give the model the types you want (polycmp convert --fp-to-fp16, or Q/DQ nodes) and build that"


@dataclass(frozen=True)
class Feature:
    """Something that some releases of TensorRT have.

    Attributes:
        needs: Dotted names inside the module, all of which must exist; a trailing `=` asks that a property be settable.
        instead: The alternative on a release without it, in words.
        replaces: Older names that the plugin uses only on releases without the feature.
    """

    needs: tuple[str, ...]
    instead: str
    replaces: tuple[str, ...] = ()


def _feature(*needs: str, instead: str, replaces: tuple[str, ...] = ()) -> Feature:
    return Feature(needs, instead, replaces)


_UPGRADE = "install a newer TensorRT, or leave the option out"
_LEAVE_OUT = "leave the option out"

FEATURES: dict[str, Feature] = {
    # Precisions and types
    "tf32": _feature("BuilderFlag.TF32", instead=_LEAVE_OUT),
    "fp16": _feature("BuilderFlag.FP16", instead=_CONVERTED),
    "bf16": _feature("BuilderFlag.BF16", instead=_CONVERTED),
    "int8": _feature("BuilderFlag.INT8", instead=_CONVERTED),
    "fp8": _feature("BuilderFlag.FP8", instead="quantise the model to FP8 with explicit Q/DQ nodes and build that"),
    "calibrator": _feature(
        "IInt8Calibrator",
        "IBuilderConfig.int8_calibrator",
        "CalibrationAlgoType",
        instead="use --trt-int8 with a data loader on an ONNX model: it is quantised with Q/DQ nodes",
    ),
    "calibration_profile": _feature(
        "IBuilderConfig.set_calibration_profile", instead="quantise the model with Q/DQ nodes"
    ),
    "precision_constraints": _feature(
        "BuilderFlag.OBEY_PRECISION_CONSTRAINTS", "BuilderFlag.PREFER_PRECISION_CONSTRAINTS", instead=_TYPED_MODEL
    ),
    "layer_precision": _feature(
        "ILayer.precision=", "ILayer.precision_is_set", "ILayer.set_output_type", instead=_TYPED_MODEL
    ),
    "reset_precision": _feature("ILayer.reset_precision", instead=_TYPED_MODEL),
    "tensor_dtype": _feature("ITensor.dtype=", instead=_TYPED_MODEL),
    "quantization_flags": _feature(
        "QuantizationFlag",
        "IBuilderConfig.set_quantization_flag",
        "IBuilderConfig.clear_quantization_flag",
        instead="quantise the model with Q/DQ nodes; the flag only steered implicit quantisation",
    ),
    "strongly_typed": _feature(
        "NetworkDefinitionCreationFlag.STRONGLY_TYPED",
        instead="leave the option out and say the precision with --trt-fp16 or --trt-int8",
    ),
    "explicit_batch": _feature(
        "NetworkDefinitionCreationFlag.EXPLICIT_BATCH", instead="nothing: networks are always explicit-batch"
    ),
    # Building
    "algorithm_selector": _feature(
        "IAlgorithmSelector",
        "IAlgorithm",
        "IAlgorithmContext",
        "IAlgorithmIOInfo",
        "IBuilderConfig.algorithm_selector",
        instead="keep tactics with a timing cache: --trt-timing-cache FILE, then --trt-error-on-timing-cache-miss",
    ),
    "safety_restricted": _feature("BuilderFlag.SAFETY_SCOPE", instead=_LEAVE_OUT),
    "sparse_weights": _feature("BuilderFlag.SPARSE_WEIGHTS", instead=_LEAVE_OUT),
    "refittable": _feature("BuilderFlag.REFIT", instead=_LEAVE_OUT),
    "refitter": _feature(
        "Refitter.set_named_weights",
        "Refitter.get_all_weights",
        "Refitter.get_missing_weights",
        "Refitter.refit_cuda_engine",
        instead="build the engine from the other model",
    ),
    "parser_refitter": _feature(
        "OnnxParserRefitter", "OnnxParserRefitter.refit_from_file", instead="its weights are set by their names"
    ),
    "strip_plan": _feature("BuilderFlag.STRIP_PLAN", instead=_UPGRADE),
    "direct_io": _feature("BuilderFlag.DIRECT_IO", instead=_LEAVE_OUT),
    "version_compatible": _feature("BuilderFlag.VERSION_COMPATIBLE", instead=_UPGRADE),
    "exclude_lean_runtime": _feature("BuilderFlag.EXCLUDE_LEAN_RUNTIME", instead=_UPGRADE),
    "error_on_timing_cache_miss": _feature("BuilderFlag.ERROR_ON_TIMING_CACHE_MISS", instead=_UPGRADE),
    "disable_compilation_cache": _feature("BuilderFlag.DISABLE_COMPILATION_CACHE", instead=_UPGRADE),
    "gpu_fallback": _feature("BuilderFlag.GPU_FALLBACK", instead=_LEAVE_OUT),
    "memory_pools": _feature("MemoryPoolType", "IBuilderConfig.set_memory_pool_limit", instead=_UPGRADE),
    "tactic_sources": _feature("TacticSource", "IBuilderConfig.set_tactic_sources", instead=_LEAVE_OUT),
    "preview_features": _feature("PreviewFeature", "IBuilderConfig.set_preview_feature", instead=_LEAVE_OUT),
    "builder_optimization_level": _feature("IBuilderConfig.builder_optimization_level", instead=_UPGRADE),
    "hardware_compatibility_level": _feature(
        "HardwareCompatibilityLevel", "IBuilderConfig.hardware_compatibility_level", instead=_UPGRADE
    ),
    "max_aux_streams": _feature("IBuilderConfig.max_aux_streams", instead=_UPGRADE),
    "profiling_verbosity": _feature("ProfilingVerbosity", "IBuilderConfig.profiling_verbosity", instead=_LEAVE_OUT),
    "runtime_platform": _feature("RuntimePlatform", "IBuilderConfig.runtime_platform", instead=_UPGRADE),
    "engine_capability": _feature("EngineCapability", "IBuilderConfig.engine_capability", instead=_LEAVE_OUT),
    "tiling_optimization_level": _feature(
        "TilingOptimizationLevel", "IBuilderConfig.tiling_optimization_level", instead=_UPGRADE
    ),
    "progress_monitor": _feature("IProgressMonitor", "IBuilderConfig.progress_monitor", instead=_UPGRADE),
    "is_network_supported": _feature("Builder.is_network_supported", instead=_UPGRADE),
    # Parsing and networks
    "native_instancenorm": _feature("OnnxParserFlag.NATIVE_INSTANCENORM", instead=_LEAVE_OUT),
    "uint8_asymmetric_quantization_dla": _feature(
        "OnnxParserFlag.ENABLE_UINT8_AND_ASYMMETRIC_QUANTIZATION_DLA", instead=_UPGRADE
    ),
    "parser_builder_config": _feature("OnnxParser.set_builder_config", instead=_UPGRADE),
    "parser_error_nodes": _feature("ParserError.node_name", "ParserError.node_operator", instead=_UPGRADE),
    "parser_error_functions": _feature("ParserError.local_function_stack", instead=_UPGRADE),
    "parser_subgraphs": _feature(
        "OnnxParser.supports_model_v2",
        "OnnxParser.num_subgraphs",
        "OnnxParser.get_subgraph_nodes",
        "OnnxParser.is_subgraph_supported",
        instead=_UPGRADE,
    ),
    "parser_supports_model": _feature("OnnxParser.supports_model", instead="supports_model_v2"),
    "debug_tensors": _feature(
        "INetworkDefinition.mark_debug",
        "IDebugListener",
        "IExecutionContext.set_debug_listener",
        "IExecutionContext.set_all_tensors_debug_state",
        instead="mark the tensors as outputs with --trt-outputs",
    ),
    "unfused_debug_tensors": _feature(
        "INetworkDefinition.mark_unfused_tensors_as_debug_tensors",
        instead="mark the tensors as outputs with --trt-outputs",
    ),
    "decomposable_attention": _feature("IAttention.decomposable", "IAttentionInputLayer.attention", instead=_UPGRADE),
    # Engines and running
    "host_code": _feature("Runtime.engine_host_code_allowed", instead=_UPGRADE),
    "load_runtime": _feature("Runtime.load_runtime", instead=_UPGRADE),
    "stream_reader_v2": _feature("IStreamReaderV2", "SeekPosition", instead="read the engine into memory"),
    "stream_reader": _feature("IStreamReader", instead="read the engine into memory"),
    "weight_streaming": _feature("BuilderFlag.WEIGHT_STREAMING", instead=_UPGRADE),
    "weight_streaming_budget": _feature(
        "ICudaEngine.weight_streaming_budget_v2",
        "ICudaEngine.streamable_weights_size",
        "ICudaEngine.get_weight_streaming_automatic_budget",
        instead="install a newer TensorRT; this one keeps all weights on the device",
    ),
    "allocation_strategy": _feature(
        "ExecutionContextAllocationStrategy",
        instead="install a newer TensorRT; this one always allocates for the largest profile",
    ),
    "device_memory_v2": _feature(
        "ICudaEngine.device_memory_size_v2", replaces=("ICudaEngine.device_memory_size",), instead=_UPGRADE
    ),
    "device_memory_per_profile": _feature("ICudaEngine.get_device_memory_size_for_profile_v2", instead=_UPGRADE),
    "aliased_io": _feature("ICudaEngine.get_aliased_input_tensor", instead=_UPGRADE),
    "profile_values": _feature(
        "ICudaEngine.get_tensor_profile_values", replaces=("ICudaEngine.get_profile_shape_input",), instead=_UPGRADE
    ),
    "dla_workspace_allocation_strategy": _feature(
        "DLAWorkspaceAllocationStrategy", "Runtime.dla_workspace_allocation_strategy", instead=_UPGRADE
    ),
}

#: Members of enumerations that some releases have and others do not -> what to do without them.
_RETIRED: dict[str, str] = {
    "TacticSource.CUBLAS": "leave it out: this release has its own kernels and calls no cuBLAS",
    "TacticSource.CUBLAS_LT": "leave it out: this release has its own kernels and calls no cuBLAS",
    "TacticSource.CUDNN": "leave it out: this release has its own kernels and calls no cuDNN",
    "PreviewFeature.PROFILE_SHARING_0806": "leave it out: sharing profiles is always on",
    "PreviewFeature.FASTER_DYNAMIC_SHAPES_0805": "leave it out: it is always on",
    "PreviewFeature.DISABLE_EXTERNAL_TACTIC_SOURCES_FOR_CORE_0805": "choose the sources with --trt-tactic-sources",
    "QuantizationFlag.CALIBRATE_BEFORE_FUSION": "quantise the model with Q/DQ nodes",
    "MemoryPoolType.TACTIC_SHARED_MEMORY": _UPGRADE,
    "HardwareCompatibilityLevel.SAME_COMPUTE_CAPABILITY": _UPGRADE,
}


def import_tensorrt() -> ModuleType:
    """Return the TensorRT module.

    Raises:
        PluginError: It is not installed, or its libraries cannot be loaded.
    """
    try:
        return importlib.import_module("tensorrt")
    except ModuleNotFoundError as error:
        raise PluginError(
            "TensorRT is not installed",
            whose="polycmp-trt",
            why=describe_exception(error),
            hint="pip install 'polycmp-trt[cu12]', or [cu13] for a CUDA 13 driver",
        ) from error
    except (ImportError, OSError) as error:
        raise PluginError(
            "TensorRT is installed but cannot be loaded",
            whose="polycmp-trt",
            why=describe_exception(error),
            hint="check that its libraries are on LD_LIBRARY_PATH: python -c 'import tensorrt'",
        ) from error


def release(trt: ModuleType | None = None) -> str:
    """Return the release as text, for messages only."""
    return str(getattr(trt or import_tensorrt(), "__version__", "?"))


def has(name: str, trt: ModuleType | None = None) -> bool:
    """Return whether the release has a dotted name; with a trailing `=`, a property that can be set."""
    value: Any = trt or import_tensorrt()
    for part in name.removesuffix("=").split("."):
        if not hasattr(value, part):
            return False
        value = getattr(value, part)
    return not name.endswith("=") or getattr(value, "fset", None) is not None


def has_builder_flag(name: str) -> bool:
    """Return whether `BuilderFlag` has a member of this name, in any case."""
    return has(f"BuilderFlag.{name.upper()}")


def supports(feature: str, trt: ModuleType | None = None) -> bool:
    """Return whether the release has a feature of the table `FEATURES`."""
    module = trt or import_tensorrt()
    return all(has(name, module) for name in FEATURES[feature].needs)


def require(feature: str, option: str, trt: ModuleType | None = None) -> None:
    """Raise an error for an option that the release does not support.

    Args:
        feature: A key of `FEATURES`.
        option: The option, as the user typed it or as the argument is called.
        trt: The TensorRT module.

    Raises:
        BackendError: The release lacks the feature; the text says what to do instead.
    """
    module = trt or import_tensorrt()
    missing = [name.removesuffix("=") for name in FEATURES[feature].needs if not has(name, module)]
    if missing:
        raise BackendError(
            f"TensorRT {release(module)} cannot do {option}",
            whose="trt",
            why=f"this release has no {missing[0]}",
            hint=FEATURES[feature].instead,
        )


def enum_names(enum: str) -> tuple[str, ...]:
    """Return the members of an enumeration; none if the release lacks it."""
    return tuple(getattr(getattr(import_tensorrt(), enum, None), "__members__", {}))


def enum_value(enum: str, text: Any, option: str, trt: ModuleType | None = None) -> Any:
    """Return the member that a text names, in any case; a member itself is returned as it is.

    Args:
        enum: Name of the enumeration, for example `TacticSource`.
        text: Name of the member, or the member.
        option: The option it was typed for.
        trt: The TensorRT module.

    Raises:
        BackendError: The release lacks the enumeration, or a member that other releases have.
        UsageError: There is no such member.
    """
    module = trt or import_tensorrt()
    if not isinstance(text, str):
        return text
    members = getattr(getattr(module, enum, None), "__members__", {})
    name = text.strip().upper()
    if name in members:
        return members[name]
    if not members:
        raise BackendError(
            f"TensorRT {release(module)} cannot do {option}", whose="trt", why=f"no {enum} here", hint=_LEAVE_OUT
        )
    if f"{enum}.{name}" in _RETIRED:
        raise BackendError(
            f"TensorRT {release(module)} has no {enum} {text!r}", whose=option, hint=_RETIRED[f"{enum}.{name}"]
        )
    known = [member.lower() for member in members]
    raise UsageError(f"{text!r} is no {enum}", whose=option, why=did_you_mean(text.lower(), known))


def enum_values(enum: str, texts: Iterable[Any], option: str, trt: ModuleType | None = None) -> list[Any]:
    """Return the members that texts name; see `enum_value`."""
    return [enum_value(enum, text, option, trt) for text in texts]
