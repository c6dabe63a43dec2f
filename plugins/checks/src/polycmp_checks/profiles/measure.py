"""Measurement of the differences of a model's outputs between backends that are known to be right.

Each input is run on all backends, and all pairs of them are compared. On the first inputs, what rounding to the
model's own type does is measured, too, as `--tolerance auto` does it, and counts as a further comparison: few backends
round in few ways. The limit of an output is `PROFILE_MARGIN` times the largest error of any comparison.

A limit is worth something only if it refuses a model that is wrong. The least wrong one that matters is the same model
in the next coarser type: on the same inputs its tensors are moved by roundings to that type. Where an error that this
makes is within the limit, the profile cannot tell.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from polycmp.compare import Simple, SimpleOptions
from polycmp.errors import ModelError
from polycmp.judging import PerturbedRuns, RoundingTolerances, Values
from polycmp.messages import only_errors
from polycmp.plan import Plan
from polycmp.precision import UNITS, unit_of
from polycmp.runs import InputPairing, Resolved, Schedule, Step, resolve, run_steps
from polycmp.session import check_names
from polycmp.tensors import Feed, dtype_class, to_numpy
from polycmp_checks.profiles.profile import Limit, Profile, model_digest

if TYPE_CHECKING:
    from polycmp.plugins import Registry
    from polycmp.results import BackendResult

Arrays = Mapping[str, Any]
#: By how much more two backends that are right may differ than any comparison showed (choice: of 100 comparisons alike,
#: a further one is larger than the largest in 1 of 101 cases, and hardly ever twice as large).
PROFILE_MARGIN = 2.0
#: Number of inputs on which rounding is measured: each takes ten runs of a model made anew.
ROUNDED_INPUTS = 4
#: Types of real numbers, the finest first.
_TYPES = ("float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2")
_EXACT = SimpleOptions(atol={"": 0.0}, rtol={"": 0.0}, nan="equal", infinities_compare_equal=True)


@dataclass
class MeasuredOutput:
    """One output over all comparisons.

    Attributes:
        comparisons: Number of comparisons.
        apart: The largest error between two backends.
        largest: The same, or the largest error that rounding makes, if that is larger.
        widest: The comparison that it was in, in words.
        magnitude: The largest magnitude of any value.
        coarse: The smallest error that rounding to the next coarser type made; infinite if that was not measured.
        coarser: The next coarser type; empty if there is none, or it could not be run.
        low: The smallest value of any; with `high` it tells whether the output holds more than one number.
        high: The largest.
        whole: Whether it holds whole numbers.
        problem: Reason why no tolerance would do; empty if one does.
    """

    comparisons: int = 0
    apart: float = 0.0
    largest: float = 0.0
    widest: str = ""
    magnitude: float = 0.0
    low: float = math.inf
    high: float = -math.inf
    coarse: float = math.inf
    coarser: str = ""
    whole: bool = False
    problem: str = ""

    def add(self, error: float, between: str) -> None:
        """Count a comparison."""
        self.comparisons += 1
        if error > self.largest:
            self.largest, self.widest = error, between

    def see(self, array: Any) -> None:
        """Widen the range by an array's finite numbers."""
        if dtype_class(array.dtype) in {"float", "complex"} and array.size:
            values = np.abs(array) if array.dtype.kind == "c" else array.astype(np.float64)
            finite = np.isfinite(values)
            self.low = min(self.low, float(values.min(initial=math.inf, where=finite)))
            self.high = max(self.high, float(values.max(initial=-math.inf, where=finite)))

    def limit(self) -> Limit:
        """Return the limit that was measured."""
        if not (self.whole or self.problem or self.low < self.high):
            value = f"{self.low:g}" if math.isfinite(self.low) else "NaN"
            return Limit(
                0.0, 0.0, self.comparisons, self.apart, f"it holds {value} everywhere: no limit refuses anything"
            )
        if self.whole or self.problem or not (self.apart or self.coarse):
            return Limit(0.0, 0.0, self.comparisons, self.apart, self.problem)
        limit = PROFILE_MARGIN * self.largest
        rel = limit / self.magnitude if self.magnitude else 0.0
        return Limit(limit, rel, self.comparisons, self.largest, self._cannot_tell(limit))

    def _cannot_tell(self, limit: float) -> str:
        if not self.coarser:
            return "the model could not be run in a coarser type, so nothing tells what the limit refuses"
        if self.coarse > limit:
            return ""
        return (
            f"the same model in {self.coarser} is off by as little as {self.coarse:.2g}, and backends that are right "
            f"by up to {self.largest:.2g} ({self.widest})"
        )


@dataclass
class Measurement:
    """Measured differences of a model's outputs.

    Attributes:
        profile: The profile; None where a backend failed.
        outputs: Each output.
        results: Records of the backends.
        inputs: Number of inputs.
        notes: Remarks on the inputs.
    """

    profile: Profile | None
    outputs: Mapping[str, MeasuredOutput]
    results: tuple[BackendResult, ...]
    inputs: int
    notes: tuple[str, ...]


