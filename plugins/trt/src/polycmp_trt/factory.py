"""From options to loaders: the loaders and runners for a model, an engine file, or a network script."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from polycmp.errors import ModelError
from polycmp.loader import InvokeFromScript, Loader, SaveBytes, resolve
from polycmp.options import parse_size, split_script
from polycmp_onnx import OnnxLoader
from polycmp_trt.build.engine import BytesFromEngine, EngineFromNetwork, EngineFromPath, SaveEngine
from polycmp_trt.build.network import NetworkFromOnnxBytes, NetworkFromOnnxPath
from polycmp_trt.build.network_edit import (
    MarkDebug,
    ModifyNetworkOutputs,
    PostprocessNetwork,
    SetDecomposableAttentions,
    SetLayerPrecisions,
    SetTensorDatatypes,
    SetTensorFormats,
)
from polycmp_trt.build.precision import ReportPrecision, plan_precision
from polycmp_trt.build.refit import RefitEngine
from polycmp_trt.build.shared_types import SharedTypes
from polycmp_trt.build.timing_cache import SharedTimings
from polycmp_trt.checks import check_names
from polycmp_trt.from_options import config_from_options, converted
from polycmp_trt.options import Options
from polycmp_trt.run.build_runner import BuildRunner
from polycmp_trt.run.runner import TrtRunner
from polycmp_trt.run.runtime import LoadPlugins, LoadRuntime, OnDevice
from polycmp_trt.show.onnx_like import OnnxLikeFromNetwork, SaveLayers

if TYPE_CHECKING:
    import onnx
    import tensorrt as trt

    from polycmp.model import Model
    from polycmp.spec import ModelHandle
    from polycmp_trt.types import DataLoader, Dims, EngineSource, Network, NetworkLoader, OnnxSource

T = TypeVar("T")


def make_runner(model: Model, options: Options | None, *, name: str) -> TrtRunner | BuildRunner:
    """Return the runner for a model of the command line.

    Args:
        model: The model.
        options: The backend's options.
        name: The label in reports.
    """
    options = options or Options()
    check_names(options)
    timings = None
    if model.kind == "engine":
        engine: Any = engine_from_file(model.path, options)
    else:
        source = make_network(model.source, options) if model.kind == "trt-network" else _as_onnx(model.load("onnx"))
        timings = shared_timings(model, options)
        engine = engine_from_source(
            source, options, model.input_shapes, model.data_loader, timings, shared_types(model, options)
        )
    if options.save_layers:
        engine = SaveLayers(engine, options.save_layers)
    if options.build_only:
        return BuildRunner(engine, name, options.device)
    budget, percent = _budget(options.weight_streaming_budget)
    runner = TrtRunner(
        engine,
        name,
        optimization_profile=options.optimization_profile or None,
        allocation_strategy=options.allocation_strategy,
        weight_streaming_budget=budget,
        weight_streaming_percent=percent,
        device=options.device,
        cuda_graph=options.cuda_graph,
    )
    if timings is not None:
        runner.notes = timings.notes
    return runner


def shared_timings(model: Model, options: Options) -> SharedTimings | None:
    """Return the timings that builds of a model and of its parts share; None where the options decide on timing.

    Args:
        model: The model, or a part of it.
        options: The backend's options.
    """
    files = (options.timing_cache, options.load_timing_cache, options.save_timing_cache)
    others = (options.save_tactics, options.load_tactics, options.config_script, options.error_on_timing_cache_miss)
    return None if any((*files, *others)) else SharedTimings(options.device, reads=model.is_part)


def shared_types(model: Model, options: Options) -> SharedTypes | None:
    """Return the types that engines of a model and of its parts share; None where the options leave none to choose.

    Args:
        model: The model, or a part of it.
        options: The backend's options.
    """
    is_free = (options.fp16 or options.bf16) and not options.layer_precisions and options.constraints == "none"
    return SharedTypes((model.path, repr(options)), reads=model.is_part) if is_free else None


def _budget(text: str | None) -> tuple[int | None, float | None]:
    if text is None:
        return None, None
    if text.endswith("%"):
        return None, float(text[:-1])
    return (int(text) if text in {"-1", "-2"} else parse_size(text)), None


def engine_from_file(path: str, options: Options) -> Loader[trt.ICudaEngine]:
    """Return a loader of an engine file; plugin libraries and host code only if the options say so."""
    runtime = LoadRuntime(options.load_runtime) if options.load_runtime else None
    loader: Loader[trt.ICudaEngine] = EngineFromPath(
        path,
        runtime=runtime,
        dla_workspace_allocation_strategy=options.dla_workspace_allocation_strategy or None,
        engine_host_code_allowed=options.engine_host_code_allowed,
    )
    loader = RefitEngine(loader, options.refit) if options.refit else loader
    if options.save_engine and options.refit:
        loader = SaveEngine(loader, options.save_engine)
    return _with_plugins(loader, options)


def _with_plugins(loader: Loader[T], options: Options) -> Loader[T]:
    return LoadPlugins(list(options.plugins), loader)


def engine_from_source(
    source: OnnxSource | NetworkLoader,
    options: Options,
    input_shapes: Mapping[str, Dims] | None = None,
    data_loader: DataLoader | None = None,
    timings: SharedTimings | None = None,
    types: SharedTypes | None = None,
) -> Loader[trt.ICudaEngine]:
    """Return a loader that builds an engine as the options say.

    Args:
        source: A loader of an ONNX model, or of `(builder, network[, parser])`.
        options: Options of the build.
        input_shapes: Shapes that inference will use, for profiles that are not given.
        data_loader: Source of calibration data; None for no calibration.
        timings: Timings to share with other builds; by default none.
        types: Types of layers to share with other builds; by default none.
    """
    precisions = tuple(name for name in ("tf32", "fp16", "bf16", "fp8", "int8") if getattr(options, name))
    plan = plan_precision(precisions, options.strongly_typed, _is_onnx(source))
    if plan.conversions:
        source = converted(source, plan.conversions, options, input_shapes, data_loader)
    options = replace(options, strongly_typed=plan.strongly_typed, refittable=options.refittable or bool(options.refit))
    built = EngineFromNetwork(
        network_from_source(source, options),
        config_from_options(options, plan.flags, input_shapes, data_loader),
        save_timing_cache=options.save_timing_cache or options.timing_cache or None,
        runtime=LoadRuntime(options.load_runtime) if options.load_runtime else None,
        dla_workspace_allocation_strategy=options.dla_workspace_allocation_strategy or None,
    )
    built.timings, built.types = timings, None if plan.conversions else types
    engine: Loader[trt.ICudaEngine] = ReportPrecision(built, plan.conversions) if plan.conversions else built
    engine = RefitEngine(engine, options.refit) if options.refit else engine
    return SaveEngine(engine, options.save_engine) if options.save_engine else engine


def network_from_source(source: OnnxSource | NetworkLoader, options: Options) -> NetworkLoader:
    """Return a loader of the network, with everything that the options change in it.

    Args:
        source: A loader of an ONNX model, or of `(builder, network[, parser])`.
        options: Options that change the network.
    """
    network: Any = _parsed(source, options) if _is_onnx(source) else source
    if options.outputs or options.exclude_outputs or options.outputs_by_type:
        network = ModifyNetworkOutputs(
            network, list(options.outputs) or None, list(options.exclude_outputs) or None, list(options.outputs_by_type)
        )
    if options.layer_precisions:
        network = SetLayerPrecisions(network, dict(options.layer_precisions))
    if options.decomposable_attentions:
        network = SetDecomposableAttentions(network)
    types = {**({"*": options.all_tensor_dtypes} if options.all_tensor_dtypes else {}), **options.tensor_dtypes}
    if types:
        network = SetTensorDatatypes(network, types)
    formats = {name: text.split(",") for name, text in options.tensor_formats.items()}
    if options.all_tensor_formats:
        formats = {"*": [item for text in options.all_tensor_formats for item in text.split(",")], **formats}
    if formats:
        network = SetTensorFormats(network, formats)
    if options.mark_debug:
        network = MarkDebug(network, list(options.mark_debug))
    for script in options.network_postprocess_script:
        network = PostprocessNetwork(network, InvokeFromScript(*split_script(script, "postprocess")), script)
    return _with_plugins(network, options) if options.plugins else network


class OnnxFromLoader(OnnxLoader):
    """Passes on the ONNX model of a loader without a declared model type, such as another plugin's.

    Args:
        model: A callable that returns the model.
    """

    def __init__(self, model: OnnxSource) -> None:
        self.model = model

    def call_impl(self) -> onnx.ModelProto:
        """Return the model."""
        return resolve(self.model)


def _as_onnx(source: OnnxSource | NetworkLoader) -> OnnxSource:
    """Return a loader of which it is known that it makes an ONNX model."""
    return cast("OnnxSource", source) if _is_onnx(source) else OnnxFromLoader(cast("OnnxSource", source))


def _is_onnx(source: object) -> bool:
    return isinstance(source, Loader) and source.model_kind == "onnx"


def _parsed(source: OnnxSource, options: Options) -> NetworkLoader:
    settings: dict[str, Any] = {
        "flags": _parser_flags(options) or None,
        "plugin_instancenorm": options.plugin_instancenorm or None,
        "strongly_typed": options.strongly_typed or None,
        "mark_unfused_tensors_as_debug_tensors": options.mark_unfused_tensors_as_debug_tensors or None,
        "enable_uint8_asymmetric_quantization_dla": options.enable_uint8_asymmetric_quantization_dla or None,
    }
    path = source.exact_file() if isinstance(source, Loader) else None
    if path:
        return NetworkFromOnnxPath(path, **settings)
    from polycmp_onnx import BytesFromOnnx

    return NetworkFromOnnxBytes(BytesFromOnnx(source), **settings)


def _parser_flags(options: Options) -> list[str]:
    flags = list(options.onnx_flags)
    portable = options.version_compatible or options.hardware_compatibility_level.lower() not in {"", "none"}
    # The plugin that replaces InstanceNormalization otherwise cannot go into an engine for other devices or releases.
    if portable and not options.plugin_instancenorm and "native_instancenorm" not in {flag.lower() for flag in flags}:
        flags.append("native_instancenorm")
    return flags


def make_engine(
    source: str | Path | OnnxSource | NetworkLoader, options: Options | None = None, *, model: ModelHandle | None = None
) -> Loader[trt.ICudaEngine]:
    """Return a loader of an engine: read from a file, or built from a model.

    Args:
        source: Path of an engine, or a loader of a model or a network.
        options: The options of the backend `trt`.
        model: The model handle; its `input_shapes` and `data_loader` serve profiles and calibration.
    """
    options = options if isinstance(options, Options) else Options()
    check_names(options)
    if isinstance(source, (str, Path)):
        return engine_from_file(str(source), options)
    shapes, data_loader = (model.input_shapes, model.data_loader) if model is not None else (None, None)
    if model is not None and model.kind == "onnx":
        source = _as_onnx(source)
    engine = engine_from_source(source, options, shapes, data_loader)
    return OnDevice(engine, options.device) if options.device else engine


def make_network(source: str | Path | OnnxSource | NetworkLoader, options: object = None) -> NetworkLoader:
    """Return a loader of `(builder, network[, parser])`: a function of a script, or a parsed ONNX model.

    Args:
        source: `FILE.py` or `FILE.py:NAME`, or a loader of an ONNX model.
        options: The options of the backend `trt`; `network_func` names the function where the path does not.
    """
    options = options if isinstance(options, Options) else Options()
    if isinstance(source, (str, Path)):
        return NetworkFromScript(*split_script(str(source), options.network_func))
    return network_from_source(source, options)


class NetworkFromScript(Loader["Network"]):
    """Calls the function of a user's Python file that makes a network.

    Args:
        path: The file.
        name: The function, or a loader such as one made with `func.extend`.
    """

    def __init__(self, path: str, name: str = "load_network") -> None:
        self.path = None  # nothing for TensorRT's parser to read
        self.file = path
        self.name = name

    def call_impl(self) -> Network:
        """Return `(builder, network[, parser])`.

        Raises:
            DataError: The file or the function is missing, or the file fails to import.
            ModelError: The function returns something else.
        """
        parts = InvokeFromScript(self.file, self.name)()
        if not isinstance(parts, tuple) or len(parts) not in {2, 3}:
            raise ModelError(
                f"{self.name} of {self.file} returned {type(parts).__name__}",
                why="it must return (builder, network) or (builder, network, parser)",
            )
        return parts


def make_onnx_like(source: str | Path | OnnxSource | NetworkLoader, options: object = None) -> Loader[onnx.ModelProto]:
    """Return a loader of a network exported as an ONNX model for viewers.

    Args:
        source: A loader of an ONNX model or of a network.
        options: The options of the backend `trt`.
    """
    return OnnxLikeFromNetwork(make_network(source, options))


def save(loader: EngineSource, path: str) -> None:
    """Write an engine to a file, whole or not at all.

    Args:
        loader: A callable that returns the engine.
        path: The file to write.
    """
    SaveBytes(BytesFromEngine(loader), path)()
