"""Comparing one candidate's outputs with the reference's, iteration by iteration, in constant memory."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

from polycmp.compare.blindness import Watch, said_of
from polycmp.compare.impostors import is_ours
from polycmp.compare.scripted import as_verdict, judging, read_only
from polycmp.compare.verdicts import (
    OutputComparison,
    PairComparison,
    WorstIterations,
    inconclusive,
    judged_together,
    verdict_over,
)
from polycmp.compare.words import kind_reason, shape_reason
from polycmp.errors import InvalidValueError, UsageError, did_you_mean
from polycmp.sentences import NOTHING_IN_COMMON
from polycmp.spec import Verdict
from polycmp.tensors import Outputs, dtype_class, dtype_name, dtype_of, format_shape, to_numpy

#: Judges one output: `compare(candidate, reference, output=NAME) -> Verdict`.
CompareFunction = Callable[..., Verdict]


class PairComparer:
    """Compare what two runs returned, over the union of their outputs.

    Outputs belong together if their names are equal, or if `map_output` says so; nothing is guessed.

    Args:
        candidate_label: The candidate in reports.
        reference_label: The reference in reports.
        functions: Compare functions of each output, by name; all must pass.
        map_output: Names in the candidate -> names in the reference, where they differ.
        shape_check: Whether another shape fails; if not, arrays with equally many elements are compared in C order.
        any_shape: Whether the functions judge arrays of different shapes, too.
        accepted: Names or patterns of outputs that may be compared although nothing could differ; None not to ask
            whether anything could.
        final: The outputs of which that is asked; None for all.

    Raises:
        InvalidValueError: There is no function, so everything would pass.
    """

    def __init__(
        self,
        candidate_label: str,
        reference_label: str,
        functions: Mapping[str, CompareFunction],
        *,
        map_output: Mapping[str, str] | None = None,
        shape_check: bool = True,
        any_shape: bool = False,
        accepted: Collection[str] | None = None,
        final: Collection[str] | None = None,
    ) -> None:
        if not functions:
            raise InvalidValueError(
                "no compare function is given", why="without one everything would pass", hint="--compare simple"
            )
        self.candidate_label = candidate_label
        self.reference_label = reference_label
        self.functions: dict[str, CompareFunction] = dict(functions)
        self._ours = all(map(is_ours, functions.values()))
        self.map_output: dict[str, str] = dict(map_output or {})
        self.shape_check: bool = shape_check
        self._any_shape = any_shape
        self.iterations: int = 0
        self._matched = False
        self._worst = WorstIterations()
        self._accepted, self._final = accepted, final
        self._watches: dict[str, Watch] = {}

    def add(self, candidate: Outputs, reference: Outputs) -> list[OutputComparison]:
        """Compare the outputs of one iteration and keep the worst verdict on each.

        Returns:
            The outputs' verdicts in this iteration, in the candidate's order, those that only the reference has last.

        Raises:
            UsageError: `map_output` names an output that neither side has.
            ComparisonError: A compare function raised, or returned neither a verdict nor a truth value.
        """
        pairs = self._match(candidate, reference)
        comparisons = [self._compare(name, other, candidate, reference) for name, other in pairs]
        self._worst.add(comparisons)
        self.iterations += 1
        return comparisons

    def result(
        self, candidate_iterations: int | None = None, reference_iterations: int | None = None
    ) -> PairComparison:
        """Return the verdict over all iterations so far.

        Args:
            candidate_iterations: Number of iterations of the candidate; by default as many as were compared.
            reference_iterations: Number of iterations of the reference; by default as many as were compared.
        """
        ran = self.iterations if candidate_iterations is None else candidate_iterations
        wanted = self.iterations if reference_iterations is None else reference_iterations
        reasons = []
        if ran != wanted:
            reasons.append(f"{self.candidate_label} ran {ran} iterations, {self.reference_label} {wanted}")
        if not self.iterations:
            reasons.append("no iteration was compared")
        elif not self._matched:
            reasons.append(NOTHING_IN_COMMON)
        outputs = self._worst.outputs
        if self._accepted is not None:
            outputs = said_of(outputs, self._watches, self._accepted)
        verdict = "failed" if reasons else verdict_over(outputs.values())
        return PairComparison(
            self.candidate_label,
            self.reference_label,
            verdict == "passed",
            dict(outputs),
            self.iterations,
            "; ".join(reasons),
            inconclusive(verdict),
        )

    def _match(self, candidate: Outputs, reference: Outputs) -> list[tuple[str | None, str | None]]:
        self._check_map(candidate, reference)
        pairs: list[tuple[str | None, str | None]] = []
        taken = set()
        mapped = {other for name, other in self.map_output.items() if name in candidate}
        for name in candidate:
            other = self.map_output.get(name, name)
            if name not in self.map_output and other in mapped:
                other = ""  # another output was mapped to that name
            is_output = other in reference
            pairs.append((name, other if is_output else None))
            if is_output:
                taken.add(other)
        pairs += [(None, name) for name in reference if name not in taken]
        return pairs

    def _check_map(self, candidate: Outputs, reference: Outputs) -> None:
        for name, other in self.map_output.items():
            if name not in candidate and other not in reference:
                names = [*candidate, *reference]
                raise UsageError(
                    f"--map-output {name}={other}: {self.candidate_label} has no output {name!r} "
                    f"and {self.reference_label} has no output {other!r}",
                    why=did_you_mean(name, names),
                )

    def _compare(self, name: str | None, other: str | None, candidate: Outputs, reference: Outputs) -> OutputComparison:
        output = name if name is not None else other or ""
        if name is None and output in candidate:
            output = f"{output} ({self.reference_label})"  # the candidate's output of that name was mapped elsewhere
        left = candidate[name] if name is not None else None
        right = reference[other] if other is not None else None
        base = OutputComparison(
            output,
            other,
            False,
            worst_iteration=self.iterations,
            candidate_type=_describe(left),
            reference_type=_describe(right),
        )
        if name is None:
            wanted = next((name for name, target in self.map_output.items() if target == other), other or "")
            return replace(base, reason=self._missing(self.candidate_label, wanted, candidate, reference))
        if other is None:
            wanted = self.map_output.get(name, name)
            return replace(base, reason=self._missing(self.reference_label, wanted, reference, candidate))
        self._matched = True
        return self._judge(base, to_numpy(left), to_numpy(right))

    def _missing(self, label: str, name: str, side: Outputs, other: Outputs) -> str:
        alone = [item for item in side if item not in other]
        hint = f"; it has {', '.join(map(repr, alone[:5]))}, see --map-output" if alone else ""
        return f"{label} has no output {name!r}{hint}"

    def _judge(self, base: OutputComparison, left: Any, right: Any) -> OutputComparison:
        if dtype_class(left.dtype) != dtype_class(right.dtype):
            return replace(base, reason=kind_reason(left, right))
        if left.shape != right.shape and not self._any_shape:
            if self.shape_check or left.size != right.size:
                return replace(base, reason=shape_reason(left, right))
            left = left.reshape(right.shape)
        left, right = read_only(left), read_only(right)
        watch = self._watch(base.output)
        if watch is not None and not self._ours:  # a function of others may write files: the candidate's come last
            watch.look(right, {})
        verdicts = {
            name: self._call(name, function, left, right, base.output) for name, function in self.functions.items()
        }
        verdict, reasons = judged_together(verdicts)
        if watch is not None and self._ours and verdict == "passed":
            watch.look(right, verdicts)
        if dtype_name(left.dtype) != dtype_name(right.dtype):
            reasons.append(f"{dtype_name(left.dtype)} compared with {dtype_name(right.dtype)}")
        return replace(
            base,
            passed=verdict == "passed",
            inconclusive=inconclusive(verdict),
            is_empty=not right.size,
            is_inner=self._final is not None and base.output not in self._final,
            reason="; ".join(reasons),
            verdicts=verdicts,
        )

    def _watch(self, output: str) -> Watch | None:
        if self._accepted is None or (self._final is not None and output not in self._final):
            return None
        if output not in self._watches:
            self._watches[output] = Watch(self.functions, output)
        return self._watches[output]

    def _call(self, name: str, function: CompareFunction, left: Any, right: Any, output: str) -> Verdict:
        with judging(name, output):
            return as_verdict(function(left, right, output=output), name, output)


def _describe(array: Any) -> str:
    if array is None:
        return ""
    if not hasattr(array, "dtype"):
        array = to_numpy(array)
    return f"{dtype_name(dtype_of(array))}{format_shape(array.shape)}"
