"""Builder configurations: every switch of the builder, from Python or from options."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from polycmp.errors import BackendError, UsageError, describe_exception
from polycmp.loader import Loader, resolve
from polycmp.tensors import TensorMetadata
from polycmp_trt.build.network_parts import is_dynamic, network_inputs
from polycmp_trt.build.profile import Profile
from polycmp_trt.build.timing_cache import use_timing_cache
from polycmp_trt.features import enum_value, enum_values, import_tensorrt, require, supports

if TYPE_CHECKING:
    from types import ModuleType

    import tensorrt as trt

    from polycmp_trt.types import ConfigSource, FileLike

__all__ = ["CreateConfig", "PostprocessConfig", "create_config", "postprocess_config"]

_LOG = logging.getLogger("polycmp.trt")

#: Switches of `CreateConfig` -> the flag of the builder, and what the feature is called in `features.FEATURES`.
_FLAGS = {
    "tf32": ("TF32", "tf32"),
    "fp16": ("FP16", "fp16"),
    "bf16": ("BF16", "bf16"),
    "fp8": ("FP8", "fp8"),
    "int8": ("INT8", "int8"),
    "sparse_weights": ("SPARSE_WEIGHTS", "sparse_weights"),
    "version_compatible": ("VERSION_COMPATIBLE", "version_compatible"),
    "exclude_lean_runtime": ("EXCLUDE_LEAN_RUNTIME", "exclude_lean_runtime"),
    "restricted": ("SAFETY_SCOPE", "safety_restricted"),
    "refittable": ("REFIT", "refittable"),
    "strip_plan": ("STRIP_PLAN", "strip_plan"),
    "allow_gpu_fallback": ("GPU_FALLBACK", "gpu_fallback"),
    "direct_io": ("DIRECT_IO", "direct_io"),
    "weight_streaming": ("WEIGHT_STREAMING", "weight_streaming"),
    "error_on_timing_cache_miss": ("ERROR_ON_TIMING_CACHE_MISS", "error_on_timing_cache_miss"),
    "disable_compilation_cache": ("DISABLE_COMPILATION_CACHE", "disable_compilation_cache"),
}

#: Settings that are one member of an enumeration -> the enumeration.
_ENUMS = {
    "engine_capability": "EngineCapability",
    "hardware_compatibility_level": "HardwareCompatibilityLevel",
    "runtime_platform": "RuntimePlatform",
    "tiling_optimization_level": "TilingOptimizationLevel",
}

#: Settings that are a number.
_NUMBERS = ("builder_optimization_level", "max_aux_streams")


class CreateConfig(Loader["trt.IBuilderConfig"]):
    """Makes a builder configuration; called with the builder and the network it is for.

    Nothing is switched on unless asked for; TF32, which TensorRT allows by default, is switched off. Members of
    TensorRT's enumerations may be given as such or by name. Where a release lacks what is asked for, the error says
    what to do instead.

    Args:
        tf32: Allow TF32 for float32 matrix products.
        fp16: Allow float16.
        int8: Allow int8.
        profiles: Optimization profiles; each is completed with defaults, and a warning says which.
        calibrator: A `Calibrator` or another of TensorRT's, or a callable that makes one.
        precision_constraints: `obey` or `prefer` the precisions set per layer; `none` lets the builder choose.
        load_timing_cache: Path of, or open file with, a timing cache.
        algorithm_selector: A `TacticRecorder` or `TacticReplayer`, or a callable that makes one. Turns the timing
            cache off unless one is loaded.
        sparse_weights: Use 2:4 sparse weights.
        tactic_sources: The only tactic sources to use; an empty list means none.
        restricted: Restrict the engine to what the safety runtime supports.
        use_dla: Run on the deep learning accelerator by default.
        allow_gpu_fallback: Let the GPU run layers that the accelerator cannot.
        profiling_verbosity: Level of detail that the engine records about its layers; `detailed` by default.
        memory_pool_limits: Bytes per memory pool.
        refittable: Allow the weights to be replaced later.
        strip_plan: Leave refittable weights out of the engine.
        preview_features: Preview features to switch on, all others off.
        engine_capability: Restrictions of the engine.
        direct_io: Forbid reformatting at inputs and outputs.
        builder_optimization_level: Effort of the builder, 0 to 5.
        fp8: Allow float8.
        hardware_compatibility_level: Devices that the engine must run on.
        max_aux_streams: Streams besides the main one.
        version_compatible: Build an engine that later releases can run.
        exclude_lean_runtime: Leave the lean runtime out of a version-compatible engine.
        quantization_flags: Quantization flags to set, all others cleared.
        error_on_timing_cache_miss: Fail instead of timing what the cache lacks.
        bf16: Allow bfloat16.
        disable_compilation_cache: Do not cache compiled kernels while building.
        progress_monitor: A `tensorrt.IProgressMonitor`.
        weight_streaming: Let weights stay on the host; needs a strongly typed network.
        runtime_platform: Platform to build for.
        tiling_optimization_level: Effort spent on searching for tilings.
    """

    def __init__(
        self,
        tf32: bool = False,
        fp16: bool = False,
        int8: bool = False,
        profiles: Sequence[Profile] | None = None,
        calibrator: trt.IInt8Calibrator | Callable[[], trt.IInt8Calibrator] | None = None,
        *,
        precision_constraints: str = "none",
        load_timing_cache: FileLike | None = None,
        algorithm_selector: trt.IAlgorithmSelector | Callable[[], trt.IAlgorithmSelector] | None = None,
        sparse_weights: bool = False,
        tactic_sources: Iterable[Any] | None = None,
        restricted: bool = False,
        use_dla: bool = False,
        allow_gpu_fallback: bool = False,
        profiling_verbosity: trt.ProfilingVerbosity | str | None = None,
        memory_pool_limits: Mapping[Any, int] | None = None,
        refittable: bool = False,
        strip_plan: bool = False,
        preview_features: Iterable[Any] | None = None,
        engine_capability: trt.EngineCapability | str | None = None,
        direct_io: bool = False,
        builder_optimization_level: int | None = None,
        fp8: bool = False,
        hardware_compatibility_level: trt.HardwareCompatibilityLevel | str | None = None,
        max_aux_streams: int | None = None,
        version_compatible: bool = False,
        exclude_lean_runtime: bool = False,
        quantization_flags: Iterable[Any] | None = None,
        error_on_timing_cache_miss: bool = False,
        bf16: bool = False,
        disable_compilation_cache: bool = False,
        progress_monitor: trt.IProgressMonitor | Callable[[], trt.IProgressMonitor] | None = None,
        weight_streaming: bool = False,
        runtime_platform: trt.RuntimePlatform | str | None = None,
        tiling_optimization_level: trt.TilingOptimizationLevel | str | None = None,
    ) -> None:
        arguments = {name: value for name, value in locals().items() if name not in {"self", "__class__"}}
        self.flags = [name for name in _FLAGS if arguments[name]]
        self.enums = {name: arguments[name] for name in _ENUMS if arguments[name] is not None}
        self.numbers = {name: arguments[name] for name in _NUMBERS if arguments[name] is not None}
        self.profiles = profiles
        self.calibrator = calibrator
        self.precision_constraints = precision_constraints
        self.load_timing_cache = load_timing_cache
        self.algorithm_selector = algorithm_selector
        self.tactic_sources = tactic_sources
        self.use_dla = use_dla
        self.profiling_verbosity = profiling_verbosity
        self.memory_pool_limits = memory_pool_limits
        self.preview_features = preview_features
        self.quantization_flags = quantization_flags
        self.progress_monitor = progress_monitor

    def call_impl(self, builder: trt.Builder, network: trt.INetworkDefinition) -> trt.IBuilderConfig:
        """Return the `tensorrt.IBuilderConfig`.

        Raises:
            BackendError: This release of TensorRT lacks what is asked for, or refuses it.
            UsageError: A name is none of the enumeration's, or a profile does not fit the network.
        """
        trt = import_tensorrt()
        config = builder.create_builder_config()
        self._set_flags(trt, config)
        self._set_values(trt, config)
        self._set_sets(trt, config)
        self._set_device(trt, builder, config)
        profiles = add_profiles(builder, network, config, self.profiles)
        self._set_calibrator(network, config, profiles)
        self._set_selector(trt, config)
        return config

    def _set_flags(self, trt: ModuleType, config: trt.IBuilderConfig) -> None:
        if supports("tf32", trt):
            config.clear_flag(trt.BuilderFlag.TF32)
        for name in self.flags:
            flag, feature = _FLAGS[name]
            require(feature, name, trt)
            config.set_flag(getattr(trt.BuilderFlag, flag))
        constraints = self.precision_constraints or "none"
        if constraints not in {"obey", "prefer", "none"}:
            raise UsageError(f"precision constraints are obey, prefer or none, not {constraints!r}", whose="trt")
        if constraints != "none":
            require("precision_constraints", f"precision_constraints={constraints}", trt)
            config.set_flag(getattr(trt.BuilderFlag, f"{constraints.upper()}_PRECISION_CONSTRAINTS"))

    def _set_values(self, trt: ModuleType, config: trt.IBuilderConfig) -> None:
        for name, value in self.enums.items():
            require(name, name, trt)
            setattr(config, name, enum_value(_ENUMS[name], value, name, trt))
        for name, value in self.numbers.items():
            require(name, name, trt)
            setattr(config, name, value)
            if getattr(config, name) != value:  # TensorRT logs an error and keeps the old value
                raise UsageError(
                    f"TensorRT refuses {name}={value}", whose="trt", why=f"it stays {getattr(config, name)}"
                )
        if self.profiling_verbosity is not None or supports("profiling_verbosity", trt):
            require("profiling_verbosity", "profiling_verbosity", trt)
            verbosity = self.profiling_verbosity or "detailed"
            config.profiling_verbosity = enum_value("ProfilingVerbosity", verbosity, "profiling_verbosity", trt)
        for pool, size in (self.memory_pool_limits or {}).items():
            require("memory_pools", "memory_pool_limits", trt)
            _limit_pool(config, enum_value("MemoryPoolType", pool, "memory_pool_limits", trt), size)
        if self.progress_monitor is not None:
            require("progress_monitor", "progress_monitor", trt)
            config.progress_monitor = resolve(self.progress_monitor)

    def _set_sets(self, trt: ModuleType, config: trt.IBuilderConfig) -> None:
        if self.tactic_sources is not None:
            require("tactic_sources", "tactic_sources", trt)
            sources = enum_values("TacticSource", self.tactic_sources, "tactic_sources", trt)
            config.set_tactic_sources(sum({1 << int(source) for source in sources}))
        if self.preview_features is not None:
            require("preview_features", "preview_features", trt)
            members = enum_values("PreviewFeature", self.preview_features, "preview_features", trt)
            for feature in trt.PreviewFeature.__members__.values():
                config.set_preview_feature(feature, feature in members)
        if self.quantization_flags is not None:
            require("quantization_flags", "quantization_flags", trt)
            members = enum_values("QuantizationFlag", self.quantization_flags, "quantization_flags", trt)
            for flag in trt.QuantizationFlag.__members__.values():
                (config.set_quantization_flag if flag in members else config.clear_quantization_flag)(flag)

    def _set_device(self, trt: ModuleType, builder: trt.Builder, config: trt.IBuilderConfig) -> None:
        if not self.use_dla:
            return
        if not builder.num_DLA_cores:
            raise BackendError(
                "there is no deep learning accelerator here", whose="trt", hint="leave use_dla (--use-dla) out"
            )
        config.default_device_type = trt.DeviceType.DLA
        config.DLA_core = 0

    def _set_calibrator(
        self, network: trt.INetworkDefinition, config: trt.IBuilderConfig, profiles: Sequence[Any]
    ) -> None:
        if self.calibrator is None:
            return
        require("calibrator", "a calibrator")
        if "int8" not in self.flags:
            _LOG.warning("a calibrator is given, but int8 is not switched on: it will not be used")
            return
        calibrator = resolve(self.calibrator)
        if hasattr(calibrator, "set_input_metadata"):
            calibrator.set_input_metadata(calibration_inputs(network, profiles))
        if hasattr(calibrator, "reset"):
            calibrator.reset()
        config.int8_calibrator = calibrator
        if profiles:
            require("calibration_profile", "calibration with dynamic shapes")
            config.set_calibration_profile(profiles[0])

    def _set_selector(self, trt: ModuleType, config: trt.IBuilderConfig) -> None:
        if self.algorithm_selector is not None:
            require("algorithm_selector", "an algorithm selector", trt)
            config.algorithm_selector = resolve(self.algorithm_selector)
            if self.load_timing_cache is None:
                # A cached timing would keep TensorRT from asking the selector.
                config.set_flag(trt.BuilderFlag.DISABLE_TIMING_CACHE)
                return
        use_timing_cache(config, self.load_timing_cache)


#: A workspace so many times larger than the device's memory is a wrong unit, not a setting for a larger device.
_ABSURD = 100


def _limit_pool(config: trt.IBuilderConfig, pool: trt.MemoryPoolType, size: int) -> None:
    """Set the limit of a memory pool, unless it is certainly a mistake.

    TensorRT takes any workspace and then uses what the device has, which is its limit by default.
    """
    most = config.get_memory_pool_limit(pool) if pool.name == "WORKSPACE" else 0
    text = f"a {pool.name.lower()} of {size / 2**30:.6g} GiB"
    if size < 0:
        raise UsageError(
            f"{text} cannot be", whose="trt", hint="sizes are bytes: memory_pool_limits={'workspace': 2**30}"
        )
    if most and size > _ABSURD * most:
        raise BackendError(
            f"out of memory: {text} cannot be",
            whose="trt",
            why=f"the device has {most / 2**30:.1f} GiB",
            hint="leave the limit out: TensorRT takes what the device has; or for example --pool-limit workspace:1G",
        )
    if most and size > most:
        _LOG.warning("%s is more than the device has: %.1f GiB, which is the limit then", text, most / 2**30)
    config.set_memory_pool_limit(pool, size)


def add_profiles(
    builder: trt.Builder,
    network: trt.INetworkDefinition,
    config: trt.IBuilderConfig,
    profiles: Sequence[Profile] | None,
) -> list[Any]:
    """Complete profiles with defaults, add them to a configuration, and return them in TensorRT's form.

    Without profiles, a network with dynamic inputs gets one made of defaults.

    Raises:
        UsageError: A profile does not fit the network.
        BackendError: TensorRT refuses a profile.
    """
    if not profiles and not is_dynamic(network):
        return []
    added = []
    for index, profile in enumerate(profiles or [Profile()]):
        trt_profile = profile.copy().fill_defaults(network).to_trt(builder, network)
        if config.add_optimization_profile(trt_profile) < 0:
            raise BackendError(f"TensorRT refuses optimization profile {index}", whose="trt", why=str(profile))
        added.append(trt_profile)
    return added


def calibration_inputs(network: trt.INetworkDefinition, profiles: Sequence[Any]) -> TensorMetadata:
    """Return the inputs of a network with the shapes that calibration runs with: opt shapes of the first profile."""
    from polycmp_trt.run.layout import numpy_dtype

    inputs = TensorMetadata()
    for tensor in network_inputs(network):
        shape = tuple(tensor.shape)
        if any(dim < 0 for dim in shape) and profiles and not tensor.is_shape_tensor:
            shape = tuple(profiles[0].get_shape(tensor.name)[1])
        inputs.add(tensor.name, numpy_dtype(tensor.dtype), shape)
    return inputs


class PostprocessConfig(Loader["trt.IBuilderConfig"]):
    """Edits a builder configuration with a function.

    Args:
        config: A configuration, or a callable that makes one, given builder and network.
        func: Called once per build as `func(builder=…, network=…, config=…)`; it changes the configuration in place.
    """

    def __init__(self, config: ConfigSource, func: Callable[..., Any]) -> None:
        self.config = config
        self.func = func

    def call_impl(self, builder: trt.Builder, network: trt.INetworkDefinition) -> trt.IBuilderConfig:
        """Return the configuration after the function has run.

        Raises:
            BackendError: The function failed.
        """
        config = self.config(builder, network) if callable(self.config) else self.config
        try:
            self.func(builder=builder, network=network, config=config)
        except Exception as error:
            raise BackendError(
                f"{getattr(self.func, '__name__', self.func)} failed on the builder's configuration",
                whose="trt",
                why=describe_exception(error),
                hint="it is called as f(builder=…, network=…, config=…)",
            ) from error
        return config


def create_config(builder: trt.Builder, network: trt.INetworkDefinition, **kwargs: Any) -> trt.IBuilderConfig:
    """Immediate form of `CreateConfig`: make a configuration for this builder and network.

    Args:
        builder: A `tensorrt.Builder`.
        network: A `tensorrt.INetworkDefinition`.
        kwargs: The arguments of `CreateConfig`.
    """
    return CreateConfig(**kwargs)(builder, network)


def postprocess_config(
    config: ConfigSource, func: Callable[..., Any], builder: trt.Builder, network: trt.INetworkDefinition
) -> trt.IBuilderConfig:
    """Immediate form of `PostprocessConfig`: let a function edit a configuration, and return it."""
    return PostprocessConfig(config, func)(builder, network)
