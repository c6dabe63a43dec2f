"""The verdict on what was measured: whether looking changed the result, and then which operator is wrong."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from polycmp.layerwise import PartitionedRun, final_outputs
from polycmp_locate.decisions import needs_explaining
from polycmp_locate.judge.blame import Evidence, blame
from polycmp_locate.judge.fusion import blame_fused, blame_left_out
from polycmp_locate.judge.narrowing import lone_narrowing
from polycmp_locate.rounding.difference import distance
from polycmp_locate.rounding.thresholds import worth_running
from polycmp_locate.trials.between_steps import ties_that_grow
from polycmp_locate.trials.flow import Flow
from polycmp_locate.trials.fusion import coarser_casts, find_fused, find_probes, left_out, rounding_that_turns
from polycmp_locate.trials.hints import hints_of
from polycmp_locate.trials.probe import check_probe, moved_text
from polycmp_locate.trials.probing import SHARE, is_fusion, is_moved
from polycmp_locate.trials.switches import TRIALS
from polycmp_locate.trials.unsteady import find_unsteady
from polycmp_locate.trials.whole import WholeModel
from polycmp_locate.values.judged import (
    BENIGN,
    NARROWED,
    UNDECIDED,
    UNSTEADY,
    WITHIN_ROUNDING,
    Judged,
    Judgement,
    Probe,
    Ties,
    Turned,
    Unsteady,
)
from polycmp_locate.values.measured import Measured


def judge(measured: Measured, whole: WholeModel, before: Judged | None = None) -> Judged:
    """Return the verdict on a model.

    Args:
        measured: Rows of the model's tensors, with the measured operators.
        whole: The whole model, and trials with it.
        before: The verdict that these tensors were measured again for; None for the first one.
    """
    if not measured.is_whole:
        judged = _judge_few(measured, whole)
    elif before is None:
        judged = _Judge(measured, whole).first()
    else:
        judged = _Judge(measured, whole, before).last()
    if judged.open_until is not None:
        return judged
    return replace(judged, hints=tuple(hints_of(judged, whole.setting, whole.feed)))


def _judge_few(measured: Measured, whole: WholeModel) -> Judged:
    """Return the verdict on few tensors, of which nothing tells whether looking at them changed the result."""
    nodes = whole.setting.reference.graph.nodes
    flow, relative = Flow(nodes), {row.tensor: row.relative for row in measured.rows}
    failing = {item.output: relative.get(item.output, 0.0) for item in whole.finals if not item.passed}
    found = blame(Evidence(measured.rows, flow, failing, whole.beyond.keys()))
    return _judged(found, measured, whole)


class _Judge:
    """One verdict in the making.

    Args:
        measured: The tensors.
        whole: The whole model, and trials with it.
        before: An earlier verdict, which says what looking inside did.
    """

    def __init__(self, measured: Measured, whole: WholeModel, before: Judged | None = None) -> None:
        self._measured, self._rows, self._whole = measured, measured.rows, whole
        self._setting = whole.setting
        self._flow = Flow(self._setting.reference.graph.nodes)
        self._probe = self._check_probe() if before is None or before.probe is None else before.probe
        self._is_probed = bool(measured.finals) if before is None else before.is_probed

    def first(self) -> Judged:
        """Return the verdict: whether runs are steady, then whether operators are fused, then which one is wrong."""
        unsteady = self._unsteady()
        if unsteady is not None:
            return self._blame_unsteady(unsteady)
        side, turned = self._fusing_side(), None
        if side is not None:
            fused = self._blame_fusion(side)
            if isinstance(fused, Judged):
                return fused
            turned = fused
        else:
            gone = self._blame_casts()
            if gone is not None:
                return gone
        found = self._blame()
        if found.verdict == WITHIN_ROUNDING and found.turning is None and self._is_gone:
            side = self._moved_side
            turned = turned or self._ties(side, self._whole.failing)
        if turned is not None and side is not None and found.first_bad is None:
            return self._judged(found, verdict=WITHIN_ROUNDING, turning=None, origin=None, last_good=None, cause=turned)
        if found.verdict == UNDECIDED or (found.first_bad is None and self._is_unexplained()):
            postponed = found.turning is not None and found.turning.was_postponed
            return self._judged(found, open_until="all, any number" if postponed else "all")
        return self._final(found)

    def last(self) -> Judged:
        """Return the verdict on tensors that were measured again, which is final."""
        return self._final(self._blame())

    # --- whether what was seen is evidence

    def _check_probe(self) -> Probe:
        whole, finals = self._whole, self._measured.finals
        probe = check_probe(whole.plain, finals, whole.expected, lambda made: self._setting.agree(made, whole.expected))
        judged = whole.failing or {name: whole.error(name, made) for name, made in whole.plain.items()}
        return replace(
            probe,
            error=max(judged.values(), default=0.0),
            probed_error=max((gap for name, gap in self._probed.items() if name in judged), default=0.0),
        )

    @cached_property
    def _probed(self) -> Mapping[str, float]:
        """The errors of the outputs where both sides are probed."""
        expected = self._measured.expected
        return {
            name: distance(made, expected[name]) for name, made in self._measured.finals.items() if name in expected
        }

    def _unsteady(self) -> Unsteady | None:
        """Return the side whose own runs differ by as much as the two sides do; None if neither."""
        whole = self._whole
        if not whole.failing:
            return None
        whole.on_stage("comparing two runs of the whole model on each side")
        units = {row.tensor: worth_running(row.unit) for row in self._rows}
        sides = (self._setting.candidate, self._setting.reference)
        for side, made, again in zip(sides, (whole.plain, whole.expected), whole.again, strict=True):
            found = find_unsteady(
                side, whole.feed, made, whole.failing, self._measured.groups, lambda name: units.get(name, 0.0), again
            )
            if found is not None:
                borrowed = any(row.tensor == found.tensor and row.is_borrowed for row in self._rows)
                return replace(found, label=self._setting.candidate.label) if borrowed else found
        return None

    def _blame_unsteady(self, unsteady: Unsteady) -> Judged:
        row = next((row for row in self._rows if row.tensor == unsteady.tensor), None)
        read = [item for item in self._rows if row is not None and item.tensor in row.node.inputs]
        found = self._blame()
        return self._judged(
            found, verdict=UNSTEADY, first_bad=row, origin=None, turning=None,
            last_good=read[-1] if read else None, cause=unsteady,
        )  # fmt: skip

    # --- operators that are right alone and wrong together

    def _fusing_side(self) -> PartitionedRun | None:
        """Return the backend whose outputs probing makes right, if there is one."""
        failing = self._whole.failing
        if self._probe.plain_passed or not self._measured.finals:
            return None
        if all(self._probed.get(name, error) >= error for name, error in failing.items()):
            return None  # what rounding explains may take a run of the model
        if not self._beyond:
            return None
        worst = max(self._beyond, key=lambda name: self._beyond[name])
        error = self._beyond[worst]
        probed_error = max(self._probed.get(name, math.inf) for name in self._beyond)
        self._probe = replace(self._probe, error=error, probed_error=probed_error)
        return self._moved_side if is_fusion(error, probed_error) else None

    @property
    def _moved_side(self) -> PartitionedRun:
        """The backend that probes moved further: of one side or both they moved by three quarters of the error."""
        moved = is_moved(self._probe.relative, self._probe.error)
        return self._setting.candidate if moved else self._setting.reference

    @property
    def _is_gone(self) -> bool:
        """Whether probing leaves next to nothing of the outputs' error."""
        gone = [self._probed.get(name, math.inf) <= SHARE * error for name, error in self._whole.failing.items()]
        return bool(gone) and all(gone) and math.isfinite(self._probe.error)

    @cached_property
    def _beyond(self) -> Mapping[str, float]:
        """The failing outputs that are off by more than rounding explains on the way to them."""
        return self._whole.beyond or (self._whole.failing if self._is_wrong_between_steps else {})

    @cached_property
    def _is_wrong_between_steps(self) -> bool:
        return self._is_gone and self._whole.is_wrong_between_steps(self._rows)

    def _blame_fusion(self, side: PartitionedRun) -> Judged | Turned | Ties | None:
        """Blame operators that are wrong together; what they round otherwise where that is all they do."""
        whole, outputs = self._whole, self._beyond
        whole.on_stage("looking for the operators that are wrong together")
        turned: Turned | Ties | None = self._ties(side, outputs)
        if turned is not None:
            return turned
        removes = whole.removes(side, outputs, self._probe.error)
        probes = find_probes(side, whole.feed, self._measured.groups, final_outputs(side.graph), removes)
        sides = whole.sides(side)
        gone = left_out(sides, whole.feed, probes, outputs, lambda made: not removes(made))
        if gone is not None:
            return blame_left_out(self._nobody(), gone)
        turned = rounding_that_turns(sides, whole.feed, self._rows, probes, outputs, lambda made: not removes(made))
        if turned is not None:
            return turned
        nobody = self._nobody()
        each = side.forecast.text(len(side.graph.nodes))
        each = f"{each} each" if each else ""
        whole.on_stage(f"looking for what the backend can leave out, in up to {TRIALS} runs of the model{each}")
        fused = find_fused(side, probes, lambda variant: self._is_right(variant, side))
        return blame_fused(nobody, self._probe, side.label, side.graph, probes, fused)

    def _blame_casts(self) -> Judged | None:
        """Blame Casts that a backend leaves out where rounding, too, would explain the outputs: it does not round."""
        whole = self._whole
        outputs = whole.failing
        if not outputs or not self._is_gone:
            return None
        side = self._moved_side
        casts, removes = coarser_casts(self._rows), whole.removes(side, outputs, max(outputs.values()))
        gone = left_out(whole.sides(side), whole.feed, casts, outputs, lambda made: not removes(made))
        return None if gone is None else blame_left_out(self._nobody(), gone)

    def _nobody(self) -> Judged:
        """Return the judgement of the rows that blames no operator."""
        return self._judged(self._blame(), first_bad=None, origin=None, last_good=None, turning=None)

    def _is_right(self, variant: PartitionedRun, side: PartitionedRun) -> bool:
        """Return whether a backend that was told otherwise makes outputs that are right but for rounding."""
        target, made = self._whole.target(side), variant.run_whole(self._whole.feed, list(self._beyond))
        return made is not None and all(
            self._whole.is_explained(name, made[name], target[name]) for name in self._beyond
        )

    def _ties(self, side: PartitionedRun, outputs: Mapping[str, float]) -> Ties | None:
        """Return the tensor from which a backend rounds ties otherwise, if that is what outputs are off by."""
        removes = self._whole.removes(side, outputs, self._probe.error)
        return ties_that_grow(
            self._whole.sides(side), self._whole.feed, self._rows, outputs.keys(), lambda made: not removes(made)
        )

    # --- single operators

    def _blame(self) -> Judgement:
        whole = self._whole
        final = frozenset(final_outputs(self._setting.reference.graph))
        return blame(Evidence(self._rows, self._flow, whole.failing, whole.beyond.keys(), final, whole.leads))

    def _is_unexplained(self) -> bool:
        """Return whether the outputs are further off than rounding is told by, and operators not looked at closely."""
        if self._probe.plain_passed:
            return False
        return bool(self._beyond) and any(row.standalone is None and needs_explaining(row) for row in self._rows)

    def _final(self, found: Judgement) -> Judged:
        """Return the verdict on single operators."""
        if found.verdict not in BENIGN or self._probe.plain_passed:
            return self._judged(found)
        lone = lone_narrowing(self._rows) if found.verdict == WITHIN_ROUNDING else None
        if lone is not None:
            return self._judged(found, verdict=NARROWED, turning=None, first_bad=lone[0], usual_type=lone[1])
        if self._beyond:
            if self._probe.trusted:
                return self._judged(found)
            # The tensors are those of another computation, which explain nothing here.
            return self._judged(found, verdict=UNDECIDED, turning=None)
        if self._probe.relative and not self._probe.trusted:
            sentence = f"{moved_text(self._probe)}, no more than rounding explains"
            self._probe = replace(self._probe, sentence=sentence)
        return self._judged(found, verdict=WITHIN_ROUNDING if found.turning is None else found.verdict)

    def _judged(self, found: Judgement, **changes: Any) -> Judged:
        judged = _judged(found, self._measured, self._whole)
        return replace(judged, **{"probe": self._probe, "is_probed": self._is_probed, **changes})


def _judged(found: Judgement, measured: Measured, whole: WholeModel) -> Judged:
    """Return the verdict that the rows alone give."""
    return Judged(
        **vars(found),
        rows=measured.rows,
        finals=whole.finals,
        unseen=measured.unseen,
        borrowed=measured.borrowed,
        is_whole=measured.is_whole,
    )
