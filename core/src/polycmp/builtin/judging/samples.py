"""Samples of a model's tensors: a backend runs it as it is, and several times with rounding errors put in at random."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polycmp.builtin.judging.levels import perturbed_inputs
from polycmp.builtin.judging.limits import SAMPLES
from polycmp.compare import same_but_rounding
from polycmp.errors import PolycmpError
from polycmp.graph import ModelGraph, PerturbableGraph, Rounding
from polycmp.loader import Loader
from polycmp.messages import only_errors
from polycmp.options import make_options
from polycmp.plan import BackendPlan
from polycmp.plugins import missing_modules
from polycmp.precision import UNITS, unit_of
from polycmp.runs import Resolved, ResolvedBackend, copy_outputs
from polycmp.tensors import Feed, to_numpy

Tensors = Mapping[str, NDArray[Any]]
log: logging.Logger = logging.getLogger("polycmp.session")
#: Bytes of weights up to which a model is run again and again, with a rounded copy of each weight.
AFFORDABLE = 1 << 30
#: From so many seconds on it is said how long measuring takes; and before the first run what it costs, from so many
#: bytes of weights on, whose sessions take about that long (choice).
_NOTICEABLE, _LARGE = 2.0, 1 << 26
#: Number of models that are made where weights are rounded: one that rounds them to the nearest step, and one that
#: moves them at random.
_MODELS = 2


class Samples(NamedTuple):
    """Tensors of a model as a backend computes them, without and with random perturbations.

    Attributes:
        exact: Tensors as computed, nothing perturbed.
        perturbed: The same, each time with all tensors on the way perturbed at random.
        backend: The backend.
        inside: Whether the tensors inside the model were perturbed; if not, its inputs alone were.
    """

    exact: Tensors
    perturbed: tuple[Tensors, ...]
    backend: str
    inside: bool = True


class PerturbedRuns:
    """Runs of a model with its tensors perturbed, on the installed backend that does it fastest.

    Args:
        backend: The reference.
        graph: The reference's model; None where it has no graph.

    Attributes:
        graph: The reference's model; None where it has no graph.
    """

    def __init__(self, backend: ResolvedBackend, graph: ModelGraph | None) -> None:
        self._backend = backend
        self.graph = graph
        self._able: list[ResolvedBackend] = []
        if isinstance(graph, PerturbableGraph) and sum(graph.weights.values()) <= AFFORDABLE:
            self._able = list(_able(backend))

    def samples(
        self, feed: Feed, kinds: Mapping[str, Rounding], outputs: Sequence[str] | None = None
    ) -> Samples | None:
        """Return samples of tensors; None where nothing can run the model so.

        Args:
            feed: The inputs.
            kinds: Type that each tensor is rounded to, by name; that of all others under the empty name.
            outputs: Names of the tensors; if None the model's outputs, which perturbed inputs alone show if need be.
        """
        graph = self.graph
        while self._able and isinstance(graph, PerturbableGraph):
            backend = self._able[0]
            self._announce_runs(kinds, backend)
            samples = self._on(backend, graph, feed, kinds, outputs or graph.outputs)
            if samples is not None:
                return samples
            del self._able[0]
        return self._of_inputs(feed, kinds) if outputs is None else None

    def _on(
        self,
        backend: ResolvedBackend,
        graph: PerturbableGraph,
        feed: Feed,
        kinds: Mapping[str, Rounding],
        outputs: Sequence[str],
    ) -> Samples | None:
        """Return samples of a backend; None where it cannot run the model, or not twice alike."""
        exact = _repeated(_run_all(backend, graph.mark(outputs), [feed, feed]))
        if exact is None:
            return None
        perturbed = tuple(self._perturbed(backend, graph, feed, kinds, outputs))
        return Samples(exact, perturbed, backend.label) if len(perturbed) == SAMPLES else None

    def _announce_runs(self, kinds: Mapping[str, Rounding], backend: ResolvedBackend) -> None:
        """Log how often a large model will run; how long that takes is known when it has run once."""
        size = 0 if self.graph is None else sum(self.graph.weights.values())
        if size >= _LARGE:
            about = coarsest(kinds), backend.label, SAMPLES + 1, size / 1e6
            log.warning("measuring what rounding to %s does, with %s: %d runs of a model of %.0f MB", *about)

    def _of_inputs(self, feed: Feed, kinds: Mapping[str, Rounding]) -> Samples | None:
        """Return samples of the outputs for perturbed inputs, of the reference itself."""
        exact = _repeated(_announced(_run_all(self._backend, None, [feed, feed]), kinds, self._backend))
        if exact is None:
            return None
        feeds = (perturbed_inputs(feed, kinds, seed, all_types=True) for seed in range(1, SAMPLES + 1))
        perturbed = tuple(outputs for fed in feeds if (outputs := _run(self._backend, None, fed)) is not None)
        return Samples(exact, perturbed, self._backend.label, inside=False) if len(perturbed) == SAMPLES else None

    @staticmethod
    def _perturbed(
        backend: ResolvedBackend,
        graph: PerturbableGraph,
        feed: Feed,
        kinds: Mapping[str, Rounding],
        outputs: Sequence[str],
    ) -> Iterator[Tensors]:
        """Yield samples: several of each session, whose random numbers go on, as making it is what takes long."""
        models = _MODELS if _is_coarse(kinds) else 1  # weights that are rounded differ from model to model
        seeds = range(1, 1 + models)
        for seed in seeds:
            changed = graph.perturbed(kinds, seed)
            if changed is None:
                return
            count = SAMPLES // len(seeds)
            feed_seeds = [seed + len(seeds) * place for place in range(count)]
            runs = _run_all(backend, changed.mark(outputs), _moved_feeds(feed, kinds, feed_seeds))
            samples = _while_they_differ(_announced(runs, kinds, backend) if seed == seeds[0] else runs)
            if len(samples) == 1:
                for one in feed_seeds[1:]:
                    other = graph.perturbed(kinds, one) or changed
                    samples += _run_all(backend, other.mark(outputs), _moved_feeds(feed, kinds, [one]))
            yield from samples


def perturbed_runs(resolved: Resolved, label: str, graph: ModelGraph) -> PerturbedRuns | None:
    """Make the runs of a model with perturbed tensors; None where the backend has a graph of its own.

    Args:
        resolved: The backends.
        label: Label of the run of one of them.
        graph: Its model, under the model's own names.
    """
    backend = next((item for item in resolved.backends if item.label == label), None)
    return None if backend is None or not isinstance(backend.inside, str) else PerturbedRuns(backend, graph)


def coarsest(kinds: Mapping[str, Rounding]) -> str:
    """Return the name of the coarsest type among what tensors are rounded to."""
    names = [kind if isinstance(kind, str) else "int8" for kind in kinds.values()]
    return max(names, key=unit_of)


def _is_coarse(kinds: Mapping[str, Rounding]) -> bool:
    return unit_of(coarsest(kinds)) > UNITS["float32"]


def _moved_feeds(feed: Feed, kinds: Mapping[str, Rounding], seeds: Iterable[int]) -> Iterator[Feed]:
    """Yield inputs moved with one seed after the other, made when they are asked for."""
    return (perturbed_inputs(feed, kinds, seed) for seed in seeds)


def _announced(runs: Iterator[Tensors], kinds: Mapping[str, Rounding], backend: ResolvedBackend) -> Iterator[Tensors]:
    """Yield what runs make, and log how long all take, by the time of the second: the first waits for its session."""
    start = 0.0
    for place, outputs in enumerate(runs):
        seconds = time.monotonic() - start
        if place == 1 and SAMPLES * seconds >= _NOTICEABLE:
            about = coarsest(kinds), backend.label, SAMPLES * seconds
            log.warning("measuring what rounding to %s does, with %s: about %.0f s", *about)
        start = time.monotonic()
        yield outputs


def _run(backend: ResolvedBackend, loader: Loader[Any] | None, feed: Feed) -> Tensors | None:
    """Run a part, or the backend's own model, and copy its outputs; None if the backend cannot run it."""
    return next(_run_all(backend, loader, [feed]), None)


