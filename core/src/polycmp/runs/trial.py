"""Running feeds on the quickest backend there is, before or beside a run, to see whether and with what result."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from polycmp.data.coerce import coerce_feed
from polycmp.data.input_pairs import pair_inputs
from polycmp.errors import PolycmpError, describe_exception, is_users_failure
from polycmp.messages import only_errors
from polycmp.model import Model
from polycmp.options import make_options
from polycmp.plan import BackendPlan
from polycmp.plugins import missing_modules
from polycmp.runner import Runner, infer, input_metadata
from polycmp.tensors import Feed, TensorMetadata, to_numpy

if TYPE_CHECKING:
    from polycmp.plugins import Registry
    from polycmp.runs.resolved_backend import ResolvedBackend

_LOG = logging.getLogger("polycmp.data")
Arrays = Mapping[str, NDArray[Any]]


class Trial:
    """Runs feeds on an active runner.

    Args:
        runner: The runner.
        names: Names in the feeds, by the runner's, of inputs that it calls otherwise.
    """

    def __init__(self, runner: Runner, names: Mapping[str, str]) -> None:
        self._runner, self._names = runner, names

    def run(self, feed: Feed) -> Arrays | str:
        """Return the outputs for a feed, or the reason, in words, why it does not run."""
        try:
            feed = {**feed, **{input_name: feed[name] for input_name, name in self._names.items()}}
            outputs = infer(self._runner, coerce_feed(feed, input_metadata(self._runner), self._runner.name))
            arrays = {name: to_numpy(array) for name, array in outputs.items()}
            if self._runner.outputs_stay_valid:
                return arrays
            return {name: array.copy() for name, array in arrays.items()}
        except BaseException as error:
            if not is_users_failure(error):
                raise
            return error.what if isinstance(error, PolycmpError) and not error.why else describe_exception(error)


@contextmanager
def open_trial(
    backends: Sequence[ResolvedBackend], registry: Registry, inputs: TensorMetadata, *, plain: bool = False
) -> Iterator[Trial | None]:
    """Open a backend for trial runs of feeds; None where no backend is quick enough.

    Args:
        backends: The backends of the run.
        registry: The plugins.
        inputs: The inputs by their names in the feeds.
        plain: Whether to run the last backend's model, which is mostly the reference's, as its file has it, with no
            other outputs than its own.
    """
    backend = quickest(backends, registry)
    if backend is not None and plain:
        backend = with_plain_model(backend, backends[-1].model)
    runner = None if backend is None else _activated(backend)
    if runner is None:
        yield None
        return
    try:
        model_inputs = input_metadata(runner)
        names = pair_inputs(model_inputs, inputs).names
        with only_errors():
            yield Trial(runner, names) if all(name in names or name in inputs for name in model_inputs) else None
    finally:
        runner.deactivate()


def quickest(backends: Sequence[ResolvedBackend], registry: Registry) -> ResolvedBackend | None:
    """Return the quickest of the backends that run in this process, or else of those installed; None if none is.

    Where some run in other processes, no backend is loaded here that would not be anyway.

    Args:
        backends: The backends of the run.
        registry: The plugins.
    """
    here = [item for item in backends if item.contribution is not None and not item.make_worker]
    others = _others(backends, registry) if len(here) == len(backends) else ()
    quick = [item for item in (*here, *others) if _cost(item)]
    return min(quick, key=_cost, default=None)


def with_plain_model(backend: ResolvedBackend, model: Model) -> ResolvedBackend:
    """Return a backend with the model of another, where it can load that, as the file has it.

    Args:
        backend: The backend.
        model: The model of the other.
    """
    accepts = () if backend.contribution is None else backend.contribution.spec.accepts
    wanted = model if model.can_load(accepts) else backend.model
    settings = replace(wanted.settings, loader_options={})
    return replace(backend, model=Model(wanted.source, wanted.registry, settings))


def _others(backends: Sequence[ResolvedBackend], registry: Registry) -> Iterator[ResolvedBackend]:
    model = backends[-1].model
    for item, tools in registry.equipped(registry.runners.values()):
        spec = item.spec
        if tools.trial_cost and model.can_load(spec.accepts) and not missing_modules(spec):
            plan = BackendPlan(spec.name, spec.name, make_options(spec.options, {}, spec.name))
            yield replace(backends[-1], plan=plan, contribution=item, make_worker=None)


def _cost(backend: ResolvedBackend) -> int:
    return backend.tools.trial_cost


def _activated(backend: ResolvedBackend) -> Runner | None:
    try:
        runner = backend.make_runner()
        runner.activate()
    except BaseException as error:
        if not is_users_failure(error):
            raise
        _LOG.debug("%s cannot try inputs", backend.label, exc_info=error)
        return None
    return runner
