"""The same data for all runs: whose inputs have other names are fed what the reference's inputs get."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from polycmp.data.dimensions import merge_inputs
from polycmp.data.input_pairs import GIVEN, Alike, InputPairs, fits, pair_inputs, renamed
from polycmp.errors import UsageError, did_you_mean
from polycmp.runs.reference import labels_called
from polycmp.tensors import TensorMetadata, format_shape

if TYPE_CHECKING:
    from polycmp.results.outcome import BackendResult
    from polycmp.runs.backend_run import BackendRun
    from polycmp.runs.resolution import Resolved

#: Pairs named in one note, and inputs in one message.
_SHOWN = 4

#: Returns what compares how inputs of two runs, by label, are read; None if that is not known.
Structure = Callable[[str, str], Alike | None]


class InputPairing:
    """Gives inputs of several runs the names of one of them.

    Args:
        reference: Label, or name of the backend, of the run whose names are taken; by default the last that is well.
        given: Names of one input in two models, whichever way round.
        own_data: Whether the inputs come from files or a script, which may hold the names of any of the models.
        structure: Compares how inputs are read.
        command: The command line, for messages.

    Attributes:
        notes: Remarks that name the inputs which are fed the same values under different names.
    """

    def __init__(
        self,
        reference: str = "",
        given: Mapping[str, str] | None = None,
        *,
        own_data: bool = False,
        structure: Structure = lambda one, two: None,
        command: str = "",
    ) -> None:
        self._reference, self._given, self._own_data = reference, dict(given or {}), own_data
        self._structure, self._command = structure, command
        self._anchor: BackendResult | None = None
        self._of_anchor: BackendRun | None = None
        self._inputs = TensorMetadata()
        self.notes: list[str] = []

    @classmethod
    def of(cls, resolved: Resolved, reference: str) -> InputPairing:
        """Return the pairing of a plan's runs.

        Args:
            resolved: The backends.
            reference: The value of `--reference`: a label, or the name of a backend; empty for the last run.
        """
        data = resolved.plan.data

        def structure(one: str, two: str) -> Alike | None:
            from polycmp.runs.input_readers import compare_readers

            graphs = [resolved.backend(label).model.graph() for label in (one, two)]
            return None if graphs[0] is None or graphs[1] is None else compare_readers(graphs[0], graphs[1])

        own_data = bool(data.files or data.script)
        return cls(reference, data.map_input, own_data=own_data, structure=structure, command=resolved.plan.command)

    def take_names(self, result: BackendResult, inputs: TensorMetadata) -> None:
        """Take the names of a model whose run does not join."""
        self._anchor, self._inputs = result, inputs

    def join(self, runs: Sequence[BackendRun]) -> TensorMetadata | None:
        """Map every run's inputs to the feed's names; return them by those names, None if all runs have failed.

        Raises:
            UsageError: It is not certain which input is which, or a name that was given is no input.
        """
        inputs_by_label = {run.label: (run, inputs) for run in runs if (inputs := run.inputs()) is not None}
        if not inputs_by_label:
            return None
        if self._anchor is None:
            self._of_anchor = self._chosen([run for run, _ in inputs_by_label.values()])
            self.take_names(self._of_anchor.result, inputs_by_label[self._of_anchor.label][1])
        if len(inputs_by_label) > 1 and not self._own_data:
            check_given(self._given, (name for _, inputs in inputs_by_label.values() for name in inputs))
        merged = []
        for run, inputs in inputs_by_label.values():
            pairs = self._pairs(run, inputs)
            if pairs.names or self._own_data:
                self._name(run, pairs)
            merged.append(renamed(inputs, pairs.names))
        return merge_inputs(merged)

    def _chosen(self, runs: Sequence[BackendRun]) -> BackendRun:
        labels = labels_called(self._reference, [run.result for run in runs])
        return next((run for run in runs if run.label in labels), runs[-1])

    def _pairs(self, run: BackendRun, inputs: TensorMetadata) -> InputPairs:
        anchor = self._anchor
        assert anchor is not None
        if run.result is anchor:
            return InputPairs()
        pairs = pair_inputs(inputs, self._inputs, self._given, lambda: self._structure(run.label, anchor.label))
        if pairs.alone and (pairs.missing or any(name in self._inputs for name in pairs.alone)) and not self._own_data:
            raise ambiguous_inputs((run.label, inputs), (anchor.label, self._inputs), pairs, self._command)
        self._note(renamed_input_notes(pairs, run.label, anchor.label))
        if run.result.model != anchor.model and not self._own_data:
            self._note(unmatched_input_notes(pairs, run.label, anchor.label))
        return pairs

    def _name(self, run: BackendRun, pairs: InputPairs) -> None:
        """Tell a run, and where the data are the user's the reference, too, under which names to find its inputs."""
        anchor = self._of_anchor
        for input_name, name in pairs.names.items():
            run.input_names[input_name] = (input_name, name) if self._own_data else (name,)
            if self._own_data and anchor is not None:
                anchor.input_names[name] = (*anchor.input_names.get(name, (name,)), input_name)

    def _note(self, notes: Iterable[str]) -> None:
        self.notes += [note for note in notes if note not in self.notes]


