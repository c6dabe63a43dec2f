"""From the rows of a search to its verdict: which tensor, which operator, and how that leads to the outputs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import dataclass

from polycmp.graph import GraphNode
from polycmp_locate.rounding.thresholds import accumulated_limit, is_beyond_eight_bits
from polycmp_locate.row_rules import (
    JUMP,
    differs_beyond_range,
    is_beyond_range,
    is_clipped,
    is_constant,
    is_culprit,
    is_ill_conditioned,
    is_new_nan,
    is_off,
    is_refuted,
    is_right_alone,
    is_tied,
    operator_limit,
    reference_is_wrong,
    rounds_on_the_way,
)
from polycmp_locate.trials.flow import Flow
from polycmp_locate.trials.probing import is_obvious
from polycmp_locate.values.judged import (
    CONSTANT,
    EQUAL,
    ILL_CONDITIONED,
    NOT_FINITE,
    UNDECIDED,
    WITHIN_ROUNDING,
    WORSE,
    WRONG,
    Judgement,
)
from polycmp_locate.values.measured import Row


@dataclass(frozen=True)
class Evidence:
    """Evidence for a verdict.

    Attributes:
        rows: The tensors, in the order of the graph.
        flow: Data flow of the graph.
        failing: The model's outputs that are outside the tolerance without probes, with their relative errors.
        finals: The names of the model's outputs.
        beyond: Those that are off by more than rounding explains.
        leads: Says by a trial whether a tensor's error is that of some outputs, of which it is given the names.
        cures: Says by a trial whether outputs are judged better if a tensor is the reference's; None if no trial can be
            made.
        equalised: The tensors that one file holds multiplied by a factor for each channel, as their readers expect.
        judged_whole: The outputs of a saved run of which no tensor on the way is known: the judge has measured what
            rounding does between them and the model's inputs.
    """

    rows: Sequence[Row]
    flow: Flow
    failing: Mapping[str, float]
    beyond: Set[str]
    finals: frozenset[str] = frozenset()
    leads: Callable[[Row, Set[str]], bool] = lambda row, outputs: True
    cures: Callable[[Row, Set[str]], bool | None] = lambda row, outputs: None
    equalised: Collection[str] = ()
    judged_whole: Collection[str] = ()


def blame(evidence: Evidence) -> Judgement:
    """Return the verdict on what one search saw."""
    return _Blame(evidence).judge()


class _Blame:
    """One verdict in the making."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self.rows = evidence.rows
        self.flow = evidence.flow
        self.by_name = {row.tensor: row for row in evidence.rows}
        self.place = {row.tensor: index for index, row in enumerate(evidence.rows)}
        self.absorbed: list[tuple[Row, tuple[GraphNode, ...]]] = []
        self.harmless: list[Row] = []
        self.unmeasured: Row | None = None
        self.outdone: Row | None = None

    def judge(self) -> Judgement:
        """Return the verdict."""
        inside_range: set[str] = set()
        for row in self.rows:
            if row.tensor in inside_range:
                if self._is_blamed(row):
                    return self._blame(self.outdone or row)
                continue
            if is_beyond_range(row) and not row.is_borrowed:
                region = self._region(row, is_beyond_range)
                differs = any(differs_beyond_range(self.by_name[name]) for name in region & self.by_name.keys())
                if differs and self._does_harm(region):
                    return self._blame_range(row, region)
            if differs_beyond_range(row) and not row.is_borrowed:
                region = self._region(row, differs_beyond_range)
                self._note_absorbed(row, region)
                inside_range |= region
            elif self._is_blamed(row):
                return self._blame(self.outdone or row)  # the first that is wrong, however much those after it add
        return self._nobody()

    # --- infinities, NaN and saturated values

    def _region(self, row: Row, belongs: Callable[[Row], bool]) -> set[str]:
        """Return the tensors that one leads to through tensors that belong to it, itself included."""
        return self.flow.reached(row.tensor, lambda name: name not in self.by_name or belongs(self.by_name[name]))

    def _does_harm(self, region: set[str]) -> bool:
        inside = [self.by_name[name] for name in region if name in self.by_name]
        if any(is_new_nan(item) or item.tensor in self.evidence.failing for item in inside):
            return True
        behind = [self.by_name[name] for name in self.flow.behind(region) if name in self.by_name]
        inherited = JUMP * self._error_entering(region)
        return any(self._is_off(item) and not is_culprit(item) and item.relative > inherited for item in behind)

    def _error_entering(self, region: set[str]) -> float:
        """Return the largest error, beyond rounding, of what a region reads from outside; 0 if there is none."""
        read = {name for item in self.rows if item.tensor in region for name in item.node.inputs} - region
        entering = [self.by_name[name] for name in read & self.by_name.keys()]
        return max((item.relative for item in entering if self._is_off(item)), default=0.0)

    def _blame_range(self, row: Row, region: set[str]) -> Judgement:
        """Blame the operator that makes the first NaN by itself, else the one that first leaves the range."""
        nans = [item for item in self.rows if item.tensor in region and is_new_nan(item)]
        nan_alone = next((item for item in nans if item.standalone is not None and item.standalone.is_nan), None)
        chosen = nan_alone or row
        is_not_finite = chosen.candidate is not None and not chosen.candidate.is_finite
        born = is_not_finite and (chosen.inputs_finite or is_new_nan(chosen))
        return self._finish(chosen, chosen, NOT_FINITE if born else self._strength(chosen, chosen))

    def _note_absorbed(self, row: Row, region: set[str]) -> None:
        absorbing = [
            node
            for name in sorted(region, key=lambda name: self.place.get(name, 0))
            for node in self.flow.readers(name)
            if not set(node.outputs) <= region
        ]
        self.absorbed.append((row, tuple(absorbing)))

    # --- finite errors

    def _is_off(self, row: Row) -> bool:
        return is_off(row, accumulated_limit(self.place[row.tensor], max(row.unit, row.path_unit)))

    def _is_blamed(self, row: Row) -> bool:
        if row.is_borrowed:
            return False  # one backend made it for both, which says nothing of either
        if not is_culprit(row):
            self._note_unmeasured(row)
            return False
        if row.tensor in self.evidence.judged_whole and row.tensor not in self.evidence.beyond:
            return False
        reached, equalised = self._reached_outputs(row), self.evidence.equalised
        if equalised and not self.evidence.beyond:
            return False  # what is multiplied, and is multiplied out behind, differs on the way
        if row.tensor in equalised and not (reached and self.evidence.leads(row, reached)):
            return False
        if not reached:
            clipped = is_clipped(row)
            steps = row.standalone is not None and row.standalone.steps is not None and not (clipped or row.passed)
            if not (self.evidence.failing or clipped or row.passed):
                return True
            if steps or (not row.passed and self._is_off(row)):  # a wrong scale is one however much others round
                self.harmless.append(row)
            return False
        if is_clipped(row):
            self.harmless.append(row)  # until an output that no other operator explains asks for it
            return False
        if row.standalone is not None and row.standalone.steps is not None:
            return True  # a wrong scale is a fault however much the other layers' rounding adds to the outputs' error
        error_alone = row.standalone.relative if row.standalone is not None else 0.0
        in_place = (row.standalone.in_place or 0.0) if row.standalone is not None else 0.0
        final = max(self.evidence.failing[name] for name in reached)
        if is_obvious(max(error_alone, in_place), final) or self.evidence.leads(row, reached):
            return True
        if self.outdone is None and is_refuted(row):
            self.outdone = row  # a decision behind it goes otherwise by rounding, too, and hides what it does
        return False

    def _reached_outputs(self, row: Row) -> Set[str]:
        return self.evidence.failing.keys() & self.flow.reached(row.tensor, self._carries)

    def _reaches_outputs(self, row: Row) -> bool:
        return bool(self._reached_outputs(row))

    def _carries(self, name: str) -> bool:
        row = self.by_name.get(name)
        return row is None or row.relative > 0.0 or row.stats is None

    def _note_unmeasured(self, row: Row) -> None:
        """Remember the first tensor that is off although what its operator read is not, and that was not measured."""
        if self.unmeasured is not None or not self._is_off(row) or is_tied(row):
            return
        if row.standalone is not None and not (row.standalone.in_place is None and self._reads_hidden(row)):
            return
        read = [self.by_name[name] for name in row.node.inputs if name in self.by_name]
        if row.was_tried and any(self._is_off(item) for item in read):
            return
        if self._reaches_outputs(row):
            self.unmeasured = row

    def _reads_hidden(self, row: Row) -> bool:
        return any(name in self.flow.computed and name not in self.by_name for name in row.node.inputs)

    def _blame(self, culprit: Row) -> Judgement:
        first = culprit
        if culprit.passed:
            behind = self.flow.reached(culprit.tensor, self._carries)
            first = next((row for row in self.rows if row.tensor in behind and self._is_off(row)), culprit)
        return self._finish(first, culprit, self._strength(first, culprit))

    def _strength(self, first: Row, culprit: Row) -> str:
        if self._is_suspicious(first):
            return CONSTANT
        error = first.relative
        if first is culprit and culprit.standalone is not None and culprit.standalone.is_drowned:
            return WRONG
        if first is culprit and culprit.standalone is not None and culprit.standalone.relative > 0.0:
            error = min(error, max(culprit.standalone.relative, culprit.standalone.in_place or 0.0))
        return WRONG if first.stats is None or is_beyond_eight_bits(error) or not first.unit else WORSE

    @staticmethod
    def _is_suspicious(row: Row) -> bool:
        """Return whether the side that is wrong holds one number everywhere; exact numbers speak for themselves."""
        if not is_constant(row) or row.candidate is None or (not row.unit and is_culprit(row)):
            return False
        return row.candidate.is_constant or reference_is_wrong(row)

    def _finish(self, first: Row | None, origin: Row | None, verdict: str, turning: Row | None = None) -> Judgement:
        before = self.rows[: self.place[first.tensor]] if first is not None else ()
        read = [row for row in before if first is not None and row.tensor in first.node.inputs]
        known = read or before
        return Judgement(
            verdict, first, origin, known[-1] if known else None, turning, tuple(self.absorbed), tuple(self.harmless)
        )

    # --- no operator is to blame

    def _nobody(self) -> Judgement:
        if not self.evidence.failing:
            harmless = {row.tensor for row in self.harmless}
            off = not harmless and any(not row.passed and not row.is_matched for row in self.rows)
            off = off and not self.evidence.equalised
            return self._finish(None, None, WITHIN_ROUNDING if off else EQUAL)
        both = self._nan_in_both()
        if both is not None:
            return self._finish(both, both, NOT_FINITE)
        if self.outdone is not None:
            return self._blame(self.outdone)
        clipped = self._clipped()
        if clipped is not None:
            self.harmless.remove(clipped)
            return self._blame(clipped)
        if self.unmeasured is not None:
            return self._unmeasured(self.unmeasured)
        if self.evidence.beyond and any(rounds_on_the_way(row) and self._reaches_outputs(row) for row in self.rows):
            return self._finish(None, None, UNDECIDED)  # what steps amplify was measured, and is less than that
        ill = next((row for row in self.rows if self._is_ill(row)), None)
        if ill is not None:
            return self._finish(None, None, ILL_CONDITIONED, ill)
        if not self.evidence.beyond:
            return self._finish(None, None, WITHIN_ROUNDING, self._first_step())
        return self._turned()

    def _clipped(self) -> Row | None:
        """Return the clipped tensor without which outputs are judged better, by trials of those that lose most first.

        Where no trial can be made it is the one that loses most, if rounding does not explain the outputs.
        """
        clipped = [row for row in self.harmless if is_clipped(row)]
        clipped.sort(key=lambda row: row.standalone.relative if row.standalone is not None else 0.0, reverse=True)
        for place, row in enumerate(clipped):
            outputs = self._reached_outputs(row)
            is_cured = self.evidence.cures(row, outputs) if outputs else False
            if is_cured or (is_cured is None and not place and outputs & self.evidence.beyond):
                return self._cut_before(row, clipped) or row
            if is_cured is None:
                return None
        return None

    def _cut_before(self, row: Row, clipped: Sequence[Row]) -> Row | None:
        """Return the clipped tensor that an operator reads which cuts off what it reads, and nothing that it makes."""
        steps = row.standalone.steps if row.standalone is not None else None
        if steps is None or not steps.is_cut_in_reading:
            return None
        return next((item for item in clipped if item.tensor in row.node.inputs), None)

    def _is_ill(self, row: Row) -> bool:
        return is_ill_conditioned(row) and self._is_off(row) and self._reaches_outputs(row)

    def _nan_in_both(self) -> Row | None:
        """Return the row at which both sides alike leave the range of numbers, if a failing output does so."""
        for name in self.evidence.failing:
            final = self.by_name.get(name)
            if final is None or final.candidate is None or final.candidate.is_finite or not final.is_matched:
                continue
            for row in self.rows:
                of_candidate = row.candidate if not row.is_borrowed else None
                beyond = of_candidate is not None and not of_candidate.is_finite and row.inputs_finite
                if beyond and name in self.flow.reached(row.tensor, self._is_not_finite):
                    return row
        return None

    def _is_not_finite(self, name: str) -> bool:
        row = self.by_name.get(name)
        return row is None or (row.candidate is not None and not row.candidate.is_finite)

    def _unmeasured(self, row: Row) -> Judgement:
        if row.was_tried:
            return self._finish(row, row, self._strength(row, row))
        return self._finish(None, None, UNDECIDED, row)

    def _first_step(self) -> Row | None:
        """Return the first tensor of exact numbers that differs although its operator is right, or by ties alone.

        None if what it reads is off by more than rounding to its type: that is no tie.
        """
        exact = (row for row in self.rows if not row.unit and row.max_abs and (is_right_alone(row) or is_tied(row)))
        first = next((row for row in exact if self._reaches_outputs(row)), None)
        read = [row for name in first.node.inputs if (row := self.by_name.get(name))] if first is not None else []
        is_off_before = any(
            is_off(row, accumulated_limit(self.place[row.tensor], row.unit)) for row in read if row.unit
        )
        return None if is_off_before else first

    def _turned(self) -> Judgement:
        """Every operator in question is right by itself: find where rounding turned into a difference."""
        steps = self._first_step()
        off = next((row for row in self.rows if self._is_off(row) and self._reaches_outputs(row)), None)
        if steps is not None and (off is None or self.place[steps.tensor] <= self.place[off.tensor]):
            return self._finish(None, None, WITHIN_ROUNDING, steps)
        if off is None or not is_right_alone(off):
            return self._finish(None, None, UNDECIDED, off)
        if off.standalone is not None and off.standalone.relative > operator_limit(off):
            return self._finish(None, None, ILL_CONDITIONED, off)  # a long sum that cancels, say
        # What operators amplify was measured with the outputs: where each is right, nothing explains them.
        return self._finish(None, None, UNDECIDED)
