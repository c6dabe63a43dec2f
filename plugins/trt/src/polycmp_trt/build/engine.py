"""Engines: built from networks, read from bytes and files, written back."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from polycmp.errors import BackendError, ModelError, describe_exception
from polycmp.files import atomic_write
from polycmp.loader import BytesFromPath, Loader, immediate, resolve
from polycmp_trt.build.network_parts import is_dynamic, network_inputs, network_of
from polycmp_trt.build.progress import watch_build
from polycmp_trt.features import enum_value, import_tensorrt, release, require, supports
from polycmp_trt.run.cuda import memory_trouble
from polycmp_trt.run.runtime import make_runtime, noted_errors

if TYPE_CHECKING:
    import tensorrt as trt
    from tensorrt import SeekPosition

    from polycmp_trt.build.shared_types import SharedTypes
    from polycmp_trt.build.timing_cache import SharedTimings
    from polycmp_trt.types import Buffer, ConfigSource, EngineSource, FileLike, NetworkSource, PathSource, RuntimeSource

_LOG = logging.getLogger("polycmp.trt")


def _build(
    network: NetworkSource,
    config: ConfigSource | None,
    save_timing_cache: FileLike | None,
    timings: SharedTimings | None = None,
    types: SharedTypes | None = None,
) -> tuple[trt.IHostMemory, trt.IBuilderConfig, float]:
    """Return the serialised engine, the configuration it was built with, and the seconds it took.

    `network` and `config` may be callables; a configuration's is called with builder and network.
    """
    from polycmp_trt.build.callbacks import raise_callback_errors

    parts = resolve(network)
    builder, net = parts[0], network_of(parts)
    if config is None:
        from polycmp_trt.build.config import CreateConfig

        config = CreateConfig()
    settings = config(builder, net) if callable(config) else config
    if not settings.num_optimization_profiles and not is_dynamic(net):
        settings.add_optimization_profile(_static_profile(builder, net))
    if timings is not None:
        timings.lend(settings)
    if types is not None:
        types.lend(settings, net)
    start = time.perf_counter()
    with noted_errors() as notes, watch_build(net, settings):
        plan = builder.build_serialized_network(net, settings)
    seconds = time.perf_counter() - start
    raise_callback_errors(settings)
    if timings is not None:
        timings.collect(settings)  # of a build that failed, too
    if plan is None:
        memory = memory_trouble()
        raise BackendError(
            f"TensorRT {release()} could not build an engine",
            whose="trt",
            why="; ".join(filter(None, [memory, notes.why("it gave no reason; run again with -v")])),
            hint=_build_hint([*notes.messages, memory]),
        )
    notes.release()
    if save_timing_cache is not None:
        from polycmp_trt.build.timing_cache import save_timing_cache as save

        save(settings, save_timing_cache)
    return plan, settings, seconds


def _static_profile(builder: trt.Builder, network: trt.INetworkDefinition) -> trt.IOptimizationProfile:
    """Return a profile of a network's static shapes.

    Without a profile TensorRT 8.6 cannot run outputs whose shapes depend on the data.
    """
    profile = builder.create_optimization_profile()
    for tensor in network_inputs(network):
        shape = tuple(tensor.shape)
        profile.set_shape(tensor.name, shape, shape, shape)
    return profile


def _build_hint(messages: list[str]) -> str:
    text = " ".join(messages).lower()
    if "out of memory" in text:
        return "nvidia-smi lists who holds the device's memory; --trt-device N takes another device"
    if "profile" in text and "dynamic" in text:
        return "give the range of each dynamic input: --trt-min-shapes, --trt-opt-shapes, --trt-max-shapes"
    if "memory" in text or "workspace" in text or "allocat" in text:
        return "give the builder less or more memory, for example --pool-limit workspace:1G, and see nvidia-smi"
    return "polycmp inspect capability MODEL shows what TensorRT can parse; -v shows what the builder did"


class EngineBytesFromNetwork(Loader[bytes]):
    """Builds an engine and returns it serialised.

    Args:
        network: `(builder, network[, parser])` or a callable that returns it.
        config: A `tensorrt.IBuilderConfig`, or a callable `(builder, network)` that makes one: `CreateConfig(...)`.
            By default `CreateConfig()`.
        save_timing_cache: A path, or an open file: what the build measured is merged into it.
    """

    def __init__(
        self, network: NetworkSource, config: ConfigSource | None = None, save_timing_cache: FileLike | None = None
    ) -> None:
        self.network = network
        self.config = config
        self.save_timing_cache = save_timing_cache

    def call_impl(self) -> bytes:
        """Return the serialised engine.

        Raises:
            BackendError: TensorRT could not build it; the text contains TensorRT's messages.
        """
        plan, _, seconds = _build(self.network, self.config, self.save_timing_cache)
        content = bytes(plan)
        _LOG.info("built an engine of %.1f MiB in %.1f s", len(content) / 2**20, seconds)
        return content


class EngineFromNetwork(Loader["trt.ICudaEngine"]):
    """Builds an engine and loads it.

    After the build the result is logged: layers per precision, device memory, time. A precision that was allowed but
    that no layer uses gives a warning.

    Args:
        network: `(builder, network[, parser])` or a callable that returns it.
        config: A `tensorrt.IBuilderConfig`, or a callable `(builder, network)` that makes one: `CreateConfig(...)`.
            By default `CreateConfig()`.
        save_timing_cache: A path, or an open file: what the build measured is merged into it.
        runtime: A `tensorrt.Runtime` to load the engine with, or a callable that makes one.
        dla_workspace_allocation_strategy: Strategy for sharing the accelerator's workspace, where the release has it.

    Attributes:
        timings: Timings to share with other builds in this process; by default there are none. They belong to a run and
            are no part of what the loader prints as.
        types: Types of layers to share, in the same way.
    """

    def __init__(
        self,
        network: NetworkSource,
        config: ConfigSource | None = None,
        save_timing_cache: FileLike | None = None,
        runtime: RuntimeSource = None,
        dla_workspace_allocation_strategy: trt.DLAWorkspaceAllocationStrategy | str | None = None,
    ) -> None:
        self.network = network
        self.config = config
        self.save_timing_cache = save_timing_cache
        self.runtime = runtime
        self.dla_strategy = dla_workspace_allocation_strategy
        self.timings: SharedTimings | None = None
        self.types: SharedTypes | None = None

    def call_impl(self) -> trt.ICudaEngine:
        """Return the `tensorrt.ICudaEngine`.

        Raises:
            BackendError: TensorRT could not build or load it.
        """
        from polycmp_trt.build.layers import engine_layers, report_build

        plan, config, seconds = _build(self.network, self.config, self.save_timing_cache, self.timings, self.types)
        engine = _deserialize(plan, self.runtime, self.dla_strategy, trusted=True)
        layers = engine_layers(engine)
        report_build(engine, layers, config, int(plan.nbytes), seconds)
        if self.types is not None:
            self.types.collect(layers)
        return engine


def _deserialize(
    source: Buffer | trt.IStreamReaderV2,
    runtime: RuntimeSource,
    dla_strategy: trt.DLAWorkspaceAllocationStrategy | str | None,
    *,
    trusted: bool = False,
    what: str = "the engine",
) -> trt.ICudaEngine:
    """Return the engine in a buffer or stream reader.

    Args:
        source: Bytes, a buffer, or a stream reader.
        runtime: The runtime to use, a callable that makes one, or None for a new one.
        dla_strategy: See `EngineFromNetwork`.
        trusted: It may contain host code: it was built here, or the user trusts its source.
        what: Name of the engine in errors.
    """
    trt_runtime = resolve(runtime)
    if trt_runtime is None:
        trt_runtime = make_runtime(host_code=trusted and supports("host_code"))
    if dla_strategy:
        require("dla_workspace_allocation_strategy", "--dla-workspace-allocation-strategy")
        trt_runtime.dla_workspace_allocation_strategy = enum_value(
            "DLAWorkspaceAllocationStrategy", dla_strategy, "--dla-workspace-allocation-strategy"
        )
    with noted_errors() as notes:
        try:
            engine = trt_runtime.deserialize_cuda_engine(source)
        except (TypeError, RuntimeError, MemoryError) as error:
            engine = None
            notes.messages.append(describe_exception(error))
    if engine is None:
        text = " ".join(notes.messages).lower()
        hint = "build it again on this device with this release: polycmp convert MODEL.onnx -o FILE.engine"
        if "host code" in text:
            hint = "the engine carries host code; if you trust its source: --trt-engine-host-code-allowed"
        elif "plugin" in text:
            hint = "the engine needs a plugin; name its library: --plugins FILE.so"
        raise ModelError(
            f"TensorRT {release()} cannot load {what}",
            whose="trt",
            why=notes.why("it is damaged, truncated, or built by another release or for another device"),
            hint=hint,
        )
    notes.release()
    return engine


#: A serialised engine of any release is far longer than this.
_SHORTEST = 64


class EngineFromBytes(Loader["trt.ICudaEngine"]):
    """Loads a serialised engine.

    Args:
        serialized_engine: The bytes, or a callable that returns them.
        runtime: A `tensorrt.Runtime`, or a callable that makes one: `LoadRuntime(path)`.
        dla_workspace_allocation_strategy: Strategy for sharing the accelerator's workspace, where the release has it.
        engine_host_code_allowed: Let the engine run host code that it carries. Only for engines you trust.
    """

    def __init__(
        self,
        serialized_engine: Buffer | Callable[[], Buffer],
        runtime: RuntimeSource = None,
        dla_workspace_allocation_strategy: trt.DLAWorkspaceAllocationStrategy | str | None = None,
        engine_host_code_allowed: bool = False,
    ) -> None:
        self.serialized_engine = serialized_engine
        self.runtime = runtime
        self.dla_strategy = dla_workspace_allocation_strategy
        self.engine_host_code_allowed = engine_host_code_allowed

    def call_impl(self) -> trt.ICudaEngine:
        """Return the `tensorrt.ICudaEngine`.

        Raises:
            ModelError: The bytes are no engine, or none that this release and device can run.
        """
        content = resolve(self.serialized_engine)
        _check_engine_bytes(content, "the engine")
        return _deserialize(content, self.runtime, self.dla_strategy, trusted=self.engine_host_code_allowed)


def _check_engine_bytes(content: Buffer, what: str) -> None:
    """Refuse what is too short to be an engine: TensorRT would read beyond its end."""
    size = memoryview(content).nbytes
    if size < _SHORTEST:
        raise ModelError(
            f"{what} is not a TensorRT engine",
            whose="trt",
            why=f"it has {size} bytes",
            hint="build it again: polycmp convert MODEL.onnx -o FILE.engine",
        )


class EngineFromPath(Loader["trt.ICudaEngine"]):
    """Loads an engine from a file, piece by piece where the release can read so.

    Args:
        path: The file.
        runtime: A `tensorrt.Runtime`, or a callable that makes one: `LoadRuntime(path)`.
        dla_workspace_allocation_strategy: Strategy for sharing the accelerator's workspace, where the release has it.
        engine_host_code_allowed: Let the engine run host code that it carries. Only for engines you trust.
    """

    def __init__(
        self,
        path: PathSource,
        runtime: RuntimeSource = None,
        dla_workspace_allocation_strategy: trt.DLAWorkspaceAllocationStrategy | str | None = None,
        engine_host_code_allowed: bool = False,
    ) -> None:
        self.path = path
        self.runtime = runtime
        self.dla_strategy = dla_workspace_allocation_strategy
        self.engine_host_code_allowed = engine_host_code_allowed

    def call_impl(self) -> trt.ICudaEngine:
        """Return the `tensorrt.ICudaEngine`.

        Raises:
            FileError: The file cannot be read.
            ModelError: It is no engine, or none that this release and device can run.
        """
        path = str(resolve(self.path))
        if supports("stream_reader_v2") and Path(path).is_file() and Path(path).stat().st_size >= _SHORTEST:
            with Path(path).open("rb") as file:
                return self._load(_stream_reader(file), path)
        content = BytesFromPath(path)()
        _check_engine_bytes(content, path)
        return self._load(content, path)

    def _load(self, source: Buffer | trt.IStreamReaderV2, path: str) -> trt.ICudaEngine:
        return _deserialize(source, self.runtime, self.dla_strategy, trusted=self.engine_host_code_allowed, what=path)


def _stream_reader(file: BinaryIO) -> trt.IStreamReaderV2:
    trt = import_tensorrt()
    whence = {trt.SeekPosition.SET: 0, trt.SeekPosition.CUR: 1, trt.SeekPosition.END: 2}

    class Reader(trt.IStreamReaderV2):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            trt.IStreamReaderV2.__init__(self)

        def read(self, num_bytes: int, stream: int) -> bytes:
            return file.read(num_bytes)

        def seek(self, offset: int, where: SeekPosition) -> bool:
            file.seek(offset, whence[where])
            return True

    return Reader()


class BytesFromEngine(Loader[bytes]):
    """Serialises an engine.

    Args:
        engine: The engine, or a callable that makes it.
    """

    def __init__(self, engine: EngineSource) -> None:
        self.engine = engine

    def call_impl(self) -> bytes:
        """Return the engine's bytes.

        Raises:
            BackendError: TensorRT cannot serialise it.
        """
        return bytes(_serialize(resolve(self.engine)))


def _serialize(engine: trt.ICudaEngine) -> trt.IHostMemory:
    with noted_errors() as notes:
        plan = engine.serialize()
    if plan is None:
        raise BackendError("TensorRT cannot serialise the engine", whose="trt", why=notes.why())
    return plan


class SaveEngine(Loader["trt.ICudaEngine"]):
    """Writes an engine to a file, whole or not at all, and passes it on.

    Args:
        engine: The engine, or a callable that makes it.
        path: The file to write.
    """

    def __init__(self, engine: EngineSource, path: str | Path) -> None:
        self.engine = engine
        self.path = path

    def call_impl(self) -> trt.ICudaEngine:
        """Return the `tensorrt.ICudaEngine` after writing it.

        Raises:
            FileError: The file cannot be written.
        """
        engine = resolve(self.engine)
        with atomic_write(self.path) as file:
            file.write(cast(bytes, memoryview(_serialize(engine))))
        return engine


bytes_from_engine = immediate(BytesFromEngine)
engine_bytes_from_network = immediate(EngineBytesFromNetwork)
engine_from_bytes = immediate(EngineFromBytes)
engine_from_network = immediate(EngineFromNetwork)
engine_from_path = immediate(EngineFromPath)
save_engine = immediate(SaveEngine)
