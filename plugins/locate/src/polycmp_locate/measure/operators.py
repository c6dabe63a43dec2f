"""Measuring one operator by itself, on the tensors of either side."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polycmp.graph import weight_values
from polycmp.judging import beside_masks
from polycmp.layerwise import PartitionedRun
from polycmp.precision import UNITS, unit_of
from polycmp.tensors import dtype_name, dtype_of, is_floating, to_numpy
from polycmp_locate.measure.compiled import run_together
from polycmp_locate.measure.requantised import requantised
from polycmp_locate.pairing.parts import PartNode, is_calibrated, last_step, rounds_to_steps, uncut_name
from polycmp_locate.rounding.difference import distance
from polycmp_locate.rounding.figures import figures
from polycmp_locate.rounding.kinds import INTEGER_PRODUCTS, NORMALISING, SUMMING
from polycmp_locate.rounding.perturbing import one_ulp_apart, randomly_moved, rounded, scaled
from polycmp_locate.rounding.quantised import StepError, step_error
from polycmp_locate.rounding.thresholds import (
    LEVELS,
    OPERATOR_MARGIN,
    TIE_WIDTH,
    bounded_floor,
    is_one_sided,
    least_scale,
    step_limit,
    worth_running,
)
from polycmp_locate.rounding.uneven import Parts, gain_of, parts_of
from polycmp_locate.row_rules import may_have_gain, operator_limit
from polycmp_locate.setting import Tensors, allowed_type
from polycmp_locate.values.measured import Standalone
from polycmp_locate.values.swept import SweptRow

#: Elements up to which one operator is also calculated in float64 by a slow evaluator.
_AFFORDABLE_ALONE = 1 << 20
#: Directions in which an operator's inputs are moved, to find jumps, and the number of those that tell that it has
#: none: all move it alike then. Measured on LSTMs of 80 and 200 steps of 8 bits: half of the directions meet a jump.
_DIRECTIONS, _TELL_SMOOTH = 16, 4
#: Directions in which numbers are moved that may be equal: a quarter of them turns the order of two, all but one of
#: 10,000 pairs are turned by so many.
_TIED_DIRECTIONS = 32


class _Move(NamedTuple):
    """How far a result is from another one.

    Attributes:
        error: The largest difference, relative.
        share: Share of the elements that differ by more than rounding explains without jumps.
    """

    error: float
    share: float


class OperatorTester:
    """Runs single operators of the candidate on the reference's tensors, and the other way round.

    Args:
        candidate: The backend to judge.
        reference: The backend to believe.
        precise: A backend that calculates in float64; None if there is none.
    """

    def __init__(
        self, candidate: PartitionedRun, reference: PartitionedRun, precise: PartitionedRun | None = None
    ) -> None:
        self.candidate = candidate
        self.reference = reference
        self.precise = precise
        self.ran_together: dict[str, dict[str, Any] | None] = {}

    def run_together(self, inputs: Mapping[str, Tensors], kinds: Mapping[str, np.dtype[Any]], memory: int) -> None:
        """Run operators of a candidate that compiles in as few runners as it takes, and keep what they made.

        Args:
            inputs: By the tensor in question what its operator reads, from the reference.
            kinds: The candidate's element types, by name.
            memory: Bytes that the tensors of one runner may take.
        """
        feeds = {
            output: {name: _as_kind(array, kinds.get(name)) for name, array in tensors.items()}
            for output, tensors in inputs.items()
        }
        self.ran_together = run_together(self.candidate, feeds, memory)

    def standalone_error(
        self, row: SweptRow, inputs: Tensors, raw: Any, kinds: Mapping[str, np.dtype[Any]], passed: Any
    ) -> Standalone | None:
        """Measure the error of an operator by itself; None if the candidate cannot run it alone.

        Args:
            row: The tensor in question.
            inputs: Inputs of the operator, from the reference.
            raw: The tensor that the reference gave for them.
            kinds: The candidate's element types, by name.
            passed: Predicate over a pair of tensors: whether it is within the tolerances.
        """
        feed = {name: _as_kind(array, kinds.get(name)) for name, array in inputs.items()}
        ran = row.tensor in self.ran_together
        outputs = self.ran_together[row.tensor] if ran else self.candidate.run_part(feed, [row.tensor])
        if outputs is None:
            return None
        actual, expected = to_numpy(outputs[row.tensor]), to_numpy(raw)
        if actual.shape != expected.shape:
            of_other_shape = Standalone(math.inf, math.inf, passed=False, share=1.0, count=expected.size)
            return None if _is_shaped_alike(row) else of_other_shape
        allowed = allowed_type(self.candidate, self.reference)
        before = self._range_before(row, inputs)
        result = _difference(row, actual, expected, bool(passed(actual, raw)), allowed, before)
        if not row.unit:
            if not result.max_abs:
                return result
            result = replace(result, saturates=self._saturates(row, feed))
            near = row.in_steps and result.max_abs <= step_limit(row.input_unit)
            ties = near and self._are_ties(row, inputs, actual, expected)
            return replace(result, same_if_rounded=self._same_if_rounded(row, inputs, actual, kinds), are_ties=ties)
        if result.steps is not None:
            if not (result.steps.is_doubtful and isinstance(row.node, PartNode)):
                return result
            rounded = requantised(self.reference, row.node, inputs)
            steps = _step_error(row, actual, expected, before, rounded)
            steps = (steps.is_rounding and self._of_few_bits(row, row.node, feed)) or steps
            is_cut = not (steps.is_rounding or steps.is_clipped) and self._is_cut_in_reading(
                row, row.node, inputs, actual
            )
            return replace(result, steps=replace(steps, is_cut_in_reading=is_cut))
        if result.relative <= operator_limit(row):
            return result  # so small an error needs no explanation
        again = None if self.reference.can_join else self.reference.run_part(inputs, [row.tensor])
        if again is not None and distance(again[row.tensor], raw) > 0.0:  # in the model it fuses this operator
            raw = again[row.tensor]
            result = _difference(row, actual, to_numpy(raw), bool(passed(actual, raw)), allowed)
        return self._with_cancelled(self._with_floor(result, row, inputs, actual, raw), row, inputs, raw)

    def _of_few_bits(self, row: SweptRow, node: PartNode, inputs: Tensors) -> StepError | None:
        """Return the error of a part with weights of few bits for inputs that go in all directions, if it is a fault.

        So few steps make large errors, and inputs that lie in few directions see only some of them: a factor of all
        weights looks like chance then.

        Args:
            row: The tensor in question.
            node: The part.
            inputs: Inputs of the part, in the candidate's types.
        """
        if node.unit <= UNITS["int8"] or "MatMulNBits" not in node.candidate_ops:
            return None  # what is read is rounded, too, to steps that end where a calibration says
        rng = np.random.default_rng(0)
        feed = {name: _random_like(to_numpy(array), rng) for name, array in inputs.items()}
        outputs, reference_outputs = (
            self.candidate.run_part(feed, [row.tensor]),
            self.reference.run_part(feed, [row.tensor]),
        )
        if outputs is None or reference_outputs is None:
            return None
        actual, expected = to_numpy(outputs[row.tensor]), to_numpy(reference_outputs[row.tensor])
        if actual.shape != expected.shape:
            return None
        steps = _step_error(row, actual, expected, 0.0, requantised(self.reference, node, feed))
        return None if steps.is_rounding else steps

    def _is_cut_in_reading(self, row: SweptRow, node: PartNode, inputs: Tensors, actual: NDArray[Any]) -> bool:
        """Return whether a part does right by what its ranges leave of what it reads.

        Args:
            row: The tensor in question.
            node: The part.
            inputs: Inputs of the part, from the reference.
            actual: What the candidate makes of them.
        """
        cut = {name: np.clip(to_numpy(inputs[name]), *ends) for name, ends in node.ends.items() if name in inputs}
        if all(np.array_equal(array, to_numpy(inputs[name])) for name, array in cut.items()):
            return False
        left = {**inputs, **cut}
        outputs = self.reference.run_part(left, [row.tensor])
        if outputs is None or to_numpy(outputs[row.tensor]).shape != actual.shape:
            return False
        rounded = requantised(self.reference, node, left)
        steps = _step_error(row, actual, to_numpy(outputs[row.tensor]), self._range_before(row, left), rounded)
        return steps.is_rounding or steps.is_clipped

    def _range_before(self, row: SweptRow, inputs: Tensors) -> float:
        """Return the largest magnitude of what the reference cuts to a tensor; 0 if it cuts nothing.

        What rounds to codes that end there rounds numbers of that size.
        """
        before = uncut_name(row.node)
        outputs = self.reference.run_part(inputs, [before]) if before else None
        figures_before = figures(outputs[before]) if outputs is not None else None
        return figures_before.scale if figures_before is not None else 0.0

    def in_place_error(self, row: SweptRow, inputs: Tensors, output: Any) -> tuple[float, float, float] | None:
        """Measure the distance of the candidate's tensor from the reference's result for the candidate's inputs.

        Args:
            row: The tensor in question.
            inputs: Inputs of the operator, from the candidate.
            output: The candidate's tensor.

        Returns:
            The error relative to the scale, the largest absolute one, and by which share a whole row is off alike; None
            if the reference cannot run that.
        """
        reference_outputs = self.reference.run_part(inputs, [row.tensor])
        if reference_outputs is None:
            return None
        actual, expected = to_numpy(output), to_numpy(reference_outputs[row.tensor])
        if actual.shape != expected.shape:
            return None if _is_shaped_alike(row) else (math.inf, math.inf, 0.0)
        parts = _parts_of(row, actual, expected, allowed_type(self.candidate, self.reference))
        return parts.relative, parts.max_abs, _gain_of(row, actual, expected)

    def is_decided_otherwise(self, row: SweptRow, inputs: Tensors, output: Any) -> bool:
        """Return whether the candidate decides otherwise in its place only what one unit in the last place decides.

        A backend that calculates in a wider type than a tensor has may hand on to the next operator what it has not
        rounded yet, and rounds what is looked at. Numbers that are equal in the coarser type are not before.

        Args:
            row: The tensor in question, of whole numbers or truth values.
            inputs: Inputs of the operator, from the candidate.
            output: The candidate's tensor.
        """
        if max((unit_of(dtype_name(dtype_of(array))) for array in inputs.values()), default=0.0) <= UNITS["float32"]:
            return False
        first = self.reference.run_part(inputs, [row.tensor])
        if first is None:
            return False
        actual, unmoved = to_numpy(output), to_numpy(first[row.tensor])
        reshaped = actual.shape != unmoved.shape
        unturned = np.ones(1, bool) if reshaped else actual != unmoved
        for seed in range(_TIED_DIRECTIONS):
            moved = self.reference.run_part(randomly_moved(inputs, 1.0, seed), [row.tensor])
            if moved is None:
                return False
            sample = to_numpy(moved[row.tensor])
            unturned = unturned & (
                sample.shape == unmoved.shape if reshaped or sample.shape != unmoved.shape else sample == unmoved
            )
            if not unturned.any():
                return True
        return False

    def with_jumps(
        self,
        result: Standalone,
        row: SweptRow,
        inputs: Tensors,
        expected: Any,
        kinds: Mapping[str, np.dtype[Any]],
        limit: float,
    ) -> Standalone:
        """Raise the floor of an operator by what it makes of inputs that are rounded otherwise.

        An error of `OPERATOR_MARGIN` times what one unit in the last place of the inputs moves is, for what is smooth,
        what `OPERATOR_MARGIN` units move. An operator that rounds to steps inside, as an LSTM of 8-bit products does,
        is not: one unit moves nothing until a number falls on the other side of a tie, and then by much, at the one
        backend and not at the other. So `OPERATOR_MARGIN` units are tried, too, in several directions; both sides may
        be moved so. What such jumps leave as it was, as the time before the first of them, a fault moves, too. A saved
        run cannot be moved: what the candidate's operators make of such inputs stands for it.

        Args:
            result: Error of the operator by itself.
            row: The tensor in question.
            inputs: Inputs of the operator, from the reference.
            expected: What the reference made of them.
            kinds: The candidate's element types, by name.
            limit: Largest relative error that rounding explains without jumps.
        """
        error = max(result.relative, result.in_place or 0.0)
        if not math.isfinite(error):  # another shape, or NaN that one side has: nothing that ties explain
            return result
        feed = {name: _as_kind(array, kinds.get(name)) for name, array in inputs.items()}
        outputs = self.ran_together.get(row.tensor) or self.candidate.run_part(feed, [row.tensor])
        size = sum(to_numpy(array).size for array in inputs.values())
        precise = self.precise if size + result.count <= _AFFORDABLE_ALONE else None
        for run in (precise, self.reference, self.candidate):
            still = run.run_part(inputs, [row.tensor]) if run is not None else None
            if run is None or still is None or outputs is None:
                continue
            least = limit * max(float(np.abs(to_numpy(still[row.tensor])).max(initial=0.0)), _least_of(row))
            moves = self._moves(run, row, inputs, still[row.tensor], least, error)
            if not moves:
                continue
            own_move = _Move(error, _share_beyond(outputs[row.tensor], expected, least))
            floor = 2.0 * max(move.error for move in moves) / OPERATOR_MARGIN
            if floor <= (result.floor or 0.0) or not _is_one_of(own_move, moves):
                return result
            return replace(result, floor=floor, floor_from="inputs moved by rounding in several directions")
        return result

    @staticmethod
    def _moves(
        run: PartitionedRun, row: SweptRow, inputs: Tensors, still: Any, least: float, error: float
    ) -> list[_Move]:
        """Return how an operator's result moves in several directions; nothing of a run that cannot show it.

        Args:
            run: A backend.
            row: The tensor in question.
            inputs: Inputs of the operator.
            still: Its result for them.
            least: Difference from which on an element counts as moved.
            error: An error; once it is explained, no further direction is tried.
        """
        moves: list[_Move] = []
        for seed in range(_DIRECTIONS):
            outputs = run.run_part(randomly_moved(inputs, OPERATOR_MARGIN, seed), [row.tensor])
            if outputs is None:
                return moves
            gap = distance(outputs[row.tensor], still, _least_of(row))
            moves.append(_Move(gap if math.isfinite(gap) else 0.0, _share_beyond(outputs[row.tensor], still, least)))
            errors = [move.error for move in moves]
            is_smooth = len(moves) >= _TELL_SMOOTH and max(errors) <= OPERATOR_MARGIN * min(errors)
            if is_smooth or 2.0 * max(errors) >= error:
                break
        return moves

    def _same_if_rounded(
        self, row: SweptRow, inputs: Tensors, actual: NDArray[Any], kinds: Mapping[str, np.dtype[Any]]
    ) -> bool:
        """Return whether the reference makes the same of inputs rounded as the candidate has them, or may round them.

        What is rounded to float16 holds numbers that are equal, and were not.
        """
        allowed = allowed_type(self.candidate, self.reference)
        coarse = {}
        for name, value in inputs.items():
            array = to_numpy(value)
            kind_of_candidate = dtype_name(kinds[name]) if name in kinds else ""
            kind = max(allowed, kind_of_candidate, key=unit_of)
            coarse[name] = rounded(array, kind) if unit_of(kind) > unit_of(dtype_name(array.dtype)) else array
        outputs = self.reference.run_part(coarse, [row.tensor])
        return outputs is not None and np.array_equal(to_numpy(outputs[row.tensor]), actual)

    def _are_ties(self, row: SweptRow, inputs: Tensors, actual: NDArray[Any], expected: NDArray[Any]) -> bool:
        """Return whether the reference makes each step of the candidate's of inputs a few units of roundoff away.

        Codes do not move. Of an operator that reads nothing else the scale of what it makes does, by so much that the
        smallest code moves by units of the largest: it adds up numbers of that size.
        """
        lowest, highest, width = expected.astype(np.int64), expected.astype(np.int64), TIE_WIDTH * row.input_unit
        real = {name: to_numpy(array) for name, array in inputs.items() if is_floating(to_numpy(array).dtype)}
        if not real:
            real, width = self._output_scale(row), LEVELS * width
        for factor in (1.0 + width, 1.0 - width):
            moved = {name: scaled(array, factor) for name, array in real.items()}
            outputs = self.reference.run_part({**inputs, **moved}, [row.tensor])
            if outputs is None or to_numpy(outputs[row.tensor]).shape != actual.shape:
                return False
            steps = to_numpy(outputs[row.tensor]).astype(np.int64)
            lowest, highest = np.minimum(lowest, steps), np.maximum(highest, steps)
        codes = actual.astype(np.int64)
        return bool(((lowest <= codes) & (codes <= highest)).all())

    def _output_scale(self, row: SweptRow) -> dict[str, NDArray[Any]]:
        """Return the scale of the codes that an operator makes: the last real number among its weights."""
        graph = self.reference.graph
        weights = weight_values(graph, [name for name in row.node.inputs if name in graph.weights])
        real = [name for name, array in weights.items() if is_floating(array.dtype)]
        return {name: weights[name] for name in real[-1:]}

    def _saturates(self, row: SweptRow, inputs: Tensors) -> bool:
        """Return whether both sides agree on half of the activations, of which no two products exceed 16 bits."""
        first = row.node.inputs[0] if row.node.inputs else ""
        if row.node.op_type not in INTEGER_PRODUCTS or first not in inputs:
            return False
        activations = to_numpy(inputs[first])
        if activations.dtype != np.uint8:
            return False
        halved = {**inputs, first: activations // 2}
        actual, expected = self.candidate.run_part(halved, [row.tensor]), self.reference.run_part(halved, [row.tensor])
        return actual is not None and expected is not None and distance(actual[row.tensor], expected[row.tensor]) == 0.0

    def _with_floor(self, result: Standalone, row: SweptRow, inputs: Tensors, actual: Any, expected: Any) -> Standalone:
        size = expected.size + sum(to_numpy(array).size for array in inputs.values())
        if self.precise is not None and size <= _AFFORDABLE_ALONE:
            truth = self.precise.run_part(inputs, [row.tensor])
            if truth is not None:
                return self._against_float64(result, row, inputs, (actual, expected, truth[row.tensor]))
        moved = self.reference.run_part(one_ulp_apart(inputs), [row.tensor])
        if moved is None:
            return result
        least = _least_of(row)
        gap = distance(moved[row.tensor], expected, least)
        floor = bounded_floor(gap, 0.0, row.unit) if not math.isfinite(gap) else gap
        return replace(result, floor=floor, floor_from="inputs moved by one unit in the last place")

    def _with_cancelled(self, result: Standalone, row: SweptRow, inputs: Tensors, expected: Any) -> Standalone:
        """Raise the floor of a sum by what adding many terms of other signs rounds.

        A sum of n terms is off by about sqrt(n) roundings of the sum of magnitudes (Higham, section 4.2; Higham and
        Mary), which is the same operator of the magnitudes. Narrower types are summed in float32, as
        `operator_rounding` says.
        """
        if row.node.op_type not in SUMMING:
            return result
        sizes = {name: np.abs(to_numpy(each)) if is_floating(dtype_of(each)) else each for name, each in inputs.items()}
        outputs = self.reference.run_part(sizes, [row.tensor])
        magnitudes, sums = (figures(outputs[row.tensor]) if outputs is not None else None), figures(expected)
        if magnitudes is None or sums is None or not sums.scale:
            return result
        terms = max(to_numpy(each).size for each in inputs.values()) / max(to_numpy(expected).size, 1)
        floor = min(row.unit, UNITS["float32"]) * math.sqrt(terms) * magnitudes.scale / sums.scale
        if floor <= (result.floor or 0.0):
            return result
        return replace(result, floor=floor, floor_from="what adding many terms rounds")

    def _against_float64(
        self, result: Standalone, row: SweptRow, inputs: Tensors, tensors: tuple[Any, Any, Any]
    ) -> Standalone:
        actual, expected, truth = tensors
        least = _least_of(row)
        of_candidate, of_reference = distance(actual, truth, least), distance(expected, truth, least)
        floor, normalises = of_reference, row.node.op_type in NORMALISING
        if (of_reference > worth_running(row.unit) or normalises) and self.precise is not None:
            outputs = self.precise.run_part(one_ulp_apart(inputs), [row.tensor])
            moved = distance(outputs[row.tensor], truth, least) if outputs is not None else 0.0
            moved = moved if math.isfinite(moved) else 0.0
            # A reference may find the mean of what it divides by without rounding it, by chance.
            floor = max(bounded_floor(of_reference, moved, row.unit), moved if normalises else 0.0)
        return replace(
            result,
            floor=floor,
            floor_from="the reference against float64",
            reference=of_reference,
            candidate=of_candidate,
        )


def _least_of(row: SweptRow) -> float:
    return least_scale(row.node.op_type, row.type)


def _share_beyond(actual: Any, expected: Any, least: float) -> float:
    """Return the share of the elements that differ by more than so much."""
    a, b = to_numpy(actual).astype(np.float64), to_numpy(expected).astype(np.float64)
    with np.errstate(all="ignore"):
        return float(np.mean(~(np.abs(a - b) <= least) & (a != b))) if a.size else 0.0


def _is_one_of(result: _Move, moves: list[_Move]) -> bool:
    """Return whether a result is moved in as many elements as by jumps, and left alone in as many."""
    shares = [move.share for move in moves if move.share]
    usual = sum(shares) / len(shares) if shares else 0.0
    return result.share <= OPERATOR_MARGIN * usual and OPERATOR_MARGIN * (1.0 - result.share) >= 1.0 - usual


def _difference(
    row: SweptRow, actual: NDArray[Any], expected: NDArray[Any], passed: bool, allowed: str, least: float = 0.0
) -> Standalone:
    """Return the figures of an operator's own tensor against the reference's of the same shape.

    Args:
        row: The tensor in question.
        actual: The candidate's.
        expected: The reference's.
        passed: Whether it is within the tolerances.
        allowed: The coarsest type that the two may calculate in; empty for the model's own.
        least: The least magnitude to hold steps of a scale against.
    """
    of_candidate = figures(actual)
    if of_candidate is None:
        same = np.array_equal(actual, expected)
        return Standalone(0.0 if same else math.inf, 0.0 if same else math.inf, passed, count=actual.size)
    parts = _parts_of(row, actual, expected, allowed)
    share = float(np.count_nonzero(actual != expected)) / actual.size if actual.size and parts.max_abs else 0.0
    steps = _step_error(row, actual, expected, least) if rounds_to_steps(row.node, row.unit) else None
    return Standalone(
        parts.max_abs, parts.relative, passed, share=share, count=actual.size, is_nan=of_candidate.nan > 0, steps=steps,
        gain=_gain_of(row, actual, expected), one_sided=row.in_steps and is_one_sided(*_directions(actual, expected)),
    )  # fmt: skip


def _is_shaped_alike(row: SweptRow) -> bool:
    """Return whether a tensor has one shape in both models.

    If its operator makes another one of the other side's tensors, these have other shapes than those that they are
    paired with: the pair is in doubt, and not the operator.
    """
    return row.stats is not None


def _parts_of(row: SweptRow, actual: NDArray[Any], expected: NDArray[Any], allowed: str) -> Parts:
    return parts_of(actual, expected, row.node.op_type, row.type, row.unit, allowed)


def _gain_of(row: SweptRow, actual: NDArray[Any], expected: NDArray[Any]) -> float:
    """Return by which share a whole row or tensor is off alike, where types are so coarse that this tells more."""
    return gain_of(actual, expected, row.node.op_type) if may_have_gain(row) else 0.0


def _step_error(
    row: SweptRow, actual: NDArray[Any], expected: NDArray[Any], least: float, measured: Iterable[NDArray[Any]] = ()
) -> StepError:
    flat = expected.reshape(-1)
    beside = beside_masks(flat, flat)
    calibrated = is_calibrated(row.node)
    return step_error(
        actual, expected, worth_running(row.unit), beside, least, last_step(row.node), measured, calibrated=calibrated
    )


def _directions(actual: NDArray[Any], expected: NDArray[Any]) -> tuple[int, int]:
    """Count the numbers that are larger than the reference's, and those that are smaller."""
    return int(np.count_nonzero(actual > expected)), int(np.count_nonzero(actual < expected))


def _random_like(array: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    """Return random numbers in place of real ones, as large on average."""
    if not is_floating(array.dtype) or not array.size:
        return array
    size = float(np.sqrt(np.mean(np.square(array.astype(np.float64)))))
    return (rng.standard_normal(array.shape) * size).astype(array.dtype)


def _as_kind(array: Any, kind: np.dtype[Any] | None) -> Any:
    """Return a tensor of float64, which only the reference may calculate in, in the candidate's type."""
    values = to_numpy(array)
    wanted = kind is not None and is_floating(kind) and kind != values.dtype
    return values.astype(kind) if wanted and values.dtype == np.float64 else values
