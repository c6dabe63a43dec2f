"""Matching of outputs to the inputs that they are fed to: the patterns of `--state`, applied to a model."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from polycmp.errors import DataError, UsageError, did_you_mean
from polycmp.sentences import shortened
from polycmp.tensors import TensorEntry, TensorMetadata, dtype_class, dtype_name, dtype_of, format_shape, is_size

#: Names by which decoders call their caches, for models of which no --state says it.
_USUAL_PATTERNS = (
    r"present\.(.*)=past_key_values.\1",
    r"present_(.*)=past_\1",
    r"(.*)_out=\1_in",
    r"new_(.*)=\1",
    r"(.*)n=\g<1>0",
)
#: Names shown in an error.
_SHOWN = 6


def wire(patterns: Iterable[str], outputs: Collection[str], inputs: Collection[str]) -> dict[str, str]:
    """Return by input the output that goes into it.

    Args:
        patterns: `OUTPUT=INPUT`, a regular expression for whole names of outputs and what to make of a match.
        outputs: The model's outputs.
        inputs: The model's inputs.

    Raises:
        UsageError: A pattern is no regular expression, matches no output, or leads to no input, or to one twice.
    """
    wiring: dict[str, str] = {}
    for pattern in patterns:
        expression, template = split_state(pattern)
        for output, target in _matches(pattern, expression, template, outputs):
            if target not in inputs:
                raise UsageError(
                    f"--state {pattern}: the output {output!r} would be fed to {target!r}, which is not an input",
                    why=did_you_mean(target, inputs),
                    hint=_hint(outputs, inputs),
                )
            if wiring.get(target, output) != output:
                raise UsageError(
                    f"--state {pattern}: both {wiring[target]!r} and {output!r} would be fed to {target!r}",
                    hint="narrow the pattern, or give one --state for each output",
                )
            wiring[target] = output
    return wiring


def split_state(pattern: str) -> tuple[re.Pattern[str], str]:
    """Return the two sides of `OUTPUT=INPUT`; names of inputs hold no equals sign, expressions may.

    Raises:
        UsageError: It has no two sides, or the first is no regular expression.
    """
    expression, equals, template = pattern.rpartition("=")
    if not (expression and equals and template):
        raise UsageError(
            f"--state: {pattern!r} is not OUTPUT=INPUT", hint=r"for example --state 'present\.(.*)=past_key_values.\1'"
        )
    try:
        return re.compile(expression), template
    except re.error as error:
        raise UsageError(
            f"--state: {expression!r} is not a regular expression",
            why=str(error),
            hint="put a backslash before ( [ . * + ?",
        ) from None


def _matches(
    pattern: str, expression: re.Pattern[str], template: str, outputs: Iterable[str]
) -> Iterable[tuple[str, str]]:
    matches = {name: match for name in outputs if (match := expression.fullmatch(name))}
    if not matches:
        raise UsageError(
            f"--state {pattern}: no output matches {expression.pattern!r}",
            why=f"the outputs are {listed(outputs)}",
            hint="the expression must match a whole name",
        )
    try:
        return [(name, match.expand(template)) for name, match in matches.items()]
    except (re.error, IndexError) as error:
        raise UsageError(
            f"--state {pattern}: {template!r} asks for a group that the expression lacks",
            why=str(error),
            hint=r"each (…) is a group; the first is \1",
        ) from None


def listed(names: Iterable[str]) -> str:
    """Join the first names as text."""
    return shortened(list(names), _SHOWN)


def usual_patterns(outputs: Collection[str], inputs: Collection[str]) -> tuple[str, ...]:
    """Return the `--state` that fits usual names of caches; empty if none does."""
    for pattern in _USUAL_PATTERNS:
        expression, template = split_state(pattern)
        pairs = [(name, match.expand(template)) for name in outputs if (match := expression.fullmatch(name))]
        if any(target in inputs and target != name for name, target in pairs):
            return (pattern,)
    return ()


def _hint(outputs: Collection[str], inputs: Collection[str]) -> str:
    usual = usual_patterns(outputs, inputs)
    return f"--state '{usual[0]}' would fit" if usual else f"the inputs are {listed(inputs)}"


def check_declared(state: Mapping[str, str], inputs: TensorMetadata, outputs: TensorMetadata) -> None:
    """Check that outputs fit the inputs they go into, by the types and shapes that the model declares.

    Raises:
        UsageError: An output cannot be the input's next value.
    """
    for name, output in state.items():
        if output in outputs:
            _check(name, inputs[name], output, outputs[output])


def check_outputs(state: Mapping[str, str], inputs: TensorMetadata, outputs: Mapping[str, Any]) -> None:
    """Check that a run's outputs fit the inputs they go into; arguments and errors as for `check_declared`.

    Raises:
        DataError: The run lacks one of the outputs.
    """
    for name, output in state.items():
        if output not in outputs:
            raise DataError(
                f"no output {output!r}, which should be fed to the input {name!r}",
                why=did_you_mean(output, outputs),
            )
        array = outputs[output]
        _check(name, inputs[name], output, TensorEntry(dtype_of(array), tuple(array.shape)))


def _check(name: str, input_entry: TensorEntry, output: str, output_entry: TensorEntry) -> None:
    why = ""
    if input_entry.dtype is not None and output_entry.dtype is not None:
        one, two = dtype_class(output_entry.dtype), dtype_class(input_entry.dtype)
        if one != two:
            why = f"the output holds {dtype_name(output_entry.dtype)}, the input wants {dtype_name(input_entry.dtype)}"
    if not why and not _fits(output_entry.shape, input_entry.shape):
        output_shape, input_shape = format_shape(output_entry.shape), format_shape(input_entry.shape)
        why = f"the output has shape {output_shape}, the input wants {input_shape}"
    if why:
        raise UsageError(
            f"--state: the output {output!r} cannot be fed to the input {name!r}",
            why=why,
            hint=f"feed it from another output: --state 'OUTPUT={re.escape(name)}'",
        )


def _fits(output_shape: tuple[int | str, ...] | None, input_shape: tuple[int | str, ...] | None) -> bool:
    if output_shape is None or input_shape is None:
        return True
    return len(output_shape) == len(input_shape) and all(
        not is_size(one) or not is_size(two) or one == two for one, two in zip(output_shape, input_shape, strict=True)
    )
