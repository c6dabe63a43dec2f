"""Options of the backend `trt` as a builder configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from polycmp.loader import InvokeFromScript
from polycmp.options import split_script
from polycmp_trt.build.calibrator import CalibratorFromData
from polycmp_trt.build.config import CreateConfig, PostprocessConfig
from polycmp_trt.build.profile import profiles_from_options
from polycmp_trt.build.tactics import RecordTactics, ReplayTactics
from polycmp_trt.build.typed_onnx import ConvertToBf16, QuantizeToInt8
from polycmp_trt.options import Options

if TYPE_CHECKING:
    from polycmp_trt.types import ConfigSource, DataLoader, Dims, OnnxSource


def config_from_options(
    options: Options,
    flags: tuple[str, ...],
    input_shapes: Mapping[str, tuple[int, ...]] | None = None,
    data_loader: DataLoader | None = None,
) -> ConfigSource:
    """Return the callable `(builder, network)` that makes the configuration which the options describe.

    Args:
        options: The backend's options.
        flags: The precisions that are flags of the builder on this release.
        input_shapes: Shapes that inference will use, for profiles that are not given.
        data_loader: Source of calibration data.
    """
    if options.config_script:
        config: Any = InvokeFromScript(*split_script(options.config_script, "load_config"))
    else:
        config = _created(options, flags, input_shapes, data_loader)
    if options.config_postprocess_script:
        script = InvokeFromScript(*split_script(options.config_postprocess_script, "postprocess_config"))
        config = PostprocessConfig(config, script)
    return config


#: Options that `CreateConfig` takes under the same name.
_SAME = (
    "sparse_weights",
    "version_compatible",
    "exclude_lean_runtime",
    "refittable",
    "strip_plan",
    "use_dla",
    "allow_gpu_fallback",
    "weight_streaming",
    "tactic_sources",
    "preview_features",
    "quantization_flags",
    "builder_optimization_level",
    "max_aux_streams",
    "error_on_timing_cache_miss",
    "disable_compilation_cache",
)
#: The same, where an empty text means that nothing was said.
_NAMED = (
    "hardware_compatibility_level",
    "profiling_verbosity",
    "runtime_platform",
    "engine_capability",
    "tiling_optimization_level",
)


def _created(
    options: Options,
    flags: tuple[str, ...],
    input_shapes: Mapping[str, tuple[int, ...]] | None,
    data_loader: DataLoader | None,
) -> CreateConfig:
    pools = dict(options.pool_limit)
    if options.workspace is not None:
        pools["workspace"] = options.workspace
    settings: dict[str, Any] = {name: getattr(options, name) for name in _SAME}
    settings.update({name: getattr(options, name) or None for name in _NAMED})
    settings.update(dict.fromkeys(flags, True))
    profiles = profiles_from_options(options.min_shapes, options.opt_shapes, options.max_shapes, input_shapes)
    return CreateConfig(
        profiles=profiles or None,
        calibrator=_calibrator(options, data_loader) if "int8" in flags else None,
        load_timing_cache=options.load_timing_cache or options.timing_cache or None,
        algorithm_selector=_selector(options),
        restricted=options.safety_restricted,
        precision_constraints=options.constraints,
        direct_io=options.direct_io or options.strict_types,
        memory_pool_limits=pools or None,
        **settings,
    )


def _calibrator(options: Options, data_loader: DataLoader | None) -> CalibratorFromData:
    return CalibratorFromData(
        data_loader if data_loader is not None else (),
        options.calibration_cache or None,
        options.calib_base_cls,
        quantile=options.quantile,
        regression_cutoff=options.regression_cutoff,
        device=options.device,
    )


def _selector(options: Options) -> RecordTactics | ReplayTactics | None:
    if options.save_tactics:
        return RecordTactics(options.save_tactics)
    return ReplayTactics(options.load_tactics) if options.load_tactics else None


def converted(
    source: OnnxSource,
    conversions: tuple[str, ...],
    options: Options,
    input_shapes: Mapping[str, Dims] | None = None,
    data_loader: DataLoader | None = None,
) -> OnnxSource:
    """Return a loader of an ONNX model with other types, for releases without switches for them.

    Args:
        source: A loader of an ONNX model.
        conversions: Some of `fp16`, `bf16`, `int8`.
        options: The backend's options.
        input_shapes: Shapes that inference will use.
        data_loader: Source of calibration data.
    """
    from polycmp_onnx import ConvertToFp16

    for name in conversions:
        if name == "fp16":
            source = ConvertToFp16(source)
        elif name == "bf16":
            source = ConvertToBf16(source)
        elif name == "int8":
            source = QuantizeToInt8(
                source,
                data_loader if data_loader is not None else (),
                options.calibration_cache or None,
                options.calib_base_cls,
                input_shapes,
            )
    return source
