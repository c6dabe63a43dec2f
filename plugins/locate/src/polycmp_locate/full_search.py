"""The search that looks at every tensor: one pass, then the question whether looking changed the result."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Set
from dataclasses import replace
from functools import cached_property
from typing import Any

from polycmp.compare import is_too_far
from polycmp.layerwise import PartitionedRun, final_outputs
from polycmp.tensors import Feed, is_floating, to_numpy
from polycmp_locate.between_steps import Ties, is_wrong_between_steps, ties_that_grow
from polycmp_locate.decisions import is_right_alone, needs_explaining
from polycmp_locate.flow import Flow
from polycmp_locate.fusion import (
    Turned,
    describe_fusion,
    describe_left_out,
    describe_turned,
    find_fused,
    find_probes,
    left_out,
    rounding_that_turns,
)
from polycmp_locate.judge import Evidence, Judgement, judge
from polycmp_locate.measure import distance
from polycmp_locate.narrowing import lone_narrowing
from polycmp_locate.noise import Noise, explained_share
from polycmp_locate.probe import check_probe, moved_text
from polycmp_locate.probing import SHARE, explains, is_fusion, is_moved, is_removed
from polycmp_locate.repeating import Unsteady, describe_unsteady, find_unsteady
from polycmp_locate.result import BENIGN, NARROWED, UNDECIDED, WITHIN_ROUNDING, Located, Row
from polycmp_locate.rounding.thresholds import (
    NO_DIGIT_LEFT,
    accumulated_limit,
    least_scale,
    quantisation_limit,
    worth_running,
)
from polycmp_locate.search import Sweep, Sweeper
from polycmp_locate.setting import Setting, Stage, Tensors
from polycmp_locate.switches import TRIALS

#: Trials with replaced tensors in one search; each runs the model behind the tensor twice. A backend that compiles has
#: to build three parts for one trial.
_TRIALS = 8
_TRIALS_IF_COMPILED = 2


class FullSearch:
    """One search with one feed.

    Args:
        found: Where what is found is written down.
        setting: Who is searched.
        sweeper: The way through the model.
        feed: The inputs.
        outputs: The final outputs of candidate and reference without probes.
        on_stage: Told what happens next.
        again: The same of a second run in the same runner, of each side that compiles; None of others.
    """

    def __init__(
        self,
        found: Located,
        setting: Setting,
        sweeper: Sweeper,
        feed: Feed,
        outputs: tuple[Tensors, Tensors],
        on_stage: Stage,
        again: tuple[Tensors | None, Tensors | None] = (None, None),
    ) -> None:
        self.again = again
        self.found = found
        self.setting = setting
        self.sweeper = sweeper
        self.feed = feed
        self.plain, self.expected = outputs
        self.on_stage = on_stage
        self.noise = Noise(setting.reference, feed, self.expected, lambda names: explained_share(setting, feed, names))
        self.flow = Flow(setting.reference.graph.nodes)
        self._trials = 0
        self._turned: Turned | Ties | None = None

    def run(self) -> Judgement:
        """Look, and return the verdict; it and what led to it are written down, too."""
        sweep = self._sweep(distrust=False)
        self._check_probe(sweep)
        unsteady = self._unsteady()
        if unsteady is not None:
            nobody = self._nobody()
            describe_unsteady(self.found, unsteady)
            return nobody
        side = self._fusing_side()
        judgement = self._blame_fusion(side) if side is not None else None
        if judgement is not None:
            return judgement
        judgement = self._judge()
        if judgement.verdict == WITHIN_ROUNDING and judgement.turning is None and self._is_gone:
            side = self._moved_side
            self._turned = self._turned or self._ties(side, self.failing)
        if self._turned is not None and side is not None and judgement.first_bad is None:
            describe_turned(self.found, side.label, self._turned)
            return judgement
        if judgement.verdict == UNDECIDED or (judgement.first_bad is None and self._is_unexplained()):
            self._sweep(distrust=True, patient=judgement.turning is not None and judgement.turning.was_postponed)
            judgement = self._judge()
        self._write(judgement)
        return judgement

    def _sweep(self, *, distrust: bool, patient: bool = False) -> Sweep:
        sweep = self.sweeper.sweep(self.feed, self.on_stage, distrust=distrust, patient=patient)
        self.found.rows = list(sweep.rows.values())
        return sweep

    def _check_probe(self, sweep: Sweep) -> None:
        probe = check_probe(
            self.plain, sweep.finals, self.expected, lambda made: self.setting.agree(made, self.expected)
        )
        self._probed = {
            name: distance(made, sweep.expected[name]) for name, made in sweep.finals.items() if name in sweep.expected
        }
        judged = self.failing or {name: self._error(name, made) for name, made in self.plain.items()}
        probe.error = max(judged.values(), default=0.0)
        probe.probed_error = max((gap for name, gap in self._probed.items() if name in judged), default=0.0)
        self.probe = probe
        self.found.probe = probe if sweep.finals else None  # a candidate that failed part by part shows nothing

    @cached_property
    def failing(self) -> Mapping[str, float]:
        """The outputs that are outside the tolerance without probes, with their relative errors."""
        return {
            item.output: self._error(item.output, self.plain[item.output])
            for item in self.found.finals
            if not item.passed and item.output in self.plain and item.output in self.expected
        }

    def _error(self, name: str, made: Any) -> float:
        """Return the relative error of an output, held against the scale on which it is read."""
        node = self.sweeper.nodes.get(name)
        return distance(made, self.expected[name], least_scale(node.op_type if node is not None else ""))

    def _unsteady(self) -> Unsteady | None:
        """Return which side's own runs differ by as much as the two sides do; None if neither."""
        # What the reference's outputs move with the inputs is no noise floor if they move by themselves, too.
        count = len(self.found.rows)
        errors = {
            name: error
            for name, error in self.failing.items()
            if error > max(accumulated_limit(count, self._unit(name)[0], 0.0), quantisation_limit(self._unit(name)[1]))
        }
        if not errors:
            return None
        self.on_stage("comparing two runs of the whole model on each side")
        self.sweeper.windows.plan(self.feed)
        groups = [segment.wanted for segment in self.sweeper.windows.segments]
        units = {row.tensor: worth_running(row.unit) for row in self.found.rows}
        sides = (self.setting.candidate, self.setting.reference)
        for side, made, again in zip(sides, (self.plain, self.expected), self.again, strict=True):
            found = find_unsteady(side, self.feed, made, errors, groups, lambda name: units.get(name, 0.0), again)
            if found is not None:
                borrowed = any(row.tensor == found.tensor and row.is_borrowed for row in self.found.rows)
                return replace(found, label=self.setting.candidate.label) if borrowed else found
        return None

    # --- operators that are right alone and wrong together

    def _fusing_side(self) -> PartitionedRun | None:
        """Return the backend whose outputs probing makes right, if there is one."""
        if self.probe.plain_passed or self.found.probe is None:
            return None
        if all(self._probed.get(name, error) >= error for name, error in self.failing.items()):
            return None  # what rounding explains may take a run of the model
        if not self._beyond:
            return None
        worst = max(self._beyond, key=lambda name: self._beyond[name])
        self.probe.error = self._beyond[worst]
        self.probe.probed_error = max(self._probed.get(name, math.inf) for name in self._beyond)
        limit = 0.0 if self._is_wrong_between_steps else self._limit(worst, self.probe.error)
        if not is_fusion(self.probe.error, self.probe.probed_error, limit):
            return None
        return self._moved_side

    @property
    def _moved_side(self) -> PartitionedRun:
        """The backend that probes moved further: of one side or both they moved by three quarters of the error."""
        moved = is_moved(self.probe.relative, self.probe.error)
        return self.setting.candidate if moved else self.setting.reference

    @property
    def _is_gone(self) -> bool:
        """Whether probing leaves next to nothing of the outputs' error."""
        gone = [self._probed.get(name, math.inf) <= SHARE * error for name, error in self.failing.items()]
        return bool(gone) and all(gone) and math.isfinite(self.probe.error)

    @cached_property
    def _beyond(self) -> Mapping[str, float]:
        """The failing outputs that are off by more than rounding explains on the way to them."""
        beyond = {name: error for name, error in self.failing.items() if error > self._limit(name, error)}
        return beyond or (self.failing if self._is_wrong_between_steps else {})

    @cached_property
    def _is_wrong_between_steps(self) -> bool:
        """Whether operators are wrong together by so little that ties of rounding would explain it as well."""
        return self._is_gone and is_wrong_between_steps(self.setting, self.feed, self.found.rows, self.failing.keys())

    def _limit(self, name: str, error: float) -> float:
        """Return which relative error of an output rounding explains."""
        unit, quantised = self._unit(name)
        return max(self.noise.limit(len(self.found.rows), unit, error), quantisation_limit(quantised))

    def _unit(self, name: str) -> tuple[float, int]:
        """Return the coarsest unit roundoff on the way to an output, and how many quantised tensors lie there."""
        before = self.flow.before(name)
        rows = [row for row in self.found.rows if row.tensor in before]
        return max((row.unit for row in rows), default=0.0), sum(row.in_steps for row in rows)

    def _blame_fusion(self, partitioned_run: PartitionedRun) -> Judgement | None:
        """Blame operators that are wrong together; None where what they make is within rounding."""
        self.on_stage("looking for the operators that are wrong together")
        self.sweeper.windows.plan(self.feed)
        self._turned = self._ties(partitioned_run, self._beyond)
        if self._turned is not None:
            return None
        groups = [segment.wanted for segment in self.sweeper.windows.segments]
        sides, removes = self._sides(partitioned_run), self._removes(partitioned_run, self._beyond)
        probes = find_probes(partitioned_run, self.feed, groups, final_outputs(partitioned_run.graph), removes)
        gone = left_out(sides, self.feed, probes, self._beyond, lambda made: not removes(made))
        if gone is not None:
            judgement = self._nobody()
            describe_left_out(self.found, partitioned_run.label, gone)
            return judgement
        self._turned = rounding_that_turns(
            sides, self.feed, self.found.rows, probes, self._beyond, lambda made: not removes(made)
        )
        if self._turned is not None:
            return None
        judgement = self._nobody()
        each = partitioned_run.forecast.text(len(partitioned_run.graph.nodes))
        each = f"{each} each" if each else ""
        self.on_stage(f"looking for what the backend can leave out, in up to {TRIALS} runs of the model{each}")
        target = self.expected if partitioned_run is self.setting.candidate else self.plain
        fused = find_fused(partitioned_run, probes, lambda turned: self._is_right(turned, target))
        describe_fusion(self.found, partitioned_run, probes, fused)
        return judgement

    def _nobody(self) -> Judgement:
        """Return what the rows say, without anybody to blame."""
        judgement = self._judge()
        judgement.first_bad = judgement.origin = judgement.turning = None
        return judgement

    def _is_right(self, turned: PartitionedRun, target: Tensors) -> bool:
        """Return whether a backend that was told otherwise makes outputs that are right but for rounding."""
        made = turned.run_whole(self.feed, list(self._beyond))
        if made is None:
            return False
        errors = {name: distance(made[name], target[name]) for name in self._beyond}
        return all(error <= self._limit(name, error) for name, error in errors.items())

    def _ties(self, partitioned_run: PartitionedRun, outputs: Mapping[str, float]) -> Ties | None:
        """Return where a backend begins to round ties otherwise, if that is what outputs are off by."""
        removes = self._removes(partitioned_run, outputs)
        sides = self._sides(partitioned_run)
        return ties_that_grow(sides, self.feed, self.found.rows, outputs.keys(), lambda made: not removes(made))

    def _sides(self, first: PartitionedRun) -> tuple[PartitionedRun, PartitionedRun]:
        candidate, reference = self.setting.candidate, self.setting.reference
        return (candidate, reference) if first is candidate else (reference, candidate)

    def _removes(self, first: PartitionedRun, outputs: Mapping[str, float]) -> Callable[[Tensors], bool]:
        """Return what says of a backend's outputs whether most of their error is gone."""
        target = self.expected if first is self.setting.candidate else self.plain

        def removes(made: Tensors) -> bool:
            left = max((distance(made[name], target[name]) for name in outputs), default=0.0)
            return is_removed(left, self.probe.error)

        return removes

    # --- single operators

    def _judge(self) -> Judgement:
        return judge(
            Evidence(self.found.rows, self.flow, self.failing, self.noise.limit, self.sweeper.final, self._leads)
        )

    def _is_unexplained(self) -> bool:
        """Return whether the outputs are further off than rounding is told by, and operators not looked at closely."""
        if self.probe.plain_passed:
            return False
        rows = self.found.rows if self._beyond else self._before_too_far()
        return any(row.standalone is None and needs_explaining(row) for row in rows)

    def _leads(self, row: Row, outputs: Set[str]) -> bool:
        """Return whether a tensor's error leads to that of some outputs, by a trial; True if none can be made."""
        if self._trials >= (_TRIALS_IF_COMPILED if self.setting.candidate.compiles else _TRIALS):
            return True
        self._trials += 1
        self.on_stage(f"trying what {row.tensor} does to the outputs")
        candidate, reference = self.setting.candidate, self.setting.reference
        made = candidate.run_part(self.feed, [row.tensor])
        wanted = reference.run_part(self.feed, [row.tensor]) if made is not None else None
        if made is None or wanted is None or row.tensor in self.failing:
            return True
        errors = [self._error_behind({**self.feed, row.tensor: side[row.tensor]}, outputs) for side in (wanted, made)]
        if errors[0] is None or errors[1] is None:
            return True
        return explains(errors[0], errors[1], max(self.failing[name] for name in outputs))

    def _error_behind(self, tensors: Feed, outputs: Set[str]) -> float | None:
        names = sorted(outputs)
        made = self.setting.candidate.run_part(tensors, names)
        return None if made is None else max(self._error(name, made[name]) for name in names)

    def _write(self, judgement: Judgement) -> None:
        found = self.found
        found.first_bad, found.origin, found.last_good = judgement.first_bad, judgement.origin, judgement.last_good
        found.turning, found.verdict = judgement.turning, judgement.verdict
        if found.verdict not in BENIGN or self.probe.plain_passed:
            return
        lone = lone_narrowing(found.rows) if found.verdict == WITHIN_ROUNDING else None
        if lone is not None:
            found.verdict, found.turning = NARROWED, None
            found.first_bad, found.usual_type = lone
            return
        if self._beyond:
            if not self.probe.trusted:  # what was seen is another computation, whose tensors explain nothing here
                found.verdict, found.turning = UNDECIDED, None
            self._doubt()
            return
        found.verdict = WITHIN_ROUNDING if found.turning is None else found.verdict
        self._doubt()
        if self.probe.relative and not self.probe.trusted:
            self.probe.sentence = f"{moved_text(self.probe)}, no more than rounding explains"

    def _doubt(self) -> None:
        """Leave undecided what is so far off that rounding may explain anything.

        That each operator on the way is right by itself still decides it, but where no digit of a tensor is left.
        """
        found = self.found
        if found.verdict == WITHIN_ROUNDING and found.turning is None:
            rows = self._before_too_far()
            if any(not is_right_alone(row) or row.relative > NO_DIGIT_LEFT for row in rows):
                found.verdict = UNDECIDED

    def _before_too_far(self) -> list[Row]:
        """Return the tensors that differ on the way to outputs that are too far off for rounding to be told."""
        outputs = {name for name in self.failing if self._is_too_far(name)}
        before = outputs.union(*map(self.flow.before, outputs))
        return [row for row in self.found.rows if row.tensor in before and needs_explaining(row)]

    def _is_too_far(self, name: str) -> bool:
        own, other = to_numpy(self.plain[name]), to_numpy(self.expected[name])
        return own.shape == other.shape and is_floating(other.dtype) and is_too_far(own, other)
