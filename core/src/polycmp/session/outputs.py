"""Where a session's inputs and outputs go besides the comparison: files, checks, watchers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Any

from polycmp.compare.validity import find_invalid
from polycmp.plan import ComparePlan, FilesPlan
from polycmp.results.outcome import Invalid
from polycmp.runs.loop import Step
from polycmp.spec import Compared

if TYPE_CHECKING:
    from polycmp.results.files import InputsWriter, OutputsWriter

Watcher = Callable[[Compared], None]


class StepWriters:
    """What happens to each step, as far as the plan asks for it.

    Single files appear when the session ends well; an error or an interrupt leaves what was there before.

    Args:
        files: What is written.
        compare: How outputs are validated before they are compared.
        watchers: Called with each pair of arrays that is compared.
    """

    def __init__(self, files: FilesPlan, compare: ComparePlan, watchers: Sequence[Watcher] = ()) -> None:
        self._files = files
        self._compare = compare
        self._stack = ExitStack()
        self._inputs: InputsWriter | None = None
        self._outputs: OutputsWriter | None = None
        self._steps = 0
        self._watchers = watchers

    def __enter__(self) -> StepWriters:
        if self._files.save_inputs or self._files.save_outputs:
            from polycmp.results.files import InputsWriter, OutputsWriter
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
            from polycmp.results.files import save_input_blob

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
