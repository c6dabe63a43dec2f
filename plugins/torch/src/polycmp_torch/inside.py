"""Graph of a PyTorch module's program, with PyTorch's names of tensors, whose parts can be run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from polycmp.errors import ModelError, describe_exception
from polycmp.graph import GraphNode, OwnGraph
from polycmp.loader import Loader
from polycmp.tensors import TensorMetadata, to_numpy
from polycmp_torch.causes import control_flow, find_causes
from polycmp_torch.escaping import frozen_values
from polycmp_torch.model import TorchFromScript, TorchModel, import_torch
from polycmp_torch.recording import Recording, record
from polycmp_torch.steps import ProgramStep, ProgramSteps, steps_of, used
from polycmp_torch.values import flatten, to_torch

if TYPE_CHECKING:
    from polycmp.graph import ModelGraph
    from polycmp.spec import ModelHandle
    from polycmp_torch.options import Options

#: Keys under which PyTorch's exporter writes the same into an ONNX file.
_SCOPES, _STACK = "pkg.torch.onnx.name_scopes", "pkg.torch.onnx.stack_trace"
#: Tolerance of the traced program against the module itself, relative to the largest magnitude.
_TOLERANCE = 1e-3


def inside(model: ModelHandle, options: Options | None) -> ModelGraph | str:
    """Open the view inside a model: parts of its graph, or the module's own tensors; of a compiled module none.

    What is compiled of a part of a module, or to show a tensor, says nothing of what was compiled of the whole.

    Args:
        model: The model handle.
        options: The backend's options.
    """
    if model.kind == "torch":
        if options is not None and options.compile:
            return "none"
        return TorchGraph(model.load("torch"), model)
    if options is None or options.script is None:
        return "graph"
    return TorchGraph(TorchFromScript(options.script, model.load("onnx")), model)


class TorchGraph(OwnGraph):
    """A module as `polycmp.graph.ModelGraph` describes, traced with the first inputs of the run when it is looked at.

    Args:
        load: Makes the module.
        model: The handle of the run, which knows the inputs.
    """

    def __init__(self, load: Loader[TorchModel], model: ModelHandle) -> None:
        self._load = load
        self._handle = model

    @cached_property
    def _model(self) -> TorchModel:
        return self._load()

    @property
    def inputs(self) -> TensorMetadata:
        """The inputs that a caller feeds."""
        return self._model.inputs

    @cached_property
    def _steps(self) -> ProgramSteps:
        source = self._handle.data_loader
        feed = next(iter(source(self.inputs)), None) if source is not None else None
        if feed is None:
            raise ModelError("PyTorch has no inputs to trace the module with", whose="torch")
        return trace(self._model, feed)

    @property
    def outputs(self) -> tuple[str, ...]:
        """The module's outputs, by the names that the run gives them."""
        return tuple(self._steps.outputs)

    @cached_property
    def _names(self) -> Mapping[str, str]:
        """The names that users see of tensors that are the module's outputs."""
        return {inner: name for name, inner in self._steps.outputs.items() if inner not in self.inputs}

    @cached_property
    def _fixed(self) -> frozenset[str]:
        """The tensors that depend on no input."""
        fixed = set(self._steps.constants)
        for step in self._steps.steps:
            if fixed.issuperset(step.reads):
                fixed.update(step.outputs)
        return frozenset(fixed)

    @cached_property
    def nodes(self) -> list[GraphNode]:
        """The operators in the order in which they ran."""
        return [self._node(step) for step in self._steps.steps if not self._fixed.issuperset(step.outputs)]

    @cached_property
    def weights(self) -> Mapping[str, int]:
        """Name and bytes of parameters, buffers and tensors that are computed from them alone."""
        held = self._steps.constants
        return {name: held[name].nbytes if name in held else 0 for name in self._fixed}

    @property
    def opaque(self) -> frozenset[str]:
        """The values that are no tensors."""
        names = (name for step in self._steps.steps for name in step.outputs)
        return frozenset(name for name in names if name not in self._steps.types)

    def types(self, inputs: TensorMetadata) -> TensorMetadata:
        """Return types and shapes of all tensors, as they are with the inputs of the trace."""
        types = TensorMetadata(inputs)
        for name, entry in self._steps.types.items():
            types.add(self._names.get(name, name), entry.dtype, entry.shape)
        return types

    def cut(self, inputs: TensorMetadata, outputs: Sequence[str]) -> Loader[TorchModel]:
        """Return a loader of the part that computes tensors from others."""
        return TorchPart(self, inputs, tuple(outputs))

    def mark(self, outputs: Sequence[str]) -> Loader[TorchModel]:
        """Return a loader of the whole program with these outputs."""
        return TorchPart(self, self.inputs, tuple(outputs))

    def part(self, inputs: TensorMetadata, outputs: tuple[str, ...]) -> TorchModel:
        """Return the part that computes tensors from others.

        Args:
            inputs: Inputs of the part, with types and shapes.
            outputs: Names of its outputs.
        """
        inner_names = {name: inner for inner, name in self._names.items()}
        inner_names.update({name: inner for name, inner in self._steps.outputs.items() if name not in inner_names})
        input_names = [inner_names.get(name, name) for name in inputs]
        output_names = [inner_names.get(name, name) for name in outputs]
        return TorchModel(ProgramPart(self._steps, input_names, output_names), inputs, outputs)

    def causes(self, tensor: str, made: Any, feed: Mapping[str, Any]) -> list[str]:
        """Explain why an export of the module computes another value of a tensor.

        Args:
            tensor: The first tensor that is different.
            made: The value in the export.
            feed: The inputs.
        """
        inner_name = {name: inner for inner, name in self._names.items()}.get(tensor, tensor)
        step = next((item for item in self._steps.steps if inner_name in item.outputs), None)
        if step is None or step.outputs[0] != inner_name:
            return []
        torch = import_torch()
        inputs = {name: to_torch(torch, name, to_numpy(feed[name]), "cpu", None) for name in self._steps.inputs}
        reads = [name for name in step.reads if name not in self._steps.constants]
        if self._steps.replay is not None:
            part = ProgramPart(self._steps, list(inputs), [inner_name])
            return list(frozen_values(self._steps.replay, part(*inputs.values())[0], made))
        with torch.inference_mode():
            read_tensors = dict(
                zip(reads, ProgramPart(self._steps, list(inputs), reads)(*inputs.values()), strict=True)
            )
        constants = {name: self._steps.constants[name] for name in step.reads if name in self._steps.constants}
        return list(find_causes(torch, step, {**constants, **read_tensors}, inputs, made))

    def _node(self, step: ProgramStep) -> GraphNode:
        metadata = {}
        if step.module:
            path = step.module.split(".")
            scopes = ["", *(".".join(path[: end + 1]) for end in range(len(path))), step.target]
            metadata[_SCOPES] = repr(scopes)
        if step.stack:
            metadata[_STACK] = step.stack
        reads, makes = ([self._names.get(name, name) for name in names] for names in (step.reads, step.outputs))
        return GraphNode(step.type, step.outputs[0], "", tuple(reads), tuple(makes), _settings(step), metadata)


