"""The noise floor of a whole model: how far rounding alone may take its tensors from those of another backend."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from polycmp.compare import Scales
from polycmp.graph import Rounding
from polycmp.judging import MARGIN as NOISE_MARGIN
from polycmp.judging import PerturbedRuns, RoundingTolerances, sampled_levels, types_inside
from polycmp.layerwise import PartitionedRun
from polycmp.runs import Resolved, Tolerances, is_measured
from polycmp.tensors import Feed, dtype_of, is_floating
from polycmp_locate.pairing.pair_noise import PairedRounding, rounded_to
from polycmp_locate.pairing.view import SharedGraph
from polycmp_locate.rounding.difference import distance
from polycmp_locate.rounding.figures import figures
from polycmp_locate.rounding.perturbing import nudged
from polycmp_locate.rounding.thresholds import MARGIN, accumulated_limit
from polycmp_locate.setting import Setting, allowed_type


class Noise:
    """The noise floor of a whole model.

    Args:
        reference: The backend to believe.
        feed: The inputs.
        outputs: Final outputs of the model for them.
        measure: Gives the largest relative error of outputs, by name, that rounding explains; None where nothing runs
            the model with moved tensors.
    """

    def __init__(
        self,
        reference: PartitionedRun,
        feed: Feed,
        outputs: Mapping[str, Any],
        measure: Callable[[Sequence[str]], float | None] = lambda names: None,
    ) -> None:
        self._measure = measure
        self._reference = reference
        self._feed = feed
        self._outputs = outputs

    @cached_property
    def moved(self) -> float:
        """Change of the final outputs, relative, if the inputs move by one unit in the last place.

        Whole numbers have no such unit: where the inputs hold nothing else, nothing is run.
        """
        if not any(is_floating(dtype_of(array)) for array in self._feed.values()):
            return 0.0
        made = self._reference.run_whole(nudged(self._feed), list(self._outputs)) or {}
        gaps = [distance(made[name], array) for name, array in self._outputs.items() if name in made]
        return max((gap for gap in gaps if math.isfinite(gap)), default=0.0)

    @cached_property
    def explained(self) -> float:
        """Largest relative error of the final outputs that rounding explains, however the model amplifies it.

        What one unit in the last place of the inputs moves is the condition of the model (Higham, section 1.6).
        """
        measured = self._measure(list(self._outputs))
        return MARGIN * self.moved if measured is None else measured

    def limit(self, position: int, unit: float, error: float = math.inf) -> float:
        """Return the largest relative error that is still rounding.

        What the model amplifies takes further runs of it, and only ever raises the limit: it is not measured for an
        error that is within the limit without it.

        Args:
            position: Number of operators that come before.
            unit: Unit roundoff that the tensor is judged by.
            error: The relative error that is to be judged.
        """
        least = accumulated_limit(position, unit)
        return least if error <= least else max(least, self.explained)


def explained_share(setting: Setting, feed: Feed, outputs: Sequence[str]) -> float | None:
    """Return the largest relative error of outputs that rounding explains, measured; None where nothing can measure.

    Args:
        setting: The backends.
        feed: The inputs.
        outputs: The outputs' names.
    """
    moved, graph, candidate = setting.perturbed, setting.reference.graph, setting.candidate.graph
    if moved is None or moved.graph is None:
        return None
    own: Mapping[str, str] = {}
    kinds: Mapping[str, Rounding]
    if isinstance(graph, SharedGraph) and isinstance(candidate, SharedGraph):
        if graph.side.graph is not moved.graph:
            return None
        own, kinds = graph.own, rounded_to(graph, candidate.side.graph, moved.graph)
    elif graph is moved.graph:
        if types_inside(graph, feed) - {"float32", "float64"}:
            # Where the file rounds to a coarser type itself, a backend that leaves its Casts out has to be told from
            # rounding; moving all by that type would excuse it.
            return None
        kinds = {"": allowed_type(setting.candidate, setting.reference) or "float32"}
    else:
        return None
    wanted = [own.get(name, name) for name in outputs]
    samples = moved.samples({own.get(name, name): array for name, array in feed.items()}, kinds, wanted)
    if samples is None:
        return None
    shares = [_share(samples.exact[name], [made[name] for made in samples.perturbed]) for name in wanted]
    return NOISE_MARGIN * max(filter(None, shares), default=0.0)


def _share(exact: Any, moved: Sequence[Any]) -> float:
    """Return the noise of both sides together, over the largest magnitude of a tensor; 0 where that is not known."""
    known = figures(exact)
    levels = sampled_levels(exact, moved, Scales()) if is_floating(dtype_of(exact)) else None
    return 0.0 if known is None or levels is None or not known.scale else 2.0 * levels[0].largest / known.scale


def rounding_inside(resolved: Resolved, setting: Setting, perturbed: PerturbedRuns | None) -> Tolerances | None:
    """Return what tells by how much rounding moves the tensors inside; None where a tolerance was given.

    Args:
        resolved: The backends.
        setting: The two sides.
        perturbed: Runs the reference's model with its tensors moved; None where nothing can.
    """
    graph, candidate = setting.reference.graph, setting.candidate.graph
    if not is_measured(resolved.plan.compare) or perturbed is None or perturbed.graph is None:
        return None
    data = resolved.plan.data
    if isinstance(graph, SharedGraph) and isinstance(candidate, SharedGraph):
        if graph.side.graph is not perturbed.graph:
            return None
        kinds = rounded_to(graph, candidate.side.graph, perturbed.graph)
        is_real = bool(data.files or data.script)
        return PairedRounding(graph, setting.reference, perturbed, kinds, is_real=is_real)
    return RoundingTolerances(resolved, setting.reference.label) if graph is perturbed.graph else None
