"""The observer that the core itself contributes: it saves inputs and outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from polycmp.errors import FileError
from polycmp.plan import BackendPlan, FilesPlan
from polycmp.results import IterationResult
from polycmp.results.outcome import Outcome
from polycmp.runs.observers import RunStep
from polycmp.spec import RunObserver

if TYPE_CHECKING:
    from polycmp.plugins import Registry
    from polycmp.results.files import InputsWriter, OutputsWriter
    from polycmp.runs.resolution import Resolved


def save(resolved: Resolved) -> Saving | None:
    """Make the observer that saves a run's inputs and outputs; None unless that is asked for."""
    files = resolved.plan.files
    wanted = files.save_inputs or files.save_outputs or files.save_input_blob is not None
    return Saving(files, resolved.registry, resolved.plan.backends) if wanted else None


class Saving(RunObserver):
    """Saves inputs and outputs as they come.

    Single files appear when the run ends well; an error or an interrupt leaves what was there before.

    Args:
        files: The part of the plan on files that are written.
        registry: The plugins, which bring formats; by default those that are found then.
        backends: The backends, whose environments are saved with their outputs.
    """

    def __init__(
        self, files: FilesPlan, registry: Registry | None = None, backends: Sequence[BackendPlan] = ()
    ) -> None:
        self._files, self._registry, self._backends = files, registry, backends
        self._environments: Mapping[str, Mapping[str, str]] = {}
        self._stack = ExitStack()
        self._inputs: InputsWriter | None = None
        self._outputs: OutputsWriter | None = None
        self._labels: list[str] = []
        self._steps = 0
        self.whole_steps = "--save-outputs" if files.save_outputs else ""

    def start(self, outcome: Outcome) -> None:
        """Open the files.

        Raises:
            UsageError: A suffix is unknown.
            PluginError: The package that brings a format is not installed, broken, or lacks a module.
            FileError: A path cannot be written, or is a folder with other things in it.
        """
        from polycmp.results.files import InputsWriter, OutputsWriter  # few runs save anything
        from polycmp.runs import backend_environments

        if self._files.save_inputs:
            self._inputs = self._stack.enter_context(InputsWriter(self._files.save_inputs, self._registry))
        if self._files.save_outputs:
            self._outputs = self._stack.enter_context(OutputsWriter(self._files.save_outputs, self._registry))
            if self._registry is not None:
                self._environments = backend_environments(self._backends, self._registry)
        self._labels = [result.label for result in outcome.backends if result.backend != "saved"]

    def on_step(self, step: RunStep) -> None:
        """Save the inputs of an iteration, and the outputs as the backends made them.

        Raises:
            FileError: A file cannot be written.
        """
        if step.window:
            return
        self._steps += 1
        if self._inputs is not None:
            self._inputs.add(step.feed)
        if self._files.save_input_blob is not None:
            from polycmp.results.files import save_input_blob

            save_input_blob(self._files.save_input_blob, step.index, step.feed)
        if self._outputs is not None:
            for label in self._labels:
                if label in step.made:
                    outputs = step.made[label]
                    if not self._outputs.added.get(label):
                        outputs = outputs if isinstance(outputs, IterationResult) else IterationResult(outputs)
                        outputs.environment = self._environments.get(label, {})
                    self._outputs.add(label, outputs, step.seconds[label])

    def finish(self, outcome: Outcome) -> None:
        """Let the files appear, and note what they lack.

        Raises:
            FileError: A file cannot be written.
        """
        self._stack.close()
        if self._inputs is not None and not self._inputs.added:
            outcome.notes.append(f"{self._files.save_inputs} is not written: there were no inputs")
        if self._outputs is None:
            return
        if not self._outputs.added:
            outcome.notes.append(f"{self._files.save_outputs} is not written: there were no outputs")
            return
        for label in self._labels:
            count = self._outputs.added.get(label, 0)
            if not count:
                outcome.notes.append(f"{self._files.save_outputs} lacks {label}, which gave no outputs")
            elif count < self._steps:
                outcome.notes.append(f"{self._files.save_outputs} holds {count} of {self._steps} iterations of {label}")

    def close(self) -> None:
        """Give up files that are not finished."""
        error = FileError("the run failed")
        self._stack.__exit__(FileError, error, None)