def _settings(step: ProgramStep) -> dict[str, Any]:
    """Return the arguments of an operator that are plain values."""
    settings = {
        f"argument {at}": item for at, item in enumerate(step.args) if isinstance(item, (bool, int, float, str))
    }
    return settings | {key: item for key, item in step.keywords.items() if isinstance(item, (bool, int, float, str))}


class TorchPart(Loader[TorchModel]):
    """A part of a module's program.

    Args:
        graph: The program.
        inputs: Inputs of the part, with types and shapes.
        outputs: Names of its outputs.
    """

    model_kind = "torch"

    def __init__(self, graph: TorchGraph, inputs: TensorMetadata, outputs: tuple[str, ...]) -> None:
        self.graph = graph
        self.inputs = inputs
        self.outputs = outputs

    def call_impl(self) -> TorchModel:
        """Return the part."""
        return self.graph.part(self.inputs, self.outputs)


class ProgramPart:
    """Steps that make some tensors of a program of others; can be called like a module.

    Args:
        program: The program.
        inputs: Names of what the part reads, in the order of the call.
        outputs: Names of what it makes.
    """

    def __init__(self, program: ProgramSteps, inputs: Sequence[str], outputs: Sequence[str]) -> None:
        self._inputs, self._outputs = tuple(inputs), tuple(outputs)
        self._steps, needed = used(program, outputs, inputs)
        self._constants = {name: program.constants[name] for name in needed if name in program.constants}
        last = {name: index for index, step in enumerate(self._steps) for name in step.reads}
        self._last_use: dict[int, list[str]] = {}
        for name, index in last.items():
            if name not in self._outputs:
                self._last_use.setdefault(index, []).append(name)

    def to(self, target: Any) -> ProgramPart:
        """Move the constants to a device, or convert those of real numbers to a type."""
        as_type = not isinstance(target, str)
        self._constants = {
            name: value.to(target) if not as_type or value.is_floating_point() else value
            for name, value in self._constants.items()
        }
        return self

    def __call__(self, *arguments: Any) -> tuple[Any, ...]:
        """Return the outputs."""
        tensors = {**self._constants, **dict(zip(self._inputs, arguments, strict=True))}
        for index, step in enumerate(self._steps):
            tensors.update(step.run(tensors))
            for name in self._last_use.get(index, ()):
                tensors.pop(name, None)
        return tuple(tensors[name] for name in self._outputs)