def check_given(given: Mapping[str, str], inputs: Iterable[str]) -> None:
    """Check that each name of `--map-input` is an input of a model.

    Raises:
        UsageError: One is not.
    """
    names = dict.fromkeys(inputs) if given else {}
    for one, two in given.items():
        for name in (one, two):
            if name not in names:
                raise UsageError(
                    f"--map-input {one}={two}: no model has an input {name!r}", why=did_you_mean(name, names)
                )


def renamed_input_notes(pairs: InputPairs, candidate: str, reference: str) -> Iterator[str]:
    """Yield a note for each input of a run that is fed as another of the reference, with how that is known.

    Args:
        pairs: The pairs.
        candidate: Label of the run.
        reference: Label of the reference.
    """
    by_how: dict[str, list[tuple[str, str]]] = {}
    for input_name, name in pairs.names.items():
        by_how.setdefault(pairs.how[input_name], []).append((input_name, name))
    for how, names in by_how.items():
        (input_name, name), more = names[0], names[1:_SHOWN]
        note = f"{input_name!r} of {candidate} is fed what {name!r} of {reference} gets"
        note += "".join(f", {input_name!r} what {name!r} gets" for input_name, name in more)
        note += f" and {len(names) - _SHOWN} more likewise" if len(names) > _SHOWN else ""
        yield note if how == GIVEN else f"{note} ({how})"


def unmatched_input_notes(pairs: InputPairs, candidate: str, reference: str) -> Iterator[str]:
    """Yield notes on the inputs that only one of two models has.

    Args:
        pairs: The pairs.
        candidate: Label of the run.
        reference: Label of the reference.
    """
    for label, names in ((candidate, pairs.alone), (reference, pairs.missing)):
        if names:
            yield f"only {label} has {_listed(names)}: give {'it' if len(names) == 1 else 'them'} what it expects"


def ambiguous_inputs(
    candidate: tuple[str, TensorMetadata], reference: tuple[str, TensorMetadata], pairs: InputPairs, command: str = ""
) -> UsageError:
    """Return the error of inputs of which it is not certain which is which, with what to type.

    Args:
        candidate: Label and inputs of the run.
        reference: Label and inputs of the reference.
        pairs: The pairs that are certain.
        command: The command line.
    """
    (one, inputs), (two, reference_inputs) = candidate, reference
    guess, free = {}, [*pairs.missing]
    for name in pairs.alone:
        target = next((item for item in free if fits(inputs[name], reference_inputs[item])), None)
        if target is not None:
            guess[name] = target
            free.remove(target)
    shown = f"{one} has {_described(pairs.alone, inputs)}, {two} has {_described(pairs.missing, reference_inputs)}"
    if guess:
        why = f"{shown}: neither names nor types and shapes nor what reads them tell more; they may be in this order"
        words = shlex.join(f"{input_name}={name}" for input_name, name in guess.items())
        hint = f"{command} --map-input {words}".strip()
    else:
        why = f"{shown}: none of them can be the same one"
        hint = "give all of them by name, made of the same data: --load-inputs FILE, or --data-loader-script FILE.py"
    return UsageError(f"it is not certain which inputs of {one} and {two} are the same", why=why, hint=hint)


def _listed(names: Sequence[str]) -> str:
    more = f", … ({len(names)} in all)" if len(names) > _SHOWN else ""
    return f"the input{'s' * (len(names) > 1)} {', '.join(map(repr, names[:_SHOWN]))}{more}"


def _described(names: Sequence[str], inputs: TensorMetadata) -> str:
    if not names:
        return "no other"
    kinds = {name: f"{inputs[name].dtype or ''}{format_shape(inputs[name].shape)}" for name in names[:_SHOWN]}
    shown = ", ".join(f"{name!r} {kind}" for name, kind in kinds.items())
    return shown + (f", … ({len(names)} in all)" if len(names) > _SHOWN else "")
