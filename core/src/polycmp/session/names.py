"""Tensor names on the command line, checked against the model's before any backend starts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from polycmp.errors import UsageError, did_you_mean
from polycmp.options import fields_of
from polycmp.options.values import unknown_names
from polycmp.plan import Choice, ComparePlan, DataPlan
from polycmp.runs.pairing import check_given
from polycmp.runs.resolution import Resolved


def check_names(data: DataPlan, compare: ComparePlan, resolved: Resolved) -> bool:
    """Check the plan's names against the models that can be described; return whether that was possible.

    Raises:
        UsageError: A tensor named in the plan is not in the models.
        ModelError: A model file cannot be read.
    """
    descriptions = list(resolved.descriptions.values())
    described = [description for description in descriptions if description is not None]
    if not described or len(described) < len(descriptions):
        return False
    inputs = dict.fromkeys(name for item in described for name in item.inputs)
    if not (data.files or data.script):
        check_given(data.map_input, inputs)
    check_input_names(data, inputs)
    check_output_names(compare, dict.fromkeys(name for item in described for name in item.outputs))
    return True


def check_input_names(data: DataPlan, inputs: Iterable[str]) -> None:
    """Check every input name that the plan mentions.

    In a data loader's options the names of a mapping are inputs.

    Raises:
        UsageError: The model has no such input.
    """
    names = list(inputs)
    for shapes in (data.input_shapes, *data.further_shapes):
        _check(shapes, names, "--input-shapes", "input")
    if not data.files and not data.script:
        _check_choice(data.loader, names, "input")


def check_output_names(compare: ComparePlan, outputs: Iterable[str]) -> None:
    """Check every output name that the plan mentions.

    In a compare function's options the names of a mapping are outputs.

    Raises:
        UsageError: The model has no such output.
    """
    names = [*outputs, *compare.map_output, *compare.map_output.values()]
    for choice in compare.functions:
        _check_choice(choice, names, "output")
    _check(compare.postprocess, names, "--postprocess", "output")
    _check(dict.fromkeys(compare.allow_blind), names, "--allow-blind", "output")


def _check_choice(choice: Choice, names: list[str], what: str) -> None:
    for field in fields_of(choice.options):
        if field.kind == "mapping":
            flag = field.aliases[0] if field.aliases else f"--{choice.name}-{field.name}".replace("_", "-")
            _check(getattr(choice.options, field.name), names, flag, what)


def _check(values: Mapping[str, Any], names: list[str], option: str, what: str) -> None:
    unknown = unknown_names(values, names)
    if unknown:
        raise UsageError(
            f"{option}: the model has no {what} {unknown[0]!r}",
            why=did_you_mean(unknown[0], names),
            hint=f"its {what}s are: {', '.join(names)}",
        )
