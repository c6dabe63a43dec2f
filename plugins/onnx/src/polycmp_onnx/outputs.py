"""Choosing which tensors are a model's outputs."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from polycmp.errors import ModelError, UsageError, did_you_mean
from polycmp.loader import immediate, keyword_aliases
from polycmp_onnx.graph import NO_TENSOR, computed_tensors, value_of
from polycmp_onnx.load import OnnxLoader, own_model

if TYPE_CHECKING:
    from onnx import ModelProto

    from polycmp_onnx.external import ExternalModel
    from polycmp_onnx.load import ModelSource

#: In place of a list of names: every tensor.
MARK_ALL = "mark all"


@keyword_aliases("copy")
class ModifyOutputs(OnnxLoader):
    """Gives a model other outputs.

    Patterns (`*`, `?`, `[…]`) match the tensors that nodes make, except constants and what is no tensor. Outputs come
    in the order of the graph, with the types and shapes that the model notes or ONNX can infer. Nodes and weights that
    make none of them are left out.

    Args:
        model: A model, or a callable that returns one; it is not changed.
        outputs: Names and patterns that replace the outputs, `MARK_ALL`, or None to keep those of the model.
        exclude_outputs: Names and patterns to leave out again.
        mark_types: Operator types, in any case; all outputs of such nodes are added to `outputs`.
    """

    def __init__(
        self,
        model: ModelSource,
        outputs: Sequence[str] | str | None = None,
        exclude_outputs: Sequence[str] | str | None = None,
        mark_types: Sequence[str] | str | None = None,
    ) -> None:
        self.model = model
        self.outputs = _words(outputs)
        self.exclude_outputs = _words(exclude_outputs)
        self.mark_types = _words(mark_types)

    def call_impl(self) -> ModelProto:
        """Return the model with its new outputs.

        Raises:
            UsageError: A name, a pattern or a type fits nothing, or no output is left.
            ModelError: The model has no outputs.
        """
        return self.apply(own_model(self.model))

    def external(self) -> ExternalModel | None:
        """Return the model with its new outputs and its large weights left in their files; None if it has none.

        Raises:
            UsageError: As when called.
            ModelError: The model, or one of its weights, cannot be read.
        """
        external = self.model.external() if isinstance(self.model, OnnxLoader) else None
        return None if external is None else replace(external, model=self.apply(external.model))

    def apply(self, model: ModelProto) -> ModelProto:
        """Give another model these outputs, and return it.

        Raises:
            UsageError: As when called.
            ModelError: The model has no outputs.
        """
        from polycmp_onnx.shapes import value_types
        from polycmp_onnx.tidy import clean_up

        names = chosen_outputs(model.graph, self.outputs, self.exclude_outputs, self.mark_types)
        known = value_types(model)
        values = [value_of(known, name) for name in names]
        del model.graph.output[:]
        model.graph.output.extend(values)
        clean_up(model)  # a backend may lack what makes the outputs that were left out
        return model


modify_outputs = immediate(ModifyOutputs)


def means_all(outputs: Sequence[str] | str | None) -> bool:
    """Return whether a list of outputs means every tensor: `*`, `mark all`, or these two words apart."""
    words = [word.strip().lower() for word in _words(outputs)]
    return "*" in words or MARK_ALL in words or " ".join(words) == MARK_ALL


def chosen_outputs(
    graph: Any,
    outputs: Sequence[str] | str | None = None,
    exclude: Sequence[str] | str | None = None,
    types: Sequence[str] | str | None = None,
) -> list[str]:
    """Return the names of the outputs that `ModifyOutputs` would give a graph.

    Args:
        graph: An `onnx.GraphProto`.
        outputs: As for `ModifyOutputs`.
        exclude: As for `ModifyOutputs`.
        types: As for `ModifyOutputs`.

    Raises:
        UsageError: A name, a pattern or a type fits nothing, or no output is left.
        ModelError: The graph has no outputs.
    """
    order = list(dict.fromkeys([*computed_tensors(graph), *(value.name for value in graph.output)]))
    tensors = [name for node in graph.node if _is_tensor(node) for name in node.output if name]
    chosen: set[str] = set()
    if means_all(outputs):
        chosen.update(tensors or (value.name for value in graph.output))  # all may be weights, or inputs
    elif outputs:
        chosen.update(_matching(_words(outputs), tensors, order, graph, "--onnx-outputs"))
    elif not types:
        chosen.update(value.name for value in graph.output)
    chosen.update(_of_types(graph, _words(types)))
    if exclude:
        marked = [name for name in order if name in chosen]
        chosen.difference_update(_matching(_excludable(exclude, graph), marked, order, graph, "--onnx-exclude-outputs"))
    names = [name for name in order if name in chosen]
    if not names and not exclude:
        raise ModelError(
            "the model has no outputs", hint="make some of its tensors outputs: --onnx-outputs NAME, or --mark-all"
        )
    if not names:
        raise UsageError("no output is left", whose="--onnx-exclude-outputs", hint="exclude fewer names")
    return names


def _excludable(exclude: Sequence[str] | str, graph: Any) -> Iterator[str]:
    """Yield the names that may be those of outputs: inputs and weights never are, so leaving them out is done."""
    others = {value.name for value in (*graph.input, *graph.initializer)} - {value.name for value in graph.output}
    for name in _words(exclude):
        if name in others:
            logging.getLogger("polycmp.onnx").debug("%s is no output, so there is nothing to leave out", name)
        else:
            yield name


def _words(value: Sequence[str] | str | None) -> tuple[str, ...]:
    if value is None:
        return ()
    return (value,) if isinstance(value, str) else tuple(value)


def _is_tensor(node: Any) -> bool:
    return node.op_type != "Constant" and node.op_type not in NO_TENSOR


def _matching(names: Iterable[str], tensors: list[str], literal: list[str], graph: Any, option: str) -> Iterable[str]:
    for name in names:
        if name in literal:
            yield name
            continue
        matching = [tensor for tensor in tensors if fnmatchcase(tensor, name)]
        if not matching:
            raise UsageError(f"the model has no tensor {name!r}", whose=option, why=_why_not(name, literal, graph))
        yield from matching


def _why_not(name: str, names: list[str], graph: Any) -> str:
    if any(value.name == name for value in graph.input):
        return "it is an input, not computed by the model"
    if any(item.name == name for item in graph.initializer):
        return "it is a weight, not computed by the model"
    return did_you_mean(name, names)


def _of_types(graph: Any, types: Sequence[str]) -> Iterable[str]:
    present = {node.op_type.lower(): node.op_type for node in graph.node}
    for op_type in types:
        if op_type.lower() not in present:
            raise UsageError(
                f"the model has no operator of type {op_type!r}",
                whose="--onnx-outputs-by-type",
                why=did_you_mean(op_type, present.values()),
            )
        for node in graph.node:
            if node.op_type.lower() == op_type.lower():
                yield from (name for name in node.output if name)
