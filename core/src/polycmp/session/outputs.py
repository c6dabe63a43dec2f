"""Where a session's inputs and outputs go besides the comparison: files, post-processing, checks, watchers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Any

from polycmp.compare.postprocess import Postprocess, PostprocessFunc, parse_postprocess, script_postprocess
from polycmp.compare.validity import find_invalid
from polycmp.files import same_folder
from polycmp.plan import ComparePlan, FilesPlan
from polycmp.results.files import InputsWriter, OutputsWriter, save_input_blob
from polycmp.results.outcome import Invalid
from polycmp.results.runs import IterationResult
from polycmp.runs.loop import Step
from polycmp.spec import Compared
from polycmp.tensors import dtype_class, to_numpy
from polycmp.values import pick, split_script

Watcher = Callable[[Compared], None]


class StepWriters:
    """What happens to each step, as far as the plan asks for it.

    Single files appear when the session ends well; an error or an interrupt leaves what was there before.

    Args:
        files: What is written.
        compare: How outputs are changed and validated before they are compared.
        watchers: Called with each pair of arrays that is compared.
    """

    def __init__(self, files: FilesPlan, compare: ComparePlan, watchers: Sequence[Watcher] = ()) -> None:
        self._files = files
        self._compare = compare
        self._stack = ExitStack()
        self._inputs: InputsWriter | None = None
        self._outputs: OutputsWriter | None = None
        self._steps = 0
        self._postprocess = _postprocess(compare)
        self._watchers = watchers

    def __enter__(self) -> StepWriters:
        if self._files.save_inputs:
            self._inputs = self._stack.enter_context(InputsWriter(self._files.save_inputs))
        if self._files.save_outputs:
            self._outputs = self._stack.enter_context(OutputsWriter(self._files.save_outputs))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    def save(self, step: Step, live: Iterable[str]) -> None:
        """Write the step's inputs, and the outputs of the runs labelled `live`.

        Raises:
            FileError: A file cannot be written.
        """
        self._steps += 1
        if self._inputs is not None:
            self._inputs.add(step.feed)
        if self._files.save_input_blob is not None:
            save_input_blob(self._files.save_input_blob, step.index, step.feed)
        if self._outputs is not None:
            for label in live:
                if label in step.outputs:
                    self._outputs.add(label, step.outputs[label], step.seconds[label])

    def lacking(self, labels: Iterable[str]) -> Iterator[str]:
        """Yield what a reader of the saved files should know: that there are none, or what they lack.

        Args:
            labels: The runs that were to be saved.
        """
        if self._inputs is not None and not self._inputs.added:
            yield f"{self._files.save_inputs} is not written: there were no inputs"
        if self._outputs is None:
            return
        if not self._outputs.added:
            yield f"{self._files.save_outputs} is not written: there were no outputs"
            return
        for label in labels:
            count = self._outputs.added.get(label, 0)
            if not count:
                yield f"{self._files.save_outputs} lacks {label}, which gave no outputs"
            elif count < self._steps:
                yield f"{self._files.save_outputs} holds {count} of {self._steps} iterations of {label}"

    def postprocess(self, step: Step) -> dict[str, Mapping[str, Any]]:
        """Return the outputs as they are to be compared, with who made them in what time, as user functions want it.

        Raises:
            DataError: A post-processing function cannot work on them.
        """
        changed: dict[str, Mapping[str, Any]] = {}
        for label, outputs in step.outputs.items():
            seconds = step.seconds.get(label, getattr(outputs, "runtime", None))
            result = IterationResult(outputs, seconds, label)
            for function in self._postprocess:
                with same_folder("a post-processing function"):  # models and files may be opened behind it
                    result = IterationResult(function(result), seconds, label)
            changed[label] = result
        return changed

    def unhidden(
        self, pair: tuple[Mapping[str, Any], Mapping[str, Any]], raw: tuple[Mapping[str, Any], Mapping[str, Any]]
    ) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """Return two runs' outputs with those as they were made of which top-K would hide that they are unlike.

        The indices of the largest values have the same shape and type whatever they were taken from.

        Args:
            pair: Outputs of candidate and reference as they are to be compared.
            raw: The same before post-processing.
        """
        candidate, reference = dict(pair[0]), dict(pair[1])
        for name in pair[0]:
            other = self._compare.map_output.get(name, name)
            chosen = pick(self._compare.postprocess, name, "") or pick(self._compare.postprocess, other, "")
            if chosen and other in reference and name in raw[0] and other in raw[1]:
                one, two = to_numpy(raw[0][name]), to_numpy(raw[1][other])
                same_shape = one.shape == two.shape or not self._compare.shape_check
                if not same_shape or dtype_class(one.dtype) != dtype_class(two.dtype):
                    candidate[name], reference[other] = one, two
        return _like(candidate, pair[0]), _like(reference, pair[1])

    def validate(self, index: int, outputs: Mapping[str, Mapping[str, Any]]) -> list[Invalid]:
        """Return the outputs that hold NaN or infinity, if the plan asks for that check.

        Args:
            index: The iteration.
            outputs: Outputs by the run's label as the runs made them: post-processing may hide what is not finite.
        """
        if not self._compare.validate:
            return []
        return [
            Invalid(label, item.output, index, item.nan, item.inf, item.first)
            for label, made in outputs.items()
            for item in find_invalid(made)
        ]

    def show(
        self, index: int, candidate: str, reference: str, made: Mapping[str, Any], expected: Mapping[str, Any]
    ) -> None:
        """Show the watchers each pair of outputs that is compared.

        Raises:
            PolycmpError: What a watcher raises: a file cannot be written.
        """
        if not self._watchers:
            return
        names = self._compare.map_output
        for name, array in made.items():
            other = names.get(name, name)
            if other in expected:
                pair = Compared(index, candidate, reference, name, array, expected[other])
                for watcher in self._watchers:
                    watcher(pair)


def _like(outputs: dict[str, Any], result: Mapping[str, Any]) -> Mapping[str, Any]:
    runtime, name = getattr(result, "runtime", None), getattr(result, "runner_name", None)
    return IterationResult(outputs, runtime, name)


def _postprocess(plan: ComparePlan) -> list[Postprocess]:
    steps = []
    if plan.postprocess:
        steps.append(PostprocessFunc.top_k({name: parse_postprocess(text) for name, text in plan.postprocess.items()}))
    if plan.postprocess_script:
        steps.append(script_postprocess(*split_script(plan.postprocess_script, "postprocess_outputs")))
    return steps
