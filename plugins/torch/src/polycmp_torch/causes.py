"""Known causes of differences between an export and its module, each confirmed by a trial."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from polycmp.tensors import to_numpy
from polycmp_torch.steps import ProgramStep
from polycmp_torch.values import is_near

#: Numbers that are tried in place of a size, on tensors of at most so many elements.
_MAX_TRIED_SIZE = 1024
_MAX_ELEMENTS = 1 << 18
#: Position of the argument of `batch_norm` that chooses the statistics of its input.
_TRAINING_POSITION = 5
_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+), in \S+\n\s*(?P<code>\S[^\n]*)')


def find_causes(
    torch: Any, step: ProgramStep, tensors: Mapping[str, Any], inputs: Mapping[str, Any], exported: Any
) -> Iterator[str]:
    """Yield causes for which a trial with the module's operator reproduces the export's value.

    Args:
        torch: The module `torch`.
        step: The operator whose result is different in the export.
        tensors: Inputs of the operator in the module, by name.
        inputs: The module's inputs.
        exported: The value in the export.
    """
    expected = to_numpy(exported).astype(np.float64)
    if step.target == "batch_norm" and len(step.args) > _TRAINING_POSITION and not step.args[_TRAINING_POSITION]:
        args = (*step.args[:_TRAINING_POSITION], True, *step.args[_TRAINING_POSITION + 1 :])
        copies = {name: tensor.clone() for name, tensor in tensors.items()}
        if _gives(torch, replace(step, args=args), copies, expected):
            yield (
                f"exactly what batch_norm of module {step.module} gives in training mode, from the statistics of its "
                "input: the module was exported in training mode; call eval() before the export"
            )
    if expected.size <= _MAX_ELEMENTS:
        yield from _frozen_sizes(torch, step, tensors, inputs, expected)


def _frozen_sizes(
    torch: Any, step: ProgramStep, tensors: Mapping[str, Any], inputs: Mapping[str, Any], expected: Any
) -> Iterator[str]:
    """Yield numbers in an operator that are a size of an input, where the export has another number."""
    sizes = {int(dim): f"dimension {axis} of {name!r}" for name, tensor in inputs.items()
             for axis, dim in enumerate(tensor.shape)}  # fmt: skip
    for place, value in enumerate(step.args):
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value not in sizes:
            continue
        for number in range(1, _MAX_TRIED_SIZE):
            args = (*step.args[:place], type(value)(number), *step.args[place + 1 :])
            if number != value and _gives(torch, replace(step, args=args), tensors, expected):
                yield (
                    f"the export calculates with {number} where the module has {value:g}, which is {sizes[int(value)]} "
                    "here: the size was frozen when the model was exported, from its example inputs; read it from "
                    "x.shape without int(), or export with dynamic_shapes"
                )
                return


def _gives(torch: Any, step: ProgramStep, tensors: Mapping[str, Any], expected: Any) -> bool:
    """Return whether a step reproduces a tensor."""
    try:
        with torch.inference_mode():
            _, result = next(step.run(tensors))
    except (IndexError, RuntimeError, TypeError, ValueError):
        return False
    return is_near(result, expected)


def control_flow(error: Exception) -> str:
    """Find the data-dependent control flow that kept PyTorch from tracing a module; empty if there is none."""
    text = str(error)
    if "data-dependent" not in text:
        return ""
    frames = list(_FRAME.finditer(text))
    if not frames:
        return "values of tensors decide which way the module goes"
    last = frames[-1]
    name = re.split(r"[\\/]", last["file"])[-1]
    return f"values of tensors decide which way the module goes: {name}:{last['line']} ({last['code'].strip()})"
