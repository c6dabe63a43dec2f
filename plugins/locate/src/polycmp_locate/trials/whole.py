"""The whole model on both sides without probes, and the trials with it that a verdict may ask for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence, Set
from functools import cached_property
from typing import Any

from polycmp.compare import OutputComparison, PairComparer
from polycmp.layerwise import PartitionedRun
from polycmp.plan import DEFAULT_COMPARE
from polycmp.spec import CompareFunction
from polycmp.tensors import Feed, to_numpy
from polycmp_locate.rounding.difference import distance
from polycmp_locate.rounding.thresholds import least_scale
from polycmp_locate.setting import Setting, Stage, Tensors
from polycmp_locate.trials.flow import Flow
from polycmp_locate.trials.probing import explains, is_removed
from polycmp_locate.values.measured import Row

#: Trials with replaced tensors in one search; each runs the model after the tensor twice. A backend that compiles has
#: to build three parts for one trial.
_MAX_TRIALS = 8
_MAX_TRIALS_IF_COMPILED = 2


class WholeModel:
    """Both sides' whole models without probes, and trials with them.

    Each trial runs when its result is first needed; the result is cached.

    Args:
        setting: The backends to search, and the tools for it.
        feed: The inputs.
        plain: The candidate's outputs.
        expected: The reference's.
        again: The same of a second run in the same runner, of each side that compiles; None of others.
        on_stage: Told what happens next.
    """

    def __init__(
        self,
        setting: Setting,
        feed: Feed,
        plain: Tensors,
        expected: Tensors,
        again: tuple[Tensors | None, Tensors | None] = (None, None),
        on_stage: Stage = lambda _: None,
    ) -> None:
        self.setting, self.feed, self.on_stage = setting, feed, on_stage
        self.plain, self.expected, self.again = plain, expected, again
        self.finals: Sequence[OutputComparison] = self._judged(plain)
        self._nodes = {name: node for node in setting.reference.graph.nodes for name in node.outputs}
        self._trials = 0

    @cached_property
    def flow(self) -> Flow:
        """Data flow of the graph."""
        return Flow(self.setting.reference.graph.nodes)

    @cached_property
    def failing(self) -> Mapping[str, float]:
        """The outputs that are outside the tolerance, with their relative errors."""
        return {
            item.output: self.error(item.output, self.plain[item.output])
            for item in self.finals
            if not item.passed and item.output in self.plain and item.output in self.expected
        }

    def error(self, name: str, actual: Any) -> float:
        """Return the error of an output, relative to the scale on which it is read."""
        node = self._nodes.get(name)
        return distance(actual, self.expected[name], least_scale(node.op_type if node is not None else ""))

    @cached_property
    def beyond(self) -> Mapping[str, float]:
        """The failing outputs that are off by more than rounding explains, with their relative errors.

        Outputs that fail with no number off, by NaN that both sides have, are none of them.
        """
        off = {item.output: item for item in self.finals if self.failing.get(item.output)}
        return {name: self.failing[name] for name, item in off.items() if not self._is_open(item, self.plain)}

    def _is_open(self, item: OutputComparison, outputs: Tensors) -> bool:
        """Return whether rounding explains how far a failing output is off, as its verdict says where that asked it."""
        setting = self.setting
        if setting.is_measured and setting.judge_outputs is None and setting.functions.keys() == {DEFAULT_COMPARE}:
            return bool(item.inconclusive) and self._by_rounding is not None
        return self.is_explained(item.output, outputs[item.output], self.expected[item.output])

    def is_explained(self, name: str, actual: Any, target: Any) -> bool:
        """Return whether rounding explains an output's error; False if rounding cannot be measured.

        Args:
            name: The output.
            actual: The output as a side made it.
            target: What it should be.
        """
        if self._by_rounding is None:
            return False
        verdict = self._by_rounding(to_numpy(actual), to_numpy(target), output=name)
        return verdict.passed or bool(verdict.inconclusive)

    @cached_property
    def _by_rounding(self) -> CompareFunction | None:
        """Compare function that judges outputs by measured rounding; None if it cannot be measured."""
        judge = self.setting.judge_by_rounding
        return None if judge is None else judge(self.feed, list(self.expected))

    def _judged(self, outputs: Tensors) -> Sequence[OutputComparison]:
        setting, functions = self.setting, self.setting.functions
        if setting.judge_outputs is not None:
            return setting.judge_outputs(self.feed, outputs, self.expected)
        if setting.is_measured and self._by_rounding is not None:
            functions = {**functions, DEFAULT_COMPARE: self._by_rounding}
        comparer = PairComparer(
            setting.candidate.label, setting.reference.label, functions, any_shape=setting.is_measured
        )
        return comparer.add(outputs, self.expected)

    def cures(self, row: Row, names: Set[str]) -> bool | None:
        """Return whether outputs are judged better if a tensor is the reference's; None if no trial can be made.

        Better is what passes, and of what is beyond rounding what rounding explains.

        Args:
            row: The tensor.
            names: The outputs.
        """
        if row.tensor in names:
            return row.tensor in self.beyond
        if not self._may_try():
            return None
        self.on_stage(f"trying what {row.tensor} does to the outputs")
        targets = self.setting.reference.run_part(self.feed, [row.tensor])
        if targets is None:
            return None
        outputs = self.setting.candidate.run_part({**self.feed, row.tensor: targets[row.tensor]}, list(self.plain))
        if outputs is None:
            return None
        finals = {item.output: item for item in self._judged(outputs)}
        return all(
            finals[name].passed or (name in self.beyond and self._is_open(finals[name], outputs)) for name in names
        )

    def _may_try(self) -> bool:
        """Count a trial, and return whether it may be made."""
        self._trials += 1
        return self._trials <= (_MAX_TRIALS_IF_COMPILED if self.setting.candidate.compiles else _MAX_TRIALS)

    def leads(self, row: Row, outputs: Set[str]) -> bool:
        """Return whether a tensor's error leads to that of some outputs, by a trial; True if none can be made."""
        candidate, reference = self.setting.candidate, self.setting.reference
        if not self._may_try():
            return True
        self.on_stage(f"trying what {row.tensor} does to the outputs")
        results = candidate.run_part(self.feed, [row.tensor])
        targets = reference.run_part(self.feed, [row.tensor]) if results is not None else None
        if results is None or targets is None or row.tensor in self.failing:
            return True
        errors = [
            self._error_behind({**self.feed, row.tensor: side[row.tensor]}, outputs) for side in (targets, results)
        ]
        if errors[0] is None or errors[1] is None:
            return True
        return explains(errors[0], errors[1], max(self.failing[name] for name in outputs))

    def _error_behind(self, tensors: Feed, outputs: Set[str]) -> float | None:
        names = sorted(outputs)
        results = self.setting.candidate.run_part(tensors, names)
        return None if results is None else max(self.error(name, results[name]) for name in names)

    def sides(self, first: PartitionedRun) -> tuple[PartitionedRun, PartitionedRun]:
        """Return both sides, this one first."""
        candidate, reference = self.setting.candidate, self.setting.reference
        return (candidate, reference) if first is candidate else (reference, candidate)

    def target(self, side: PartitionedRun) -> Tensors:
        """Return the outputs that a side should make: those of the other one."""
        return self.expected if side is self.setting.candidate else self.plain

    def is_right(self, side: PartitionedRun) -> Callable[[Tensors], bool]:
        """Return a predicate over a side's outputs: whether rounding explains their difference."""
        target = self.target(side)
        return lambda actual: all(self.is_explained(name, actual[name], target[name]) for name in self.beyond)

    def is_right_on(self, side: PartitionedRun) -> Callable[[PartitionedRun], bool]:
        """Return a predicate over variants of a side: whether rounding explains the difference of their outputs."""
        is_right = self.is_right(side)

        def is_right_on(variant: PartitionedRun) -> bool:
            outputs = variant.run_whole(self.feed, list(self.beyond))
            return outputs is not None and is_right(outputs)

        return is_right_on

    def removes(self, side: PartitionedRun, outputs: Collection[str], error: float) -> Callable[[Tensors], bool]:
        """Return a predicate over a side's outputs: whether most of an error is gone.

        Args:
            side: The side.
            outputs: The outputs in question.
            error: Their relative error.
        """
        target = self.target(side)

        def removes(actual: Tensors) -> bool:
            remaining = max((distance(actual[name], target[name]) for name in outputs), default=0.0)
            return is_removed(remaining, error)

        return removes
