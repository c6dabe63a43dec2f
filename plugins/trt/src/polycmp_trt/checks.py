"""Names among the options, checked against the installed TensorRT before anything is built."""

from __future__ import annotations

from polycmp.errors import PluginError
from polycmp_trt.features import enum_values, import_tensorrt, require
from polycmp_trt.options import Options

__all__ = ["check_names"]

#: Option -> the enumeration whose members it names.
_NAMES = {
    "tactic_sources": "TacticSource",
    "preview_features": "PreviewFeature",
    "quantization_flags": "QuantizationFlag",
    "hardware_compatibility_level": "HardwareCompatibilityLevel",
    "runtime_platform": "RuntimePlatform",
    "engine_capability": "EngineCapability",
    "tiling_optimization_level": "TilingOptimizationLevel",
    "profiling_verbosity": "ProfilingVerbosity",
    "pool_limit": "MemoryPoolType",
    "onnx_flags": "OnnxParserFlag",
    "all_tensor_formats": "TensorFormat",
    "outputs_by_type": "LayerType",
    "dla_workspace_allocation_strategy": "DLAWorkspaceAllocationStrategy",
}

#: Switches without a flag of the builder -> the feature they need.
_FEATURES = {
    "layer_precisions": "layer_precision",
    "tensor_dtypes": "tensor_dtype",
    "all_tensor_dtypes": "tensor_dtype",
    "save_tactics": "algorithm_selector",
    "load_tactics": "algorithm_selector",
    "mark_debug": "debug_tensors",
    "mark_unfused_tensors_as_debug_tensors": "unfused_debug_tensors",
    "decomposable_attentions": "decomposable_attention",
    "load_runtime": "load_runtime",
    "weight_streaming": "weight_streaming",
    "refit": "refitter",
    "strongly_typed": "strongly_typed",
    "strip_plan": "strip_plan",
    "error_on_timing_cache_miss": "error_on_timing_cache_miss",
    "disable_compilation_cache": "disable_compilation_cache",
    "version_compatible": "version_compatible",
}


def check_names(options: Options) -> None:
    """Refuse names that are no members of TensorRT's enumerations, and switches that this release lacks.

    TensorRT is imported only if an option is given that has to be checked.

    Raises:
        UsageError: A name is no member of the enumeration.
        BackendError: This release lacks what an option asks for; the text says what to do instead.
    """
    default = Options()
    changed = {name for name in (*_NAMES, *_FEATURES) if getattr(options, name) != getattr(default, name)}
    if options.constraints != "none":
        changed.add("precision_constraints")
    if not changed:
        return
    try:
        trt = import_tensorrt()
    except PluginError:  # activating the runner raises this error
        return
    for name in sorted(changed):
        flag = f"--trt-{name.replace('_', '-')}"
        if name in _NAMES:
            value = getattr(options, name)
            enum_values(_NAMES[name], (value,) if isinstance(value, str) else tuple(value), flag, trt)
        else:
            require(_FEATURES.get(name, name), flag, trt)