def trace(model: TorchModel, feed: Mapping[str, Any]) -> ProgramSteps:
    """Return the program that a module runs on certain inputs.

    Args:
        model: The module.
        feed: Arrays by input.

    Raises:
        ModelError: PyTorch cannot trace it, or the trace gives something else than the module.
    """
    torch = import_torch()
    tensors = {name: to_torch(torch, name, to_numpy(feed[name]), "cpu", None) for name in model.inputs}
    places, keywords = _arguments(model, tensors)
    module = model.module if isinstance(model.module, torch.nn.Module) else _as_module(torch, model.module)
    try:
        with torch.no_grad():
            program = torch.export.export(module, tuple(places.values()), keywords, strict=False)
            if _writes(program):
                program = program.run_decompositions({})
    except Exception as error:
        recorded = _recorded(torch, model, module, tensors)
        if recorded is not None:
            return recorded
        way = control_flow(error)
        raise ModelError(
            "PyTorch cannot trace the module, so the tensors inside it cannot be named",
            whose="torch",
            why=f"{way}; an export holds one of the ways only" if way else describe_exception(error).splitlines()[0],
            hint="compare the outputs alone: polycmp run MODEL -b … -b torch:script=FILE.py",
        ) from error
    with torch.inference_mode():
        returned = list(flatten(module(*places.values(), **keywords)))
    names = model.outputs or tuple(f"output_{place}" if place.isdigit() else place or "output" for place, _ in returned)
    order = [*places, *keywords]
    steps = steps_of(torch, program, order, names)
    _check(torch, steps, [tensors[name] for name in order], [value for _, value in returned])
    return steps


def _arguments(model: TorchModel, tensors: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the inputs that a module takes by place, and those that it takes by keyword."""
    keywords = {name: tensor for name, tensor in tensors.items() if name in model.keywords}
    return {name: tensor for name, tensor in tensors.items() if name not in keywords}, keywords


def _recorded(torch: Any, model: TorchModel, module: Any, tensors: Mapping[str, Any]) -> ProgramSteps | None:
    """Record the steps of a module that cannot be traced; None if they cannot be repeated."""

    def replay(others: bool, instead: Mapping[int, Any]) -> Recording:
        copies = {name: _other(torch, tensor) if others else tensor.clone() for name, tensor in tensors.items()}
        return record(torch, module, *_arguments(model, copies), model.outputs, instead)

    try:
        recording = replay(others=False, instead={})
        if len(recording.steps.outputs) < len(recording.returned):
            return None
        copies = [tensors[name].clone() for name in recording.steps.inputs]
        _check(torch, recording.steps, copies, recording.returned)
    except Exception:  # noqa: BLE001 - the error of the trace is the one to tell
        return None
    recording.steps.replay = replay
    return recording.steps


def _other(torch: Any, tensor: Any) -> Any:
    """Return an input of the same shape with flipped, and smaller, values."""
    turned = torch.flip(tensor, tuple(range(tensor.dim())))
    return turned * 0.75 if tensor.is_floating_point() else turned


def _as_module(torch: Any, function: Any) -> Any:
    class Called(torch.nn.Module):  # type: ignore[misc]
        def forward(self, *places: Any, **keywords: Any) -> Any:
            return function(*places, **keywords)

    return Called()


def _writes(program: Any) -> bool:
    """Return whether an operator of a program writes into its arguments."""
    # The schema of an operator has no public name in PyTorch.
    targets = (node.target for node in program.graph.nodes if node.op == "call_function")
    return any(getattr(getattr(target, "_schema", None), "is_mutable", False) for target in targets)


def _check(torch: Any, steps: ProgramSteps, arguments: Sequence[Any], expected: Iterable[Any]) -> None:
    part = ProgramPart(steps, steps.inputs, list(steps.outputs.values()))
    try:
        with torch.inference_mode():
            outputs = part(*arguments)
    except Exception as error:
        raise ModelError(
            "the program that PyTorch traced does not run", whose="torch", why=describe_exception(error).splitlines()[0]
        ) from error
    for name, one, two in zip(steps.outputs, outputs, expected, strict=False):
        traced, reference = (to_numpy(item).astype(np.float64) for item in (one, two))
        gap = _gap(traced, reference)
        if gap > _TOLERANCE * max(float(np.max(np.abs(reference), initial=0.0, where=np.isfinite(reference))), 1e-30):
            raise ModelError(
                f"the program that PyTorch traced gives another {name!r} than the module, by {gap:.2g}", whose="torch"
            )


def _gap(one: Any, other: Any) -> float:
    """Return the largest difference of two tensors; NaN and infinities at the same place are equal."""
    if one.shape != other.shape:
        return float("inf")
    alike = (one == other) | (np.isnan(one) & np.isnan(other))
    with np.errstate(invalid="ignore"):
        gap = np.abs(one - other)
    return float(np.max(np.where(np.isnan(gap), np.inf, gap), initial=0.0, where=~alike))