def _run_all(backend: ResolvedBackend, loader: Loader[Any] | None, feeds: Iterable[Feed]) -> Iterator[Tensors]:
    """Yield the outputs of a part, or the backend's own model, for several inputs, up to the first that fails."""
    run = backend.make_run(loader)
    try:
        with only_errors():
            run.activate()
        for feed in feeds:
            with only_errors():
                outputs = run.infer(feed)
            if outputs is None:
                return
            lasting = outputs if run.outputs_stay_valid else copy_outputs(outputs)
            yield {name: to_numpy(array) for name, array in lasting.items()}
    finally:
        with only_errors():
            run.deactivate()


def _repeated(runs: Iterator[Tensors]) -> Tensors | None:
    """Return the outputs of two equal runs; None where they differ, as those of a model that draws numbers do."""
    one, two = next(runs, None), next(runs, None)
    if one is None or two is None or not all(same_but_rounding(array, two[name]) for name, array in one.items()):
        return None
    return one


def _while_they_differ(runs: Iterator[Tensors]) -> list[Tensors]:
    """Return what runs make, or the first alone where the second is equal: a backend's random numbers start anew."""
    first = list(islice(runs, 2))
    if len(first) > 1 and first[0] and _are_equal(*first):
        return first[:1]
    return [*first, *runs]


def _are_equal(one: Tensors, two: Tensors) -> bool:
    return all(np.array_equal(array, two[name]) for name, array in one.items())


def _able(backend: ResolvedBackend) -> Iterator[ResolvedBackend]:
    """Yield backends that may run a changed model, the fastest first, the one that was asked for last."""
    model = backend.model
    equipped = model.registry.equipped(model.registry.runners.values())
    runners = [(tools.trial_cost, item) for item, tools in equipped if tools.trial_cost > 0 and tools.runs_parts]
    for _, item in sorted(runners, key=lambda runner: runner[0]):
        spec = item.spec
        if model.can_load(spec.accepts) and not missing_modules(spec):
            try:
                options = make_options(spec.options, {}, spec.name)
            except PolycmpError:
                continue
            yield _plain(ResolvedBackend(BackendPlan(spec.name, spec.name, options), model, item))
    if backend.contribution is not None and backend.make_worker is None and backend.inside == "graph":
        yield _plain(backend)


def _plain(backend: ResolvedBackend) -> ResolvedBackend:
    """Return a backend with all its optimisations off.

    They take longer than all runs, and join operators of the model as it is that they leave apart where tensors move:
    a wrong kernel for several operators would pass for noise.
    """
    for switch in backend.tools.switches:
        now = getattr(backend.plan.options, switch.option)
        value = (*now, *switch.values) if isinstance(now, tuple) else switch.values[-1]
        backend = backend.with_option(switch.option, value) or backend
    return backend
