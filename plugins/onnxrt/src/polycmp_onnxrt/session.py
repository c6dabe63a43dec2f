"""The loader that makes a session of ONNX Runtime."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from functools import cache
from pathlib import Path
from typing import Any

from polycmp.errors import BackendError, UsageError
from polycmp.loader import Loader, exact_path, immediate, keyword_aliases
from polycmp.runner import usable_cores
from polycmp_onnxrt.choices import CPU, OPTIMIZATION_LEVELS, parse_optimization
from polycmp_onnxrt.logs import captured, session_severity, severity
from polycmp_onnxrt.provider_packages import RECORD_ASSIGNMENT
from polycmp_onnxrt.providers import ChosenProvider, Provider, add_providers, require_providers, resolve_providers
from polycmp_onnxrt.reasons import loading_failed, missing_runtime, shorten
from polycmp_onnxrt.source import (
    WEIGHTS_FOLDER,
    external_of,
    mapped,
    native_path,
    reads_from_folder,
    refuse_weights_elsewhere,
    serialized,
)

#: Threads that wait busily for their session's next operator take the cores from the other backends of a comparison.
_NO_SPINNING = {"session.intra_op.allow_spinning": "0", "session.inter_op.allow_spinning": "0"}
#: The entry with which a session takes its memory from the arena of the process.
_SHARED = "session.use_env_allocators"


def import_onnxruntime() -> Any:
    """Return the module `onnxruntime`.

    Raises:
        PluginError: It is not installed, or cannot be loaded here.
    """
    with captured():
        try:
            import onnxruntime
        except ImportError as error:
            raise missing_runtime(error) from error
        onnxruntime.set_default_logger_severity(severity())
    return onnxruntime


@keyword_aliases(model_bytes="model")
class SessionFromOnnx(Loader[Any]):
    """Makes an `onnxruntime.InferenceSession`.

    Args:
        model: A path, a serialized model, an `onnx.ModelProto`, or a callable that returns one of them. A loader that
            only reads a file (its `exact_file()` says which) is not called: ONNX Runtime reads the file itself,
            so that large weights are not copied through Python.
        providers: Execution providers, most wanted first: names or unambiguous parts of them in any case, with
            options as `"cuda[device_id=1]"` or as a tuple of name and mapping.
        graph_optimization_level: `off`, `basic`, `extended`, `layout`, `all`, ONNX Runtime's names or enumeration.
        optimization: The same under the name of the command line's option.
        disable_optimizers: Names of ONNX Runtime's optimizers to leave out.
        threads: Threads inside one operator; by default one for each core that this process may use.
        inter_threads: Largest number of operators that run at the same time; more than 1 turns parallel execution on.
        op_libs: Shared libraries with custom operators.
        deterministic: Prefer kernels that give the same result in every run.
        config: Further entries of the session's configuration.
        save_optimized: File for the model as ONNX Runtime optimized it; None not to write it.
        profile: File for ONNX Runtime's profile, written when the runner is deactivated; None for no profile.

    Attributes:
        notes: Which provider runs how much of the model in the session that was made last, in words.
    """

    def __init__(
        self,
        model: Any,
        providers: Iterable[Provider] = ("cpu",),
        graph_optimization_level: Any = None,
        *,
        optimization: Any = "all",
        disable_optimizers: Iterable[str] = (),
        threads: int | None = None,
        inter_threads: int = 1,
        op_libs: Iterable[str | Path] = (),
        deterministic: bool = False,
        config: Mapping[str, str] | None = None,
        save_optimized: str | Path | None = None,
        profile: str | Path | None = None,
    ) -> None:
        self.model = model
        self.providers = tuple(providers)
        level = optimization if graph_optimization_level is None else graph_optimization_level
        try:
            self.optimization = parse_optimization(level)
        except ValueError as error:
            raise UsageError(str(error), whose="onnxrt") from None
        self.disable_optimizers = tuple(disable_optimizers)
        self.threads = threads
        self.inter_threads = inter_threads
        self.op_libs = tuple(op_libs)
        self.deterministic = deterministic
        self.config = dict(config or {})
        self.save_optimized = save_optimized
        self.profile = profile
        self.notes: list[str] = []

    def call_impl(self) -> Any:
        """Return the session.

        Raises:
            PluginError: ONNX Runtime is not installed, or lacks a provider.
            ModelError: The model cannot be read or is not valid.
            BackendError: ONNX Runtime cannot load it, lacks an operator, or refuses an option.
            UsageError: A provider's name means none or several of the providers here.
        """
        with captured():
            return self._make_session(import_onnxruntime())

    def _make_session(self, ort: Any) -> Any:
        providers = resolve_providers(self.providers, tuple(ort.get_available_providers()))
        path = exact_path(self.model)
        if path is not None:
            refuse_weights_elsewhere(ort, self.model)
        session = None
        names = [provider.name for provider in providers]
        # Weights are mapped from a file where nothing else runs it: other providers may want the file's path.
        if path is not None and self.save_optimized is None and set(names) == {CPU}:
            session = self._mapping_session(ort, path, providers)
        if session is None:
            options = self._session_options(ort)
            if any(provider.library for provider in providers):
                add_providers(ort, options, providers)
                providers = []  # the session takes them from its options
            source, name = self._source(ort, options)
            with source as path_or_bytes:
                try:
                    session = self._session(ort, path_or_bytes, options, providers)
                except Exception as error:
                    self._explain_with_the_loader(error)
                    raise loading_failed(error, model=name) from error
        self.notes = require_providers(session, names)
        return session

    def _session(self, ort: Any, path_or_bytes: Any, options: Any, providers: Sequence[ChosenProvider]) -> Any:
        wanted = [(provider.name, provider.options) for provider in providers] or None
        disabled = list(self.disable_optimizers) or None
        return ort.InferenceSession(
            path_or_bytes, options, providers=wanted, disabled_optimizers=disabled, enable_fallback=0
        )

    def _mapping_session(self, ort: Any, path: str, providers: Sequence[ChosenProvider]) -> Any:
        """Return a session that maps the weights from the model's file; None where it does not come about so."""
        weights = mapped(path) if reads_from_folder(ort) else None
        if weights is None:
            return None
        content, folder = weights
        options = self._session_options(ort)
        options.add_session_config_entry(WEIGHTS_FOLDER, native_path(str(folder)))
        with suppress(Exception):  # the whole file then says what is wrong
            return self._session(ort, content, options, providers)
        return None

    def _source(self, ort: Any, options: Any) -> tuple[Any, str]:
        """Return a context manager that gives a path or bytes for the session, and what to call the model."""
        path = exact_path(self.model)
        if path is not None:
            return nullcontext(native_path(path)), path
        external = external_of(self.model) if reads_from_folder(ort) else None
        if external is not None:
            options.add_session_config_entry(WEIGHTS_FOLDER, str(external.folder.absolute()))
            return serialized(external.model), "the model"
        return serialized(self.model() if callable(self.model) else self.model), "the model"

    def _explain_with_the_loader(self, error: Exception) -> None:
        # The loader that was skipped for speed knows better why its file is not a model.
        if callable(self.model) and "INVALID_PROTOBUF" in str(error) and exact_path(self.model) is not None:
            self.model()

    def _session_options(self, ort: Any) -> Any:
        options = ort.SessionOptions()
        options.log_severity_level = session_severity()
        level = getattr(ort.GraphOptimizationLevel, OPTIMIZATION_LEVELS[self.optimization], None)
        if level is None:
            raise BackendError(f"ONNX Runtime {ort.__version__} has no level {self.optimization!r}", whose="onnxrt")
        options.graph_optimization_level = level
        options.intra_op_num_threads = self.threads or usable_cores()
        options.inter_op_num_threads = self.inter_threads
        if self.inter_threads > 1:
            options.execution_mode = ort.ExecutionMode.ORT_PARALLEL
        options.use_deterministic_compute = self.deterministic
        if self.save_optimized is not None:
            options.optimized_model_filepath = str(self.save_optimized)
        if self.profile is not None:
            options.enable_profiling = True
            options.profile_file_prefix = str(self.profile)
        shared = {_SHARED: "1"} if share_arena(ort) else {}
        entries = {**_NO_SPINNING, **shared, RECORD_ASSIGNMENT: "1", **self.config}
        # From the second run on a pattern takes all of a run's memory in one piece, beside the pieces of the first.
        options.enable_mem_pattern = entries.get(_SHARED) != "1"
        for key, value in entries.items():
            _refusing(f"refuses the configuration entry {key}={value}", options.add_session_config_entry, key, value)
        for library in self.op_libs:
            path = os.path.abspath(library)  # noqa: PTH100  the system's loader searches its own folders otherwise
            _refusing(f"cannot load the operator library {library}", options.register_custom_ops_library, path)
        return options


session_from_onnx = immediate(SessionFromOnnx)


def _refusing(what: str, call: Callable[..., Any], *args: Any) -> None:
    try:
        call(*args)
    except Exception as error:
        raise BackendError(what, whose="onnxrt", why=shorten(str(error))) from error


@cache
def share_arena(ort: Any) -> bool:
    """Make ONNX Runtime keep one arena of host memory for the whole process; return whether it has one.

    A session that takes its outputs from it gets pages that an earlier session has touched already. Faulting in fresh
    pages costs more than half of the time where every tensor of a model is an output.
    """
    memory = ort.OrtMemoryInfo("Cpu", ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, ort.OrtMemType.DEFAULT)
    same_as_requested = 1  # the default strategy doubles each extension
    try:
        ort.create_and_register_allocator(memory, ort.OrtArenaCfg(0, same_as_requested, -1, -1))
    except Exception as error:  # noqa: BLE001  raised without a type of its own
        return "already" in str(error)  # another library's arena is as good
    return True
