"""Samples of a model's tensors: a backend runs it as it is, and several times with rounding errors put in at random."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp.builtin.judging.levels import perturbed_inputs
from polycmp.builtin.judging.limits import MARGIN, SAMPLES
from polycmp.builtin.judging.types import may_draw
from polycmp.compare import same_but_rounding
from polycmp.errors import PolycmpError
from polycmp.graph import ModelGraph, PerturbableGraph, Rounding, random_inputs
from polycmp.messages import only_errors
from polycmp.options import make_options
from polycmp.plan import BackendPlan
from polycmp.plugins import missing_modules
from polycmp.precision import unit_of
from polycmp.runs import BackendRun, Resolved, ResolvedBackend, copy_outputs
from polycmp.tensors import Feed, TensorMetadata, to_numpy

Tensors = Mapping[str, NDArray[Any]]
#: Makes samples: with seeds from a number on, so many, with perturbations so many times as large as rounding.
Take = Callable[[int, int, float], Iterable[Tensors]]
log: logging.Logger = logging.getLogger("polycmp.session")
#: Bytes of weights up to which a model is run again and again, with a rounded copy of each weight.
AFFORDABLE = 1 << 30
#: From so many seconds on it is said how long measuring takes; and before the first run what it costs, from so many
#: bytes of weights on, whose sessions take about that long (choice).
_NOTICEABLE, _LARGE = 2.0, 1 << 26
#: How much longer than the model as it is one with moved tensors runs (measured on 2026-11-29, float32, ResNet-50,
#: MiniLM and convolutions: 4.2 to 6.2 times on one core, 3.0 to 5.9 times on 16).
_MOVED_COST = 5.0


class Samples:
    """Tensors of a model as a backend computes them, without and with random perturbations.

    Args:
        exact: Tensors as computed, nothing perturbed.
        first: The same with all tensors on the way perturbed at random.
        take: Makes so again when it is needed, with random numbers of seeds from a number on, so many times and with
            perturbations so many times as large.
        backend: The backend.
        inside: Whether the tensors inside the model were perturbed; if not, its inputs alone were.

    Attributes:
        exact: Tensors as computed, nothing perturbed.
        backend: The backend.
        inside: Whether the tensors inside the model were perturbed; if not, its inputs alone were.
    """

    def __init__(
        self,
        exact: Tensors,
        first: Tensors,
        take: Take,
        backend: str,
        *,
        inside: bool = True,
    ) -> None:
        self.exact = exact
        self.backend = backend
        self.inside = inside
        self._take = take
        self._perturbed, self._amplified = [first], list[Tensors]()
        self._is_complete = False

    def perturbed(self, count: int = SAMPLES) -> Sequence[Tensors]:
        """Return the tensors with perturbations.

        Args:
            count: How many samples are looked at: one, or all.

        Returns:
            So many; fewer where the backend fails to make the others.
        """
        if count > len(self._perturbed) and not self._is_complete:
            self._is_complete = True
            self._perturbed += self._take(2, SAMPLES - 1, 1.0)
        return self._perturbed[:count]

    def amplified(self, count: int) -> Sequence[Tensors]:
        """Return the tensors with perturbations as large as rounding may be at most: `MARGIN` times the noise.

        Args:
            count: How many samples are looked at.

        Returns:
            So many; fewer where the backend fails to make them.
        """
        if count > len(self._amplified):
            self._amplified += self._take(len(self._amplified) + 1, count - len(self._amplified), MARGIN)
        return self._amplified[:count]


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
        if outputs is not None:
            return None
        return self._of_operators(feed, kinds) or self._of_inputs(feed, kinds)

    def _on(
        self,
        backend: ResolvedBackend,
        graph: PerturbableGraph,
        feed: Feed,
        kinds: Mapping[str, Rounding],
        outputs: Sequence[str],
    ) -> Samples | None:
        """Return samples of a backend; None where it cannot run the model, or not twice alike."""
        exact = _Exact(backend.make_run(graph.mark(outputs)), feed, runs=2 if may_draw(graph) else 1)
        take = partial(_moved_tensors, backend, graph, feed, kinds, outputs, exact.seconds)
        return _samples(exact, take, backend, inside=True)

    def _announce_runs(self, kinds: Mapping[str, Rounding], backend: ResolvedBackend) -> None:
        """Log how often a large model will run; how long that takes is known when it has run once."""
        size = 0 if self.graph is None else sum(self.graph.weights.values())
        if size >= _LARGE:
            about = coarsest(kinds), backend.label, size / 1e6
            log.warning("measuring what rounding to %s does, with %s: two runs or more of a model of %.0f MB", *about)

    def _of_operators(self, feed: Feed, kinds: Mapping[str, Rounding]) -> Samples | None:
        """Return samples of the outputs with what operators make moved by the reference itself; None if it cannot."""
        if not self._backend.can_perturb:
            return None
        exact = _Exact(self._backend.make_perturbed_run("", 0), feed)
        take = partial(_moved_own, self._backend, feed, kinds, exact.seconds, inside=True)
        return _samples(exact, take, self._backend, inside=True)

    def _of_inputs(self, feed: Feed, kinds: Mapping[str, Rounding]) -> Samples | None:
        """Return samples of the outputs for perturbed inputs, of the reference itself."""
        exact = _Exact(self._backend.make_run(), feed)
        take = partial(_moved_own, self._backend, feed, kinds, exact.seconds, inside=False)
        return _samples(exact, take, self._backend, inside=False)


class _Exact:
    """What a model makes as it is.

    Args:
        run: Runs it.
        feed: The inputs.
        runs: How often it runs: twice where the runs of a right backend may differ.

    Attributes:
        tensors: What each run makes; None where one fails or they differ, as those of a model that draws numbers do.
        seconds: How long the last took.
    """

    def __init__(self, run: BackendRun, feed: Feed, runs: int = 2) -> None:
        each = list(_run_all(run, [feed] * runs))
        self.tensors: Tensors | None = each[0] if len(each) == runs and _agree(each[0], each[-1]) else None
        self.seconds: float = run.last_seconds


def _samples(exact: _Exact, take: Take, backend: ResolvedBackend, *, inside: bool) -> Samples | None:
    """Return samples, of which the first is taken now; None where the model as it is or the first does not run.

    Args:
        exact: The model as it is.
        take: Makes samples.
        backend: Runs them.
        inside: Whether the tensors inside the model are perturbed.
    """
    first = list(take(1, 1, 1.0)) if exact.tensors is not None else []
    if exact.tensors is None or not first:
        return None
    return Samples(exact.tensors, first[0], take, backend.label, inside=inside)


def _moved_own(
    backend: ResolvedBackend,
    feed: Feed,
    kinds: Mapping[str, Rounding],
    seconds: float,
    seed: int,
    count: int,
    times: float,
    *,
    inside: bool,
) -> Iterator[Tensors]:
    """Yield what a backend's own model makes of moved inputs, with its operators' results moved, too, if `inside`.

    The other arguments are those of `_moved_tensors`.
    """
    _announce(kinds, backend, count * seconds * (_MOVED_COST if inside else 1.0))
    run = backend.make_perturbed_run(coarsest(kinds), seed, times) if inside else backend.make_run()
    feeds = (perturbed_inputs(feed, kinds, seed + place, all_types=not inside, times=times) for place in range(count))
    return _run_all(run, feeds)


def _moved_tensors(
    backend: ResolvedBackend,
    graph: PerturbableGraph,
    feed: Feed,
    kinds: Mapping[str, Rounding],
    outputs: Sequence[str],
    seconds: float,
    seed: int,
    count: int,
    times: float,
) -> Iterable[Tensors]:
    """Return samples of one session, whose random numbers go on; none where the model cannot be moved.

    Where a backend's random numbers start anew with each run, each sample has a session of its own.

    Args:
        backend: Runs the model.
        graph: The model.
        feed: The inputs as they are.
        kinds: Type that each tensor is rounded to, by name; that of all others under the empty name.
        outputs: Names of the tensors that are wanted.
        seconds: How long a run of the model as it is takes.
        seed: The first seed.
        count: How many samples.
        times: How many times as large as those of rounding the perturbations are.
    """

    def runs(seeds: Sequence[int]) -> Iterator[Tensors]:
        changed = graph.perturbed(kinds, seeds[0], TensorMetadata.from_feed_dict(feed), times)
        if changed is None:
            return iter(())
        feeds = (
            {**perturbed_inputs(feed, kinds, each, times=times), **random_inputs(changed, graph, each)}
            for each in seeds
        )
        return _run_all(backend.make_run(changed.mark(outputs)), feeds)

    _announce(kinds, backend, count * _MOVED_COST * seconds)
    seeds = range(seed, seed + count)
    samples = _while_they_differ(runs(seeds))
    for other in seeds[1:] if len(samples) == 1 else ():
        samples += runs([other])
    return samples


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


def _announce(kinds: Mapping[str, Rounding], backend: ResolvedBackend, seconds: float) -> None:
    """Log what measuring takes, where anybody would notice."""
    if seconds >= _NOTICEABLE:
        about = coarsest(kinds), backend.label, seconds
        log.warning("measuring what rounding to %s does, with %s: about %.0f s", *about)


def _run_all(run: BackendRun, feeds: Iterable[Feed]) -> Iterator[Tensors]:
    """Yield the outputs of a run for several inputs, up to the first that fails."""
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


def _agree(one: Tensors, two: Tensors) -> bool:
    return all(same_but_rounding(array, two[name]) for name, array in one.items())


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
