"""Saved case of a search with two backends: a folder that shows the fault by itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polycmp.errors import EXIT_DIFFERENT, EXIT_FAILED
from polycmp.files import make_folder
from polycmp.model import Model
from polycmp.plan import BackendPlan, ComparePlan, DataPlan, FilesPlan, Plan, to_words, without_written_files
from polycmp.results.files import InputsWriter, OutputsWriter
from polycmp_locate.reduce.case import EXPECTED, INPUTS, Reproduction
from polycmp_locate.reduce.judging import BackendJudge
from polycmp_locate.reduce.parts import ModelPart
from polycmp_locate.reduce.writing import anywhere

if TYPE_CHECKING:
    from polycmp.plugins import Registry


def save_case(folder: str, plan: Plan, registry: Registry, judge: BackendJudge, part: ModelPart, model: Model) -> bool:
    """Write a folder with the failing part, its inputs, what the reference makes of them, and a script; run it.

    Args:
        folder: Folder of the case.
        plan: The search's plan.
        registry: The plugins.
        judge: Knows the tensors.
        part: The part; its file was verified.
        model: The candidate's model.

    Returns:
        Whether the script showed the fault.

    Raises:
        FileError: Something cannot be written.
    """
    place, failure = make_folder(folder), judge.failure
    tensors, expected = judge.tensors(part.inputs) or {}, judge.expected(part)
    name = f"model{Path(model.path).suffix}"
    model.save(failure.candidate.part(tensors, part.outputs), str(place / name))  # what was written was verified
    write_tensors(place, registry, tensors, failure.reference.label, expected)
    words = repeating(plan, registry, failure.candidate.label, name, judge.comparison(part.outputs))
    status = EXIT_FAILED if failure.error else EXIT_DIFFERENT
    remake = remaking(plan, registry, failure.reference.label, name)
    case = Reproduction(words, status, failure.sentence, plan.command, remake)
    case.write(place)
    return case.shows_the_fault(place)


def remaking(plan: Plan, registry: Registry, label: str, model: str) -> list[str]:
    """Return the command that makes the expected outputs of a case anew; empty if no backend made them.

    Args:
        plan: The search's plan.
        registry: The plugins.
        label: The reference.
        model: The case's model file.
    """
    backend = next((item for item in plan.backends if item.label == label), None)
    if backend is None:
        return []
    alone = _in_folder(plan, backend, model, ComparePlan(), FilesPlan(save_outputs=EXPECTED))
    without_other_files = replace(without_written_files(alone), files=alone.files)
    return ["polycmp", *to_words(without_other_files, registry)]


def repeating(plan: Plan, registry: Registry, label: str, model: str, compare: ComparePlan) -> list[str]:
    """Return the command that repeats the fault in the folder of a case.

    Args:
        plan: The search's plan.
        registry: The plugins.
        label: The candidate.
        model: The case's model file.
        compare: The options of comparing.
    """
    backend = next(item for item in plan.backends if item.label == label)
    repeated = _in_folder(plan, backend, model, compare, FilesPlan(load_outputs=(EXPECTED,)))
    return ["polycmp", *to_words(without_written_files(repeated), registry)]


def write_tensors(
    place: Path, registry: Registry, tensors: Mapping[str, Any], label: str, expected: Mapping[str, Any]
) -> None:
    """Write the inputs of a case and what the reference makes of them.

    Args:
        place: The case.
        registry: The plugins.
        tensors: The inputs.
        label: The reference.
        expected: Its outputs.

    Raises:
        FileError: A file cannot be written.
    """
    with InputsWriter(str(place / INPUTS), registry) as writer:
        writer.add(tensors)
    with OutputsWriter(str(place / EXPECTED), registry) as outputs:
        outputs.add(label, expected, 0.0)


def _in_folder(plan: Plan, backend: BackendPlan, model: str, compare: ComparePlan, files: FilesPlan) -> Plan:
    """Return the plan of a run of one backend on the model and the inputs of the case, in its folder."""
    return replace(
        plan,
        model=model,
        loader_options={},
        backends=(anywhere(replace(backend, model="")),),
        data=DataPlan(files=(INPUTS,)),
        compare=compare,
        files=files,
    )
