"""Outputs that one of two models has, and the other has not."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from polycmp.compare.verdicts import OutputComparison, PairComparison, verdict_of
from polycmp.model import Model
from polycmp.tensors import ModelDescription, TensorMetadata, dtype_name, format_shape


class Ends(NamedTuple):
    """Outputs by which two models are compared.

    Attributes:
        wanted: Names of those that the other has to have, too.
        offered: Names of what another may want.
    """

    wanted: tuple[str, ...]
    offered: Collection[str]


def ends_of(model: Model, file: ModelDescription) -> Ends:
    """Return the outputs of a file; where options leave some of them out, all that the user chose is an output.

    Args:
        model: The model.
        file: Contents of its file.
    """
    described = model.describe()
    marked = tuple(file.outputs if described is None else described.outputs)
    wanted = tuple(name for name in file.outputs if name in marked)
    return Ends(wanted, wanted if len(wanted) == len(file.outputs) else marked)


class Alone(NamedTuple):
    """Outputs without a counterpart in the other of two models.

    Attributes:
        candidate: Those that only the candidate has.
        reference: Those that only the reference has.
    """

    candidate: tuple[str, ...]
    reference: tuple[str, ...]


def outputs_alone(candidate: Ends, reference: Ends, to_reference: Mapping[str, str]) -> Alone:
    """Return the outputs of two models that are not in both.

    Args:
        candidate: The candidate's outputs.
        reference: The reference's.
        to_reference: The reference's names of tensors, by the candidate's, where they are called otherwise.
    """
    paired = {to_reference.get(name, name) for name in candidate.offered}
    of_candidate = (
        name
        for name in candidate.wanted
        if name not in reference.offered and to_reference.get(name) not in reference.offered
    )
    of_reference = (name for name in reference.wanted if name not in paired and name not in candidate.offered)
    return Alone(tuple(of_candidate), tuple(of_reference))


def with_lacking_outputs(
    pair: PairComparison, candidate: Model, reference: Model, to_reference: Mapping[str, str]
) -> PairComparison:
    """Return the verdict on the tensors of two files, which fails where one of them lacks an output of the other.

    Options that make tensors outputs hide which outputs the files have: a tensor without a counterpart may be one that
    the other file calculates in another way, an output without a counterpart is missing.

    Args:
        pair: The verdict on what was compared.
        candidate: The candidate's model.
        reference: The reference's.
        to_reference: The reference's names of tensors, by the candidate's, where they are called otherwise.

    Raises:
        ModelError: A file cannot be read.
    """
    of_candidate, of_reference = (model.describe_file() for model in (candidate, reference))
    if of_candidate is None or of_reference is None:
        return pair
    alone = outputs_alone(ends_of(candidate, of_candidate), ends_of(reference, of_reference), to_reference)
    rows = [
        _lacking(pair.reference, name, of_candidate.outputs, of_reference, of_candidate=True)
        for name in alone.candidate
    ]
    for name in alone.reference:
        row = _lacking(pair.candidate, name, of_reference.outputs, of_candidate, of_candidate=False)
        taken = name in pair.outputs and to_reference.get(name, name) != name  # the candidate's of that name is another
        rows.append(replace(row, output=f"{name} ({pair.reference})") if taken else row)
    if verdict_of(pair) != "failed":  # a run may stop at the first difference, before it comes to the outputs
        rows += [
            _uncompared(name)
            for name in _passed_over(pair, of_candidate, of_reference, ends_of(candidate, of_candidate), to_reference)
        ]
    if not rows:
        return pair
    outputs = {**pair.outputs, **{row.output: row for row in rows}}
    return pair.with_outputs(outputs)


def _passed_over(
    pair: PairComparison,
    of_candidate: ModelDescription,
    of_reference: ModelDescription,
    ends: Ends,
    to_reference: Mapping[str, str],
) -> Iterator[str]:
    """Yield the tensors that both files have as outputs of one name, and that were not compared."""
    compared = {*pair.outputs, *(to_reference.get(name, name) for name in pair.outputs)}
    for name in ends.wanted:
        entry = of_reference.outputs.get(name)
        is_tensor = entry is not None and entry.dtype is not None and of_candidate.outputs[name].dtype is not None
        if is_tensor and name not in compared:
            yield name


def _uncompared(name: str) -> OutputComparison:
    return OutputComparison(
        name, name, passed=False, inconclusive="undecided", failed_iterations=1,
        reason=f"both models have the output {name!r}, and it was not compared: leave out the options that look inside",
    )  # fmt: skip


def _lacking(
    label: str, name: str, outputs: TensorMetadata, lacks: ModelDescription, *, of_candidate: bool
) -> OutputComparison:
    """Return the verdict on an output that a run's model lacks.

    Args:
        label: The run.
        name: The output.
        outputs: Those of the model that has it.
        lacks: The model that lacks it.
        of_candidate: Whether the candidate has it.
    """
    inside = "; a tensor inside its model is called so" if name in lacks.tensors else ""
    entry = outputs[name]
    kind = "" if entry.dtype is None else f"{dtype_name(entry.dtype)}{format_shape(entry.shape)}"
    return OutputComparison(
        name,
        None if of_candidate else name,
        passed=False,
        reason=f"{label} has no output {name!r}{inside}",
        candidate_type=kind if of_candidate else "",
        reference_type="" if of_candidate else kind,
        failed_iterations=1,
    )
