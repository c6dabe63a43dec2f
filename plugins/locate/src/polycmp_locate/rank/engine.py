"""From a plan to the ranking of the layers, and to the model that keeps the fewest of them in float."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from polycmp.errors import ModelError, UsageError, did_you_mean
from polycmp.graph import ModelGraph
from polycmp.plan import Plan
from polycmp.runs.backend_run import copy_outputs
from polycmp.runs.loop import copy_feed, open_feeds
from polycmp.runs.resolve import Resolved, ResolvedBackend, resolve
from polycmp.tensors import Feed, TensorMetadata
from polycmp_layerwise.open import open_partitioned_runs
from polycmp_layerwise.partitioned_run import Lane
from polycmp_locate.pairing import pair_graphs
from polycmp_locate.rank.measure import Measurer
from polycmp_locate.rank.result import LayerFigures, Ranking
from polycmp_locate.rank.search import Found, guided, in_order
from polycmp_locate.rank.trials import Trials

if TYPE_CHECKING:
    from onnx import ModelProto

    from polycmp.plugins import Registry

Stage = Callable[[str], None]
#: A search may take this many runs whatever the number of layers.
_LEAST_RUNS = 24


@dataclass(frozen=True)
class RankOptions:
    """How to search.

    Attributes:
        mode: `guided` by each layer's own error; or `bisect` or `linear` in the model's order.
        reverse: Whether layers stay in float from the model's end on, in the model's order.
        top: How many layers' own gain is measured.
        save: Where the mixed model goes; empty for nowhere.
        reduce: Makes the reduced model of the float model; None where the candidate has a file of its own.
    """

    mode: str = "guided"
    reverse: bool = False
    top: int = 3
    save: str = ""
    reduce: Callable[[Any], Any] | None = None


def rank(
    plan: Plan, registry: Registry, options: RankOptions | None = None, on_stage: Stage = lambda _: None
) -> Ranking:
    """Measure what each layer of a reduced model does wrong, and find the fewest that have to stay in float.

    Args:
        plan: Models, backends, inputs and tolerances.
        registry: The plugins.
        options: How to search.
        on_stage: Told in words what happens next.

    Raises:
        UsageError: There are not two backends with a model each.
        ModelError: A model cannot be read or run, or they have nothing in common.
        PolycmpError: Anything else that keeps the search from starting.
    """
    start = time.perf_counter()
    options = options or RankOptions()
    search = _Search(plan, registry, options, on_stage)
    found = search.run()
    found.command, found.seconds = plan.command, time.perf_counter() - start
    return found


class _Search:
    def __init__(self, plan: Plan, registry: Registry, options: RankOptions, on_stage: Stage) -> None:
        from polycmp_onnx.mixed import Mixer, graph_of

        self.plan, self.registry, self.options, self.on_stage = plan, registry, options, on_stage
        resolved = resolve(plan, registry)
        self.candidate, self.reference = _two(resolved, plan.compare.reference, made=options.reduce is not None)
        on_stage("reading the models")
        exact = _onnx(self.reference)
        reduced = options.reduce(exact) if options.reduce is not None else _onnx(self.candidate)
        lanes = {lane.label: lane for lane in open_partitioned_runs(resolved)}
        self.believed, self.judged = lanes[self.reference.label], lanes[self.candidate.label]
        if options.reduce is not None:  # its model has no file, so what was opened for it is the float model
            self.judged = Lane(self.judged.result, graph_of(reduced), self.candidate.make_runner, self.candidate.needs)
        self.mixer = Mixer(exact, reduced, paired(self.judged.graph, self.believed.graph))
        self.resolved = resolved

    def run(self) -> Ranking:
        found = Ranking(self.candidate.label, self.reference.label, self.options.mode)
        cases = self._cases()
        found.layers, measuring = self._layers(cases)
        order = self._order(found.layers)
        trials = Trials(
            self.mixer, [item.layer for item in found.layers], self.candidate, cases,
            self.plan.compare, self.registry, self.reference.label, self.on_stage,
        )  # fmt: skip
        outcome = self._find(found, order, trials)
        found.search_runs = len(trials.done) + measuring
        found.fewest = outcome.fewest
        found.kept = None if outcome.kept is None else sorted(outcome.kept)
        for index in found.kept or ():
            found.layers[index].kept = True
        self._measure_gains(found, order, trials)
        found.trials, found.all_runs = list(trials.done.values()), len(trials.done) + measuring
        found.backends = [trials.result]
        self._write(found)
        return found

    def _cases(self) -> list[tuple[Feed, dict[str, Any]]]:
        """Return all inputs with what the reference makes of them."""
        live = self.reference.make_run()
        live.activate()
        cases = []
        self.on_stage("running the reference")
        for feed in open_feeds(self.resolved.source, live.inputs() or TensorMetadata()) if live.is_active else ():
            made = live.infer(feed)
            if made is None:
                break
            cases.append((copy_feed(feed), copy_outputs(made)))
        live.deactivate()
        if live.result.error:
            raise ModelError(f"the reference failed: {live.result.error}", whose=live.label, hint=live.result.hint)
        if not cases:
            raise UsageError("the data loader gave no inputs")
        return cases

    def _layers(self, cases: Sequence[tuple[Feed, Any]]) -> tuple[list[LayerFigures], int]:
        measurer = Measurer(self.mixer, self.believed, self.judged, self.candidate, cases[0][0], self.on_stage)
        return measurer.figures(), measurer.runs

    def _order(self, layers: Sequence[LayerFigures]) -> list[int]:
        if self.options.mode != "guided":
            return list(range(len(layers)))[:: -1 if self.options.reverse else 1]
        return sorted(range(len(layers)), key=lambda index: layers[index].rank)

    def _find(self, found: Ranking, order: Sequence[int], trials: Trials) -> Found:
        if self.options.mode != "guided":
            return in_order(order, trials.passes, linear=self.options.mode == "linear")
        trials.limit = max(_LEAST_RUNS, len(order) // 10)
        first = sum(item.is_ruined for item in found.layers)
        return guided(order, trials.passes, max(first, 1))

    def _measure_gains(self, found: Ranking, order: Sequence[int], trials: Trials) -> None:
        """Measure what the layers that matter most bring: alone in float, and as the only one of the kept not to be."""
        trials.limit = None
        kept = frozenset(found.kept or ())
        tops = [*(index for index in order if index in kept), *(index for index in order if index not in kept)]
        for place, index in enumerate(tops):
            item, alone, without = found.layers[index], frozenset({index}), kept - {index}
            if place < self.options.top and kept:
                trials.trial(alone)
                if item.kept:
                    trials.trial(without)
            if alone in trials.done:
                item.alone = trials.done[alone].ratio
            if item.kept and without in trials.done:
                item.without = trials.done[without].ratio

    def _write(self, found: Ranking) -> None:
        """Write the model that was run and judged, and no other."""
        if not self.options.save:
            return
        if found.kept is None:
            found.notes.append(f"no model meets the tolerance, so {self.options.save} was not written")
            return
        from polycmp_onnx import save_onnx

        save_onnx(self.mixer.mix(found.layers[index].layer for index in found.kept), self.options.save)
        found.files.append(self.options.save)


def paired(candidate: ModelGraph, reference: ModelGraph) -> dict[str, str]:
    """Return the tensors of the reference's model, each with the one that stands for it in the candidate's.

    Of several, that is the one of the same name, or else the first: the others are what rounding made of it.

    Args:
        candidate: The reduced model.
        reference: The float model.
    """
    pairs = {name: name for name in reference.inputs if name in candidate.inputs}
    for match in pair_graphs(candidate, reference).matches:
        if match.reference not in pairs or match.candidate == match.reference:
            pairs[match.reference] = match.candidate
    return pairs


def _two(resolved: Resolved, label: str, *, made: bool) -> tuple[ResolvedBackend, ResolvedBackend]:
    """Return the backend to judge and the one to believe.

    Raises:
        UsageError: There are not two, or they have the same model.
    """
    backends = list(resolved.backends)
    hint = "polycmp locate FLOAT.onnx -b onnxrt:model=REDUCED.onnx -b onnxrt --rank"
    if len(backends) != 2:
        raise UsageError("a ranking takes two backends: one for the reduced model, one for the float model", hint=hint)
    reference = backends[-1]
    if label:
        wanted = [item for item in backends if label in (item.label, item.plan.backend)]
        if not wanted:
            labels = [item.label for item in backends]
            raise UsageError(f"--reference: no run is called {label!r}", why=did_you_mean(label, labels))
        reference = wanted[0]
    candidate = next(item for item in backends if item is not reference)
    if not made and candidate.model.path == reference.model.path:
        raise UsageError("a ranking compares two models: a reduced one, and the float model", hint=hint)
    return candidate, reference


def _onnx(backend: ResolvedBackend) -> ModelProto:
    """Return a backend's model.

    Raises:
        ModelError: It is no ONNX model.
    """
    if not backend.model.can_load(("onnx",)):
        raise ModelError(f"is of kind {backend.model.kind}, and layers are exchanged in ONNX", whose=backend.model.path)
    model: ModelProto = backend.model.load("onnx")()
    return model
