"""Running ONNX models in this process for the sake of the tools: on ONNX Runtime, or on the reference evaluator."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from polycmp.errors import BackendError, DataError, UsageError, describe_exception

_LOG = logging.getLogger("polycmp")

if TYPE_CHECKING:
    from polycmp.model import Model
    from polycmp.tensors import Source


class RefusedError(BackendError):
    """The backend does not even load a model: no inputs are to blame."""


def has_onnxruntime() -> bool:
    """Return whether ONNX Runtime can be imported."""
    try:
        import onnxruntime  # noqa: F401
    except ImportError:
        return False
    return True


def run_model(
    proto: Any, feed: Mapping[str, Any], *, providers: Sequence[str] = ("CPUExecutionProvider",), optimize: str = ""
) -> dict[str, Any]:
    """Return a model's outputs by name.

    Args:
        proto: An `onnx.ModelProto` of any size.
        feed: Arrays by name of the input; further ones are left out.
        providers: ONNX Runtime's execution providers.
        optimize: ONNX Runtime's graph optimization level: "disable_all", "enable_basic", "enable_extended" or
            "enable_all"; "" for none.

    Raises:
        RefusedError: It cannot be loaded.
        BackendError: It cannot be run.
    """
    names = [value.name for value in proto.graph.output]
    try:
        known, execute = _loaded(proto, feed, providers, optimize)
    except Exception as error:
        why = error.why if isinstance(error, BackendError) and error.why else describe_exception(error)
        raise RefusedError("the model cannot be loaded", whose=engine(), why=why) from error
    try:
        values = execute(names, {name: array for name, array in feed.items() if name in known})
    except BackendError:
        raise
    except Exception as error:
        raise BackendError("the model cannot be run", whose=engine(), why=describe_exception(error)) from error
    return dict(zip(names, values, strict=True))


def _loaded(
    proto: Any, feed: Mapping[str, Any], providers: Sequence[str], optimize: str
) -> tuple[set[str], Callable[[list[str], dict[str, Any]], list[Any]]]:
    """Load a model; return the names of its inputs, and what runs it."""
    if has_onnxruntime() and not _is_narrow(proto, feed):
        session = _session(proto, providers, optimize)
        return {item.name for item in session.get_inputs()}, session.run
    from polycmp_onnx.reference import make_evaluator

    return {value.name for value in proto.graph.input}, make_evaluator(proto).run


def _is_narrow(proto: Any, feed: Mapping[str, Any]) -> bool:
    """Return whether tensors go in or out whose types NumPy lacks, such as bfloat16: ONNX Runtime hands none out."""
    from polycmp.tensors import is_low_bit

    if any(is_low_bit(array.dtype) for array in feed.values() if hasattr(array, "dtype")):
        return True
    return len(proto.graph.node) == 1 and _narrows(proto.graph.node[0])


def _narrows(node: Any) -> bool:
    import onnx

    from polycmp.tensors import is_low_bit

    kinds = [item.i for item in node.attribute if item.name == "to"]
    return any(is_low_bit(onnx.helper.tensor_dtype_to_np_dtype(kind)) for kind in kinds)


def provider_names(parts: Sequence[str]) -> tuple[str, ...]:
    """Return ONNX Runtime's names of execution providers, asked for by any part of them.

    Raises:
        UsageError: It has none of such a name.
    """
    if not has_onnxruntime():
        return ()
    import onnxruntime

    available = onnxruntime.get_available_providers()
    names = []
    for name in parts:
        fitting = [item for item in available if name.lower() in item.lower()]
        if not fitting:
            why = f"there are: {', '.join(available)}"
            raise UsageError(f"ONNX Runtime has no execution provider {name!r}", whose="--providers", why=why)
        names += fitting
    return tuple(dict.fromkeys(names))


def engine() -> str:
    """Return the name of what runs models here."""
    return "ONNX Runtime" if has_onnxruntime() else "the ONNX reference evaluator"


def _session(proto: Any, providers: Sequence[str], optimize: str) -> Any:
    import onnxruntime

    from polycmp_onnx.graph import is_too_large

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    level = f"ORT_{(optimize or 'disable_all').upper()}"
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
    if not is_too_large(proto):
        return onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=list(providers))
    import tempfile
    from pathlib import Path

    from polycmp_onnx.save import SaveOnnx

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        SaveOnnx(proto, path, external_data_path="")()
        return onnxruntime.InferenceSession(str(path), options, providers=list(providers))


def first_feed(model: Model) -> dict[str, Any]:
    """Return the first feed for a model, from the source of inputs that the options choose.

    Open dimensions have the sizes that a run would give them.

    Raises:
        DataError: There is none.
    """
    from polycmp.tensors import DataSource
    from polycmp_onnx.graph import graph_inputs, tensor_metadata, unfed_input
    from polycmp_onnx.ranges import with_ranges

    proto = model.load("onnx")()
    if name := unfed_input(proto.graph):
        raise DataError(f"the input {name!r} is no tensor, and only tensors are fed")
    inputs = with_ranges(tensor_metadata(graph_inputs(proto.graph)), proto)
    source = _source(model)
    for feed in source(inputs):
        for note in source.notes if isinstance(source, DataSource) else ():
            _LOG.info("inputs: %s", note)
        return dict(feed)
    raise DataError("there is no feed to run the model on", hint="--load-inputs PATH, or a data loader that yields one")


def _source(model: Model) -> Source:
    """Return the source of a model's inputs, which tries sizes of open dimensions as that of a run does."""
    from polycmp.options import make_options
    from polycmp.plan import BackendPlan
    from polycmp.runs import PlanSource, ResolvedBackend, ShapeSearch
    from polycmp_onnx.trial import trial_backend

    source, registry = model.data_loader, model.registry
    assert source is not None
    name, described = trial_backend(registry), model.describe()
    if not name or described is None or not isinstance(source, PlanSource):
        return source
    runner = registry.find_runner(name)
    backend = ResolvedBackend(BackendPlan(name, name, make_options(runner.spec.options, {}, name)), model, runner)
    return source.with_descriptions([described], ShapeSearch([backend], registry))


def all_tensors(model: Model, proto: Any) -> dict[str, Any]:
    """Return the inputs of a model and every tensor inside, as they are in one run.

    Args:
        model: Says what the inputs are.
        proto: The model, which is left as it is.

    Raises:
        BackendError: It cannot be run.
    """
    from polycmp_onnx.graph import graph_inputs
    from polycmp_onnx.outputs import MARK_ALL, ModifyOutputs

    feed = first_feed(model)
    marked = ModifyOutputs(proto, outputs=MARK_ALL)()
    fed = {value.name for value in graph_inputs(proto.graph)}
    return {**{name: array for name, array in feed.items() if name in fed}, **run_model(marked, feed)}
