"""From a plan to the ranking of the layers, and to the model that keeps the fewest of them in float."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from polycmp.compare import SimpleOptions
from polycmp.errors import UsageError
from polycmp.plan import DEFAULT_COMPARE, Plan
from polycmp_locate.precision.rank.along import name_modules
from polycmp_locate.precision.rank.measure import Measurer
from polycmp_locate.precision.rank.result import LayerFigures, Ranking
from polycmp_locate.precision.rank.search import SmallestSet, among, guided, in_order
from polycmp_locate.precision.rank.setup import Setup, Stage
from polycmp_locate.precision.rank.trials import Trials

if TYPE_CHECKING:
    from polycmp.plugins import Registry

#: A search may take this many runs with any number of layers.
_LEAST_RUNS = 24
#: Layers whose own gain is measured.
_MEASURED_GAINS = 3


@dataclass(frozen=True)
class RankOptions:
    """Options of the ranking.

    Attributes:
        search: Whether to look for the fewest layers to keep; if not, the layers are ranked, and that is all.
        mode: `guided` by each layer's own error; or `bisect` or `linear` in the model's order.
        reverse: Whether layers stay in float from the model's end on, in the model's order.
        save: File for the mixed model; empty for none.
        max_runs: Largest number of models to try; 0 for as many as suit the number of layers.
        reduce: Makes the reduced model of the float model; None where the candidate has a file of its own.
    """

    search: bool = True
    mode: str = "guided"
    reverse: bool = False
    save: str = ""
    max_runs: int = 0
    reduce: Callable[[Any], Any] | None = None


def rank(
    plan: Plan, registry: Registry, options: RankOptions | None = None, on_stage: Stage = lambda _: None
) -> Ranking:
    """Measure what each layer of a reduced model does wrong, and find the fewest that have to stay in float.

    Args:
        plan: Models, backends, inputs and tolerances.
        registry: The plugins.
        options: Options of the search; None for the defaults.
        on_stage: Told in words what happens next.

    Raises:
        UsageError: There are not two backends with a model each, or nothing says what is good enough.
        ModelError: A model cannot be read or run, or they have nothing in common.
        PolycmpError: Anything else that keeps the search from starting.
    """
    start = time.perf_counter()
    options = options or RankOptions()
    search = _Search(plan, registry, options, on_stage)
    ranking = search.run()
    ranking.command, ranking.seconds = plan.command, time.perf_counter() - start
    return ranking


class _Search:
    def __init__(self, plan: Plan, registry: Registry, options: RankOptions, on_stage: Stage) -> None:
        self.plan, self.options, self.on_stage = plan, options, on_stage
        self.setup = Setup(plan, registry, on_stage, options.reduce)
        self.mixer = self.setup.mixer

    def run(self) -> Ranking:
        setup = self.setup
        ranking = Ranking(setup.candidate.label, setup.reference.label, self.options.mode, notes=list(setup.notes()))
        ranking.searched = self.options.search
        if ranking.searched:
            _require_a_judge(self.plan, any(layer.reduced for layer in self.mixer.layers))
        cases = setup.cases()
        measurer = Measurer(
            self.mixer, setup.reference_run, setup.candidate_run, setup.candidate, cases[0][0], self.on_stage
        )
        ranking.layers, ranking.pairing = measurer.figures(), setup.pairing
        name_modules(ranking.layers, setup.reference_run.graph)
        self.arrive = cache(measurer.arrive)
        trials = setup.trials([item.layer for item in ranking.layers], cases)
        outcome = self._find(ranking, trials) if ranking.searched else self._judge_reduced_model(trials)
        ranking.search_runs = len(trials.done) + measurer.runs
        ranking.fewest = outcome.fewest
        ranking.float_layers = None if outcome.layers is None else sorted(outcome.layers)
        for index in ranking.float_layers or ():
            ranking.layers[index].in_float = True
        self.arrive()
        self._measure_gains(ranking, self._order(ranking.layers), trials)
        ranking.trials, ranking.all_runs = list(trials.done.values()), len(trials.done) + measurer.runs
        ranking.backends = [trials.result]
        self._write(ranking)
        return ranking

    def _judge_reduced_model(self, trials: Trials) -> SmallestSet:
        """Judge the reduced model alone, without a search."""
        return SmallestSet(frozenset() if trials.passes(frozenset()) else None)

    def _order(self, layers: Sequence[LayerFigures]) -> list[int]:
        if self.options.mode != "guided":
            return list(range(len(layers)))[:: -1 if self.options.reverse else 1]
        return sorted(range(len(layers)), key=lambda index: layers[index].rank)

    def _find(self, ranking: Ranking, trials: Trials) -> SmallestSet:
        """Find the layers to keep; the ruined ones are tried before anything else is measured."""
        layers = ranking.layers
        if self.options.mode != "guided":
            return in_order(self._order(layers), trials.passes, linear=self.options.mode == "linear")
        trials.limit = self.options.max_runs or max(_LEAST_RUNS, len(layers) // 10)
        ruined = [index for index in self._order(layers) if layers[index].is_ruined]
        outcome = among(ruined, trials.passes) if ruined else None
        if outcome is None:
            self.arrive()
            outcome = guided(self._order(layers), trials.passes, max(2 * len(ruined), 1))
        return outcome

    def _measure_gains(self, ranking: Ranking, order: Sequence[int], trials: Trials) -> None:
        """Measure the gain of the layers that matter most: each alone in float, and each alone not in float."""
        trials.limit = None
        if ranking.float_layers:
            trials.trial(frozenset())
        float_layers = frozenset(ranking.float_layers or ())
        tops = [
            *(index for index in order if index in float_layers),
            *(index for index in order if index not in float_layers),
        ]
        for place, index in enumerate(tops):
            item, alone, without = ranking.layers[index], frozenset({index}), float_layers - {index}
            if place < _MEASURED_GAINS and float_layers:
                trials.trial(alone)
                if item.in_float:
                    trials.trial(without)
            if alone in trials.done:
                item.alone = trials.done[alone].ratio
            if item.in_float and without in trials.done:
                item.without = trials.done[without].ratio

    def _write(self, ranking: Ranking) -> None:
        """Write the mixed model that was run and judged."""
        if not self.options.save:
            return
        if ranking.float_layers is None:
            ranking.notes.append(f"{self.options.save} was not written")
            return
        self.setup.save([ranking.layers[index].layer for index in ranking.float_layers], self.options.save)
        ranking.files.append(self.options.save)


def _require_a_judge(plan: Plan, is_smaller: bool) -> None:
    """Check that something says what is good enough for a model in a smaller type.

    Raises:
        UsageError: Nothing does: the default is what rounding to that type explains.
    """
    compare = plan.compare
    has_metric = compare.script or compare.postprocess or compare.postprocess_script
    is_default = all(
        choice.name == DEFAULT_COMPARE and choice.options in (None, SimpleOptions()) for choice in compare.functions
    )
    if is_smaller and is_default and not has_metric:
        raise UsageError(
            "what is good enough for the model in a smaller type?",
            why="the default is what rounding to that type explains, and the search is for less than that",
            hint="give --atol, another --compare function, or a metric of the task: --postprocess-func-script",
        )