def measure(
    plan: Plan, registry: Registry, seeds: int | None, on_stage: Callable[[str], None] = lambda _: None
) -> Measurement:
    """Run backends that are known to be right on many inputs, and measure by how much they differ.

    Args:
        plan: Model, backends and inputs.
        registry: The plugins.
        seeds: Number of inputs that a data loader makes; None for what the plan says.
        on_stage: Told in words what happens next.

    Raises:
        PolycmpError: Nothing could be run: wrong names, no model, no data.
    """
    plan = _with_inputs(plan, seeds)
    resolved = resolve(plan, registry)
    check_names(plan.data, plan.compare, resolved)
    runs = [backend.make_run() for backend in resolved.backends]
    outputs: dict[str, MeasuredOutput] = {}
    rounding = _Rounding(resolved, outputs, on_stage)
    schedule = Schedule(on_stage=on_stage, iterations=plan.data.iterations)
    shapes: Mapping[str, tuple[int, ...]] = {}
    count = 0
    for step in run_steps(runs, resolved.source, schedule, InputPairing.of(resolved, plan.compare.reference)):
        if any(run.result.error for run in runs):
            break
        _compare(step, outputs)
        if step.index < ROUNDED_INPUTS:
            with only_errors():  # how long measuring takes is shown as progress
                rounding.add(step)
        count += 1
        shapes = shapes or {name: to_numpy(array).shape for name, array in step.feed.items()}
    results = tuple(run.result for run in runs)
    notes = tuple(f"inputs: {note}" for note in resolved.source.notes)
    if not count or any(result.error for result in results):
        return Measurement(None, outputs, results, count, notes)
    model = resolved.backends[-1].model
    limits = {name: item.limit() for name, item in outputs.items()}
    versions = {result.label: result.version for result in results}
    profile = Profile(model.path, model_digest(model), versions, shapes, limits)
    return Measurement(profile, outputs, results, count, notes)


def _with_inputs(plan: Plan, seeds: int | None) -> Plan:
    """Return a plan whose data loader makes so many inputs."""
    loader = plan.data.loader
    if seeds is None or not plan.data.iterations:
        return plan
    options = replace(loader.options, iterations=seeds)
    return replace(plan, data=replace(plan.data, loader=replace(loader, options=options)))


def _compare(step: Step, outputs: dict[str, MeasuredOutput]) -> None:
    """Compare all pairs of backends in one step.

    Raises:
        ModelError: They have not the same outputs.
    """
    for one, two in combinations(step.outputs, 2):
        candidate, reference = step.outputs[one], step.outputs[two]
        if alone := set(candidate) ^ set(reference):
            raise ModelError(
                f"only one of {one} and {two} has an output {sorted(alone)[0]!r}",
                why="a profile is measured with backends that are known to be right",
            )
        for name in reference:
            measured = outputs.setdefault(name, MeasuredOutput())
            a, b = to_numpy(candidate[name]), to_numpy(reference[name])
            verdict = Simple(_EXACT)(a, b, output=name)
            stats, between = verdict.stats, f"{one} and {two}"
            measured.whole = measured.whole or dtype_class(b.dtype) not in {"float", "complex"}
            measured.see(b)
            error, scale = (stats.max_abs, stats.scale) if stats is not None else (0.0, 0.0)
            alike = stats is not None and not stats.nan_mismatched and math.isfinite(error)
            if not verdict.passed and (measured.whole or not alike):
                measured.problem = measured.problem or f"{between} do not agree: {verdict.reason}"
            measured.add(error, between)
            measured.apart, measured.magnitude = max(measured.apart, error), max(measured.magnitude, scale)


class _Rounding:
    """Measures the errors of outputs by rounding to the model's own type, and to the next coarser one.

    Args:
        resolved: The backends.
        outputs: Each output, to add to.
        on_stage: Told in words what happens next.
    """

    def __init__(
        self, resolved: Resolved, outputs: Mapping[str, MeasuredOutput], on_stage: Callable[[str], None]
    ) -> None:
        self._labels = [backend.label for backend in resolved.backends]
        self._outputs, self._on_stage = outputs, on_stage
        self._floors = RoundingTolerances(resolved, self._labels[-1])
        last = resolved.backends[-1]
        self._perturbed_runs = PerturbedRuns(last, last.model.graph())

    def add(self, step: Step) -> None:
        """Measure on the inputs of a step, whose outputs are compared."""
        self._on_stage(f"measuring rounding on input {step.index + 1}")
        self._floors.begin(step.feed)
        kinds = {"float32"}
        for name, expected in step.outputs[self._labels[-1]].items():
            reference, measured = to_numpy(expected), self._outputs[name]
            if measured.whole or measured.problem or not reference.size:
                continue
            for one, two in combinations(self._labels, 2):
                floor = self._floors.between(one, two).floor(name, Values(reference))
                kinds.add(floor.kind)
                measured.add(max(level.largest for level in floor.levels), f"rounding to {floor.kind} on both sides")
        self._add_coarser(step.feed, max(kinds, key=unit_of))
        self._floors.close()

    def _add_coarser(self, feed: Feed, kind: str) -> None:
        """Measure the smallest error of the same model in the next coarser type in which outputs stay finite."""
        waiting = {name for name, item in self._outputs.items() if not (item.whole or item.problem)}
        for coarser in _TYPES:
            if UNITS[coarser] <= unit_of(kind) or not waiting:
                continue
            samples = self._perturbed_runs.samples(feed, {"": coarser})
            if samples is None:
                return
            for name in sorted(waiting & set(samples.exact)):
                measured = self._outputs[name]
                errors = [_error(perturbed[name], samples.exact[name]) for perturbed in samples.perturbed()]
                if all(map(math.isfinite, errors)):
                    measured.coarser = max(measured.coarser, coarser, key=unit_of)
                    measured.coarse = min(measured.coarse, *errors)
                    waiting.discard(name)


def _error(array: Any, exact: Any) -> float:
    """Return the largest error; infinite where NaN, infinity or another shape takes the place of numbers."""
    stats = Simple(_EXACT)(array, exact, output="").stats
    return stats.max_abs if stats is not None and not stats.nan_mismatched else math.inf
