"""The options of the backend `trt`: names, values, and combinations that are refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from polycmp.spec import opt, parse_named_shapes, parse_size

_PER_PROFILE = "Repeat it to start the next optimization profile."
_ENUM = "as TensorRT calls it, in any case"


def parse_budget(text: str) -> str:
    """Return a weight-streaming budget if it can be understood: `-2`, `-1`, `0%` to `100%`, or a number of bytes.

    Raises:
        ValueError: It is none of these.
    """
    body = text.strip()
    if body.endswith("%"):
        try:
            share = float(body[:-1])
        except ValueError:
            share = -1.0
        if not 0 <= share <= 100:
            raise ValueError(f"{text!r} is not a share of the weights; write 0% to 100%")
    elif body not in {"-1", "-2"}:
        parse_size(body)
    return body


def parse_formats(text: str) -> str:
    """Return the formats from `[hwc,chw4]` or `hwc`, without the brackets.

    Raises:
        ValueError: There is none.
    """
    names = [name.strip() for name in text.strip().removeprefix("[").removesuffix("]").split(",")]
    if not all(names):
        raise ValueError(f"{text!r} names no format; write for example [hwc,linear]")
    return ",".join(names)


@dataclass(frozen=True)
class Options:
    """Options of the backend `trt`, and of converting to TensorRT."""

    # Optimization profiles
    min_shapes: tuple[tuple[str, ...], ...] = opt(
        (), help=f"Smallest input shapes. {_PER_PROFILE}", metavar="NAME:SHAPE"
    )
    opt_shapes: tuple[tuple[str, ...], ...] = opt(
        (), help=f"Input shapes to optimize for. {_PER_PROFILE}", metavar="NAME:SHAPE"
    )
    max_shapes: tuple[tuple[str, ...], ...] = opt(
        (), help=f"Largest input shapes. {_PER_PROFILE}", metavar="NAME:SHAPE"
    )
    # Precision
    fp32: bool = opt(False, help="Accepted and ignored: float32 is always allowed.", alias="--fp32")
    tf32: bool = opt(False, help="Allow TF32 for float32 matrix products.", alias="--tf32")
    fp16: bool = opt(False, help="Allow float16; convert the model if TensorRT has no such switch.", alias="--fp16")
    bf16: bool = opt(False, help="Allow bfloat16; convert the model if TensorRT has no such switch.", alias="--bf16")
    fp8: bool = opt(False, help="Allow float8.", alias="--fp8")
    int8: bool = opt(False, help="Allow int8, calibrated with this run's data loader.", alias="--int8")
    precision_constraints: str = opt(
        "none",
        help="How strictly the builder follows the precisions set per layer.",
        choices=("prefer", "obey", "none"),
        alias="--precision-constraints",
    )
    obey_precision_constraints: bool = opt(
        False, help="The same as --precision-constraints obey.", alias="--obey-precision-constraints", hidden=True
    )
    strict_types: bool = opt(
        False, help="The same as --precision-constraints prefer --direct-io.", alias="--strict-types", hidden=True
    )
    explicit_precision: bool = opt(
        False, help="Accepted and ignored: no builder knows it any more.", alias="--explicit-precision", hidden=True
    )
    layer_precisions: Mapping[str, str] = opt(
        {}, help="Precision per layer.", alias="--layer-precisions", metavar="LAYER:TYPE"
    )
    strongly_typed: bool = opt(False, help="Keep the model's own types.", alias="--strongly-typed")
    # Calibration
    calibration_cache: str = opt(
        "",
        help="Read the calibration from this file if it exists; otherwise write it.",
        alias="--calibration-cache",
        metavar="FILE",
        writes=True,
        resumes="calibration_cache",
    )
    calib_base_cls: str = opt(
        "IInt8EntropyCalibrator2",
        help="TensorRT's calibrator class.",
        alias=("--calib-base-cls", "--calibration-base-class"),
        metavar="CLASS",
    )
    quantile: float = opt(0.5, help="Quantile of the legacy calibrator.", alias="--quantile")
    regression_cutoff: float = opt(0.5, help="Cutoff of the legacy calibrator.", alias="--regression-cutoff")
    quantization_flags: tuple[str, ...] | None = opt(
        None, help=f"Quantization flags, {_ENUM}.", alias="--quantization-flags", metavar="FLAG"
    )
    # What the builder may do
    sparse_weights: bool = opt(False, help="Use 2:4 sparse weights.", alias="--sparse-weights")
    version_compatible: bool = opt(
        False, help="Build an engine that later releases can run.", alias="--version-compatible"
    )
    exclude_lean_runtime: bool = opt(
        False, help="Do not include the lean runtime in a version-compatible engine.", alias="--exclude-lean-runtime"
    )
    safety_restricted: bool = opt(False, help="Restrict the engine to what the safety runtime supports.")
    refittable: bool = opt(False, help="Allow the weights to be replaced later.", alias="--refittable")
    strip_plan: bool = opt(False, help="Leave refittable weights out of the engine.", alias="--strip-plan")
    use_dla: bool = opt(False, help="Run on the deep learning accelerator by default.", alias="--use-dla")
    allow_gpu_fallback: bool = opt(
        False, help="Let the GPU run layers that the accelerator cannot.", alias="--allow-gpu-fallback"
    )
    direct_io: bool = opt(False, help="Forbid reformatting at inputs and outputs.", alias="--direct-io")
    pool_limit: Mapping[str, int] = opt(
        {},
        help="Limits of the builder's memory pools.",
        alias=("--pool-limit", "--memory-pool-limit"),
        metavar="POOL:SIZE",
        parse=parse_size,
    )
    workspace: int | None = opt(
        None, help="The same as --pool-limit workspace:SIZE.", alias="--workspace", metavar="SIZE", parse=parse_size
    )
    tactic_sources: tuple[str, ...] | None = opt(
        None,
        help="The only tactic sources to use; none given means none.",
        alias="--tactic-sources",
        metavar="[SOURCE]",
        bare="",
    )
    preview_features: tuple[str, ...] | None = opt(
        None,
        help=f"Preview features to switch on, all others off; {_ENUM}.",
        alias="--preview-features",
        metavar="[NAME]",
        bare="",
    )
    builder_optimization_level: int | None = opt(
        None, help="Effort of the builder, 0 to 5.", alias="--builder-optimization-level"
    )
    hardware_compatibility_level: str = opt(
        "",
        help=f"Devices that the engine must run on, {_ENUM}.",
        alias="--hardware-compatibility-level",
        metavar="LEVEL",
    )
    max_aux_streams: int | None = opt(None, help="Streams besides the main one.", alias="--max-aux-streams")
    profiling_verbosity: str = opt(
        "detailed",
        help="Level of detail that the engine records about its layers.",
        alias="--profiling-verbosity",
        metavar="LEVEL",
    )
    weight_streaming: bool = opt(False, help="Let weights stay on the host.", alias="--weight-streaming")
    runtime_platform: str = opt(
        "", help=f"Platform to build for, {_ENUM}.", alias="--runtime-platform", metavar="PLATFORM"
    )
    engine_capability: str = opt(
        "", help=f"Restrictions of the engine, {_ENUM}.", alias="--engine-capability", metavar="CAPABILITY"
    )
    tiling_optimization_level: str = opt(
        "",
        help=f"Effort spent on searching for tilings, {_ENUM}.",
        alias="--tiling-optimization-level",
        metavar="LEVEL",
    )
    # Caches and replays
    timing_cache: str = opt(
        "",
        help="Read timings from this file and write them back.",
        alias="--timing-cache",
        metavar="FILE",
        writes=True,
        resumes="timing_cache",
    )
    load_timing_cache: str = opt("", help="Read timings from this file.", alias="--load-timing-cache", metavar="FILE")
    save_timing_cache: str = opt(
        "", help="Merge the timings into this file.", alias="--save-timing-cache", metavar="FILE", writes=True
    )
    error_on_timing_cache_miss: bool = opt(
        False, help="Fail instead of timing tactics that the cache lacks.", alias="--error-on-timing-cache-miss"
    )
    disable_compilation_cache: bool = opt(
        False, help="Do not cache compiled kernels while building.", alias="--disable-compilation-cache"
    )
    save_tactics: str = opt(
        "",
        help="Record the tactics chosen.",
        alias=("--save-tactics", "--save-tactic-replay"),
        metavar="FILE",
        writes=True,
    )
    load_tactics: str = opt(
        "", help="Choose the tactics recorded here.", alias=("--load-tactics", "--load-tactic-replay"), metavar="FILE"
    )
    # Scripts
    config_script: str = opt(
        "", help="A function (builder, network) that returns the whole configuration.", metavar="FILE.py[:load_config]"
    )
    config_postprocess_script: str = opt(
        "",
        help="A function (builder, network, config) that edits the configuration.",
        alias="--trt-cpps",
        metavar="FILE.py[:postprocess_config]",
    )
    network_postprocess_script: tuple[str, ...] = opt(
        (), help="Functions (network) that edit the network.", alias="--trt-npps", metavar="FILE.py[:postprocess]"
    )
    # Parser and network
    network_func: str = opt(
        "load_network", help="The function of a network script that returns builder, network and perhaps parser."
    )
    plugins: tuple[str, ...] = opt((), help="Plugin libraries to load.", alias="--plugins", metavar="FILE.so")
    onnx_flags: tuple[str, ...] = opt((), help=f"Parser flags, {_ENUM}.", alias="--onnx-flags", metavar="FLAG")
    plugin_instancenorm: bool = opt(
        False, help="Parse InstanceNormalization as a plugin.", alias="--plugin-instancenorm"
    )
    enable_uint8_asymmetric_quantization_dla: bool = opt(
        False,
        help="The same as that parser flag.",
        alias="--enable-uint8-asymmetric-quantization-dla",
        hidden=True,
    )
    outputs: tuple[str, ...] = opt((), help="Tensors to make outputs instead of the network's: names, patterns, *.")
    exclude_outputs: tuple[str, ...] = opt((), help="Outputs to leave out: names or patterns.")
    outputs_by_type: tuple[str, ...] = opt((), help="Mark the outputs of layers of these types as network outputs.")
    tensor_dtypes: Mapping[str, str] = opt(
        {},
        help="Types of inputs and outputs.",
        alias=("--tensor-dtypes", "--tensor-datatypes"),
        metavar="TENSOR:TYPE",
    )
    all_tensor_dtypes: str = opt(
        "",
        help="One type for all inputs and outputs.",
        alias=("--all-tensor-dtypes", "--all-tensor-datatypes"),
        metavar="TYPE",
    )
    tensor_formats: Mapping[str, str] = opt(
        {},
        help="Formats allowed for inputs and outputs.",
        alias="--tensor-formats",
        metavar="TENSOR:[FORMAT,...]",
        parse=parse_formats,
    )
    all_tensor_formats: tuple[str, ...] = opt(
        (), help="Formats allowed for all inputs and outputs.", alias="--all-tensor-formats", metavar="FORMAT"
    )
    decomposable_attentions: bool = opt(
        False, help="Allow the builder to decompose attention layers.", alias="--decomposable-attentions"
    )
    mark_debug: tuple[str, ...] = opt((), help="Tensors to show while running.", alias="--mark-debug", metavar="NAME")
    mark_unfused_tensors_as_debug_tensors: bool = opt(
        False,
        help="Show every tensor that fusion keeps as a further output.",
        alias="--mark-unfused-tensors-as-debug-tensors",
    )
    # Engine and running
    save_engine: str = opt("", help="Write the engine.", alias="--save-engine", metavar="FILE", writes=True)
    save_layers: str = opt(
        "",
        help="Write the engine's layers, each with the layers of the network that it computes, as a model for viewers.",
        metavar="FILE.onnx",
        writes=True,
    )
    load_runtime: str = opt(
        "", help="A lean runtime to run the engine with.", alias="--load-runtime", metavar="FILE", executes=True
    )
    engine_host_code_allowed: bool = opt(
        False, help="Allow host code in engine files; only for engines you trust.", executes=True
    )
    dla_workspace_allocation_strategy: str = opt(
        "",
        help=f"Strategy for sharing the accelerator's workspace, {_ENUM}.",
        alias="--dla-workspace-allocation-strategy",
        metavar="STRATEGY",
    )
    optimization_profile: int = opt(
        0, help="Number of the optimization profile to run with.", alias="--optimization-profile"
    )
    allocation_strategy: str = opt(
        "static",
        help="Size activation memory for all profiles, the active profile, or the shapes in use.",
        choices=("static", "profile", "runtime"),
        alias="--allocation-strategy",
    )
    weight_streaming_budget: str | None = opt(
        None,
        help="Weights kept on the device: -2 all, -1 chosen by TensorRT, 0% to 100%, or a size.",
        alias="--weight-streaming-budget",
        metavar="BUDGET",
        parse=parse_budget,
    )
    refit: str = opt(
        "", help="Give the engine the weights of this ONNX model, which has the same structure.", metavar="FILE.onnx"
    )
    build_only: bool = opt(False, help="Build and save the engine without running it.")
    cuda_graph: bool = opt(False, help="Run as a CUDA graph, recorded anew for other shapes or addresses.")
    device: int = opt(0, help="Number of the CUDA device.")

    @property
    def constraints(self) -> str:
        """How strictly the builder follows the precisions set per layer, in whichever words that was said."""
        if self.obey_precision_constraints:
            return "obey"
        return "prefer" if self.strict_types else self.precision_constraints

    def __post_init__(self) -> None:
        for groups in (self.min_shapes, self.opt_shapes, self.max_shapes):
            for group in groups:
                parse_named_shapes(group)
        for problem in self._problems():
            raise ValueError(problem)

    def _problems(self) -> list[str]:
        checks = {
            "exclude_lean_runtime needs version_compatible": self.exclude_lean_runtime and not self.version_compatible,
            "save_tactics and load_tactics exclude each other": self.save_tactics and self.load_tactics,
            "weight_streaming needs strongly_typed": self.weight_streaming and not self.strongly_typed,
            "a pool limit is POOL:SIZE, for example workspace:1G": "" in self.pool_limit,
            "workspace and pool_limit workspace:… say the same thing twice": (
                self.workspace is not None and any(pool.lower() == "workspace" for pool in self.pool_limit)
            ),
            "layer_precisions needs a layer's name in front: LAYER:TYPE": "" in self.layer_precisions,
            "tensor_dtypes needs a tensor's name in front: TENSOR:TYPE": "" in self.tensor_dtypes,
            "tensor_formats needs a tensor's name in front: TENSOR:[FORMAT]": "" in self.tensor_formats,
            f"quantile lies between 0 and 1, not at {self.quantile}": not 0 <= self.quantile <= 1,
            f"regression_cutoff lies between 0 and 1, not at {self.regression_cutoff}": (
                not 0 <= self.regression_cutoff <= 1
            ),
            "cuda_graph and debug tensors exclude each other": (
                self.cuda_graph and (self.mark_debug or self.mark_unfused_tensors_as_debug_tensors)
            ),
            "build_only and cuda_graph exclude each other: nothing runs": self.build_only and self.cuda_graph,
            "optimization profiles are counted from 0": self.optimization_profile < 0,
            "devices are counted from 0": self.device < 0,
        }
        return [problem for problem, applies in checks.items() if applies]
