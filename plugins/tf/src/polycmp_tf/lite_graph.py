"""A LiteRT model as a graph that can be looked into and cut: parts of it are `.tflite` models of their own.

What an operator does after its own work, a fused activation, is an operator here, as it is in other formats: a part
that ends between both has it left out. Codes of a quantised model are shown as the numbers that they stand for.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polycmp.errors import ModelError, describe_exception
from polycmp.graph import GraphNode, ModelGraph, OwnGraph
from polycmp.loader import Loader
from polycmp.tensors import TensorMetadata
from polycmp_tf.lite import CODES, LitePart, LitePort, import_schema, moves, write_part
from polycmp_tf.lite_operators import ACTIVATIONS, type_of

if TYPE_CHECKING:
    from polycmp_tf.plugin import Options

#: Types of the schema, by name, that NumPy calls otherwise; others have the same name in lower case.
_TYPES = {"UINT4": None, "INT4": None, "STRING": None, "RESOURCE": None, "VARIANT": None, "BFLOAT16": "bfloat16"}
#: Forms of a value that hold scale and zero point of its codes.
_SCALE, _ZERO = "scale", "zero_point"
#: Identifier of the format.
_IDENTIFIER = b"TFL3"


class Value(NamedTuple):
    """A tensor of the file, or what it was before.

    Attributes:
        place: The tensor's place in the file.
        form: `before_activation`, `before_rounding`, `codes`, or empty for the tensor as its readers know it.
    """

    place: int
    form: str = ""


class Step(NamedTuple):
    """An operator, its activation, or a rounding to codes.

    Attributes:
        kind: Type, by ONNX's name where there is one.
        reads: Values that it reads.
        makes: Values that it makes.
        operator: The operator, as the schema has it; None for a rounding.
        activation: Number of the schema's activation, if it is one.
    """

    kind: str
    reads: tuple[Value, ...]
    makes: tuple[Value, ...]
    operator: Any = None
    activation: int = 0


class LiteGraph(OwnGraph, ModelGraph):
    """A LiteRT model, as `polycmp.graph.ModelGraph` describes.

    Args:
        path: The file.
        options: Names, layouts and the kernels of the run.
    """

    def __init__(self, path: str, options: Options) -> None:
        self._path, self._options = path, options

    @cached_property
    def _model(self) -> Any:
        schema = import_schema()
        try:
            return schema.ModelT.InitFromPackedBuf(Path(self._path).read_bytes(), 0)
        except Exception as error:
            raise ModelError(
                f"{self._path} is not a LiteRT model", whose="tf", why=describe_exception(error)
            ) from error

    @property
    def _subgraph(self) -> Any:
        return self._model.subgraphs[0]

    @cached_property
    def _signature(self) -> tuple[dict[int, str], dict[int, str]]:
        """The names of inputs and outputs in the signature that runs; none where there is no signature."""
        known = [item for item in self._model.signatureDefs or () if item.subgraphIndex == 0]
        keys = [_text(item.signatureKey) for item in known]
        if not known:
            return {}, {}
        chosen = known[keys.index(self._options.signature) if self._options.signature in keys else 0]
        named = (
            {item.tensorIndex: _text(item.name) for item in side or ()} for side in (chosen.inputs, chosen.outputs)
        )
        inputs, outputs = named
        return inputs, outputs

    @cached_property
    def _names(self) -> Mapping[Value, str]:
        """The name of each value."""
        by_place: dict[int, str] = {}
        signature_names = {**self._signature[0], **self._signature[1]}
        taken = set(signature_names.values())
        for place, tensor in enumerate(self._subgraph.tensors):
            name = signature_names.get(place) or _text(tensor.name) or f"tensor_{place}"
            if place not in signature_names and name in taken:
                name = f"{name}#{place}"
            taken.add(name)
            by_place[place] = self._options.rename.get(name, name)
        names = {Value(place): name for place, name in by_place.items()}
        values = (value for step in self._steps for value in (*step.reads, *step.makes) if value.form)
        return names | {value: f"{by_place[value.place]}.{value.form}" for value in values}

    @cached_property
    def _values(self) -> Mapping[str, Value]:
        return {name: value for value, name in self._names.items()}

    @cached_property
    def _held(self) -> frozenset[int]:
        """The tensors that the file holds."""
        buffers, tensors = self._model.buffers, self._subgraph.tensors
        return frozenset(place for place, tensor in enumerate(tensors) if buffers[tensor.buffer].data is not None)

    @cached_property
    def _ends(self) -> frozenset[int]:
        """The model's inputs and outputs."""
        return frozenset(map(int, (*self._subgraph.inputs, *self._subgraph.outputs)))

    @cached_property
    def _steps(self) -> list[Step]:
        return [step for operator in self._subgraph.operators for step in self._steps_of(operator)]

    def _steps_of(self, operator: Any) -> Iterator[Step]:
        """Yield an operator, its activation, and the rounding of its result to codes and back."""
        kind = type_of(self._model.operatorCodes[operator.opcodeIndex])
        reads = tuple(Value(int(place)) for place in operator.inputs if place >= 0)
        makes = tuple(Value(int(place)) for place in operator.outputs)
        if len(makes) != 1:
            yield Step(kind, reads, makes, operator)
            return
        place = makes[0].place
        fused = getattr(operator.builtinOptions, "fusedActivationFunction", 0)
        end = Value(place, "before_rounding") if self.codes_of(place) else Value(place)
        if fused in ACTIVATIONS:
            before = Value(place, "before_activation")
            yield Step(kind, reads, (before,), operator)
            yield Step(ACTIVATIONS[fused].kind, (before,), (end,), operator, fused)
        else:
            yield Step(kind, reads, (end,), operator)
        if end.form:
            codes, steps = Value(place, "codes"), (Value(place, _SCALE), Value(place, _ZERO))
            yield Step("QuantizeLinear", (end, *steps), (codes,))
            yield Step("DequantizeLinear", (codes, *steps), (Value(place),))

    @cached_property
    def _fixed(self) -> frozenset[Value]:
        """The values that depend on no input."""
        fixed = {Value(place) for place in self._held}
        for step in self._steps:
            fixed.update(value for value in step.reads if value.form in {_SCALE, _ZERO})
            if fixed.issuperset(step.reads):
                fixed.update(step.makes)
        return frozenset(fixed)

    @cached_property
    def inputs(self) -> TensorMetadata:
        """The inputs that a caller feeds."""
        return self._metadata(self._order(self._subgraph.inputs, self._signature[0]))

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        """The outputs."""
        return tuple(self._names[value] for value in self._order(self._subgraph.outputs, self._signature[1]))

    @staticmethod
    def _order(places: Any, named: Mapping[int, str]) -> list[Value]:
        return [Value(int(place)) for place in list(named) or places]

    @cached_property
    def nodes(self) -> list[GraphNode]:
        """The operators in their order."""
        names = self._names
        return [
            GraphNode(
                step.kind,
                names[step.makes[0]],
                "",
                tuple(names[value] for value in step.reads),
                tuple(names[value] for value in step.makes),
                _settings(step),
            )
            for step in self._steps
            if step.makes and not self._fixed.issuperset(step.makes)
        ]

    @property
    def weights(self) -> Mapping[str, int]:
        """Name and bytes of what the file holds, and of what is computed of that alone."""
        buffers, tensors = self._model.buffers, self._subgraph.tensors
        sizes = {Value(place): len(buffers[tensors[place].buffer].data) for place in self._held}
        return {self._names[value]: sizes.get(value, 0) for value in self._fixed}

    def values(self, names: Iterable[str]) -> dict[str, NDArray[Any]]:
        """Return scales and zero points.

        Args:
            names: Names of weights.
        """
        steps = {}
        for name in names:
            value = self._values.get(name, Value(0))
            if value.form in {_SCALE, _ZERO} and (codes := self.codes_of(value.place)):
                kind = _dtype(self._subgraph.tensors[value.place])
                steps[name] = np.array(codes[0]) if value.form == _SCALE else np.array(codes[1], kind)
        return steps

    @cached_property
    def opaque(self) -> frozenset[str]:
        """Names of what cannot be compared: texts, and what is not there before it is rounded to codes."""
        tensors = self._subgraph.tensors
        texts = {place for place in range(len(tensors)) if _dtype(tensors[place]) is None}
        return frozenset(
            name
            for value, name in self._names.items()
            if value.place in texts or value.form == "before_rounding"
            or (value.form == "before_activation" and self.codes_of(value.place))
        )  # fmt: skip

    @property
    def has_codes(self) -> bool:
        """Whether the model calculates with codes."""
        return any(value.form == "codes" for value in self._names)

    @property
    def has_half_weights(self) -> bool:
        """Whether the file holds weights in float16, which an operator makes float32 of."""
        half = np.dtype(np.float16)
        return any(_dtype(self._subgraph.tensors[place]) == half for place in self._held)

    @property
    def has_variables(self) -> bool:
        """Whether the model keeps numbers from call to call, which a part of it does not have."""
        resource = import_schema().TensorType.RESOURCE
        return any(tensor.type == resource for tensor in self._subgraph.tensors)

    def types(self, inputs: TensorMetadata) -> TensorMetadata:
        """Return types and shapes of all tensors; where inputs have other sizes than in the file, the types alone."""
        known, types = self._metadata(self._names), TensorMetadata()
        as_in_file = all(entry.shape == known[name].shape for name, entry in inputs.items() if name in known)
        for name, entry in known.items():
            types.add(name, entry.dtype, entry.shape if as_in_file else None)
        return types.update(inputs)

    def _metadata(self, values: Iterable[Value]) -> TensorMetadata:
        metadata = TensorMetadata()
        for value in values:
            tensor, name = self._subgraph.tensors[value.place], self._names[value]
            known = tensor.shapeSignature if tensor.shapeSignature is not None else tensor.shape
            shape = [int(size) for size in known] if known is not None else []
            if value.form in {_SCALE, _ZERO}:
                shape = []
            elif moves(name, len(shape), self._options.nchw):
                shape = [shape[0], shape[-1], *shape[1:-1]]
            is_number = value.form == _SCALE or (value.form in {"", "before_rounding"} and self.codes_of(value.place))
            metadata.add(name, np.float32 if is_number else _dtype(tensor), shape)
        return metadata

    def codes_of(self, place: int) -> tuple[Any, int] | None:
        """Return scale and zero point of a tensor that is computed in codes; None of others.

        Inputs and outputs are codes, too, unless the run is asked for the numbers that they stand for.

        Args:
            place: The tensor's place in the file.
        """
        tensor = self._subgraph.tensors[place]
        steps = tensor.quantization
        if steps is None or steps.scale is None or len(steps.scale) != 1 or place in self._held:
            return None
        if _dtype(tensor) not in CODES or (place in self._ends and not self._options.dequantize):
            return None
        zero = int(steps.zeroPoint[0]) if steps.zeroPoint is not None and len(steps.zeroPoint) else 0
        return np.float32(steps.scale[0]), zero

    def cut(self, inputs: TensorMetadata, outputs: Sequence[str]) -> Loader[LitePart]:
        """Return a loader of the model of the operators that make tensors of others."""
        return LitePartLoader(self, inputs, tuple(outputs))

    def with_options(self, options: Options | None) -> LiteGraph:
        """Return the graph for a run with other kernels and threads; names and layouts must be the same."""
        if options is None or options == self._options:
            return self
        other = copy.copy(self)
        other._options = options  # noqa: SLF001 - its own
        return other

    def part(self, inputs: TensorMetadata, outputs: tuple[str, ...]) -> LitePart:
        """Return the operators that make tensors of others, ready to run; arguments as of `write`."""
        content, ports = self.write(inputs, outputs)
        return LitePart(content, inputs, outputs, ports, self._options)

    def write(self, inputs: TensorMetadata, outputs: tuple[str, ...]) -> tuple[bytes, dict[str, LitePort]]:
        """Return a file with the operators that make tensors of others, and what is known of these tensors.

        Args:
            inputs: Types and shapes of what is fed.
            outputs: Names of what is asked for.
        """
        fed, wanted = [self._values[name] for name in inputs], [self._values[name] for name in outputs]
        needed, steps = set(wanted).difference(fed), list[Step]()
        for step in reversed(self._steps):
            if needed.intersection(step.makes):
                steps.insert(0, step)
                needed.update(value for value in step.reads if value not in fed)
        writer = _Writer(self._model, {value.place for value in (*fed, *wanted) if value.form == "before_activation"})
        ports = {
            name: LitePort(*self._port(value)) for name, value in zip((*inputs, *outputs), (*fed, *wanted), strict=True)
        }
        return writer.write(steps, fed, [value for value in wanted if not _is_fed(value, fed)], self._held), ports

    def _port(self, value: Value) -> tuple[tuple[int, bool], tuple[Any, int] | None]:
        codes = None if value.form == "codes" else self.codes_of(value.place)
        return (value.place, value.form == "before_activation"), codes


def _is_fed(value: Value, fed: Iterable[Value]) -> bool:
    """Return whether a value is fed, be it as numbers or as codes."""
    return (
        any(other.place == value.place and "before_activation" not in {value.form, other.form} for other in fed)
        or value in fed
    )


class LitePartLoader(Loader[LitePart]):
    """A part of a model; arguments as of `LiteGraph.part`, with the graph before them."""

    model_kind = "tf"

    def __init__(self, graph: LiteGraph, inputs: TensorMetadata, outputs: tuple[str, ...]) -> None:
        self.graph, self.inputs, self.outputs = graph, inputs, outputs

    def call_impl(self) -> LitePart:
        """Return the part."""
        return self.graph.part(self.inputs, self.outputs)

    def save(self, path: str) -> None:
        """Write the part into a file, for a process that may have another release of LiteRT."""
        content, ports = self.graph.write(self.inputs, self.outputs)
        write_part(path, content, self.inputs, self.outputs, ports)


class _Writer:
    """Writes parts of a model.

    Args:
        model: The model, as the schema has it.
        apart: Places of the tensors that are asked for as they are before their activation.
    """

    def __init__(self, model: Any, apart: set[int]) -> None:
        self._model = copy.copy(model)
        subgraph = copy.copy(model.subgraphs[0])
        subgraph.tensors = list(subgraph.tensors)
        self._model.subgraphs = [subgraph, *model.subgraphs[1:]]
        self._model.operatorCodes = list(model.operatorCodes)
        self._model.signatureDefs, self._model.metadata = None, None
        self._apart = {place: self._like(subgraph.tensors, place) for place in apart}

    @staticmethod
    def _like(tensors: list[Any], place: int) -> int:
        """Add a tensor like another one; return its place."""
        tensor = copy.copy(tensors[place])
        tensor.name = b"before_activation"
        tensors.append(tensor)
        return len(tensors) - 1

    def write(
        self, steps: Sequence[Step], fed: Sequence[Value], wanted: Sequence[Value], held: frozenset[int]
    ) -> bytes:
        """Return a model of some operators."""
        import flatbuffers

        subgraph = self._model.subgraphs[0]
        subgraph.operators = [item for step in steps for item in self._operators(step)]
        subgraph.inputs, subgraph.outputs = (
            [self._place(value) for value in fed],
            [self._place(item) for item in wanted],
        )
        used = {int(place) for item in subgraph.operators for place in item.inputs}
        used.update(value.place for value in wanted)
        self._drop_weights({place for place in held if place not in used or Value(place) in fed})
        builder = flatbuffers.Builder(1 << 16)
        builder.Finish(self._model.Pack(builder), _IDENTIFIER)
        return bytes(builder.Output())

    def _place(self, value: Value) -> int:
        return self._apart[value.place] if value.form == "before_activation" else value.place

    def _operators(self, step: Step) -> Iterator[Any]:
        """Yield what a step is in a file: nothing for a rounding, and an activation that its operator does."""
        before = next((value for value in (*step.reads, *step.makes) if value.form == "before_activation"), None)
        apart = None if before is None else self._apart.get(before.place)
        if step.operator is None or (step.activation and apart is None):
            return
        operator = copy.copy(step.operator)
        if step.activation:
            operator.opcodeIndex = self._opcode(ACTIVATIONS[step.activation].builtin)
            operator.inputs, operator.outputs = [apart], [step.makes[0].place]
            operator.builtinOptions, operator.builtinOptionsType = None, 0
        elif apart is not None:
            operator.outputs = [apart]
            operator.builtinOptions = copy.copy(operator.builtinOptions)
            operator.builtinOptions.fusedActivationFunction = 0
        yield operator

    def _opcode(self, builtin: int) -> int:
        code = copy.copy(self._model.operatorCodes[0])
        code.builtinCode = code.deprecatedBuiltinCode = builtin
        code.customCode, code.version = None, 2
        self._model.operatorCodes.append(code)
        return len(self._model.operatorCodes) - 1

    def _drop_weights(self, places: set[int]) -> None:
        """Leave out the numbers of tensors: those that no operator reads, and those that are fed."""
        tensors = self._model.subgraphs[0].tensors
        buffers = list(self._model.buffers)
        kept = {tensor.buffer for place, tensor in enumerate(tensors) if place not in places}
        kept.update(tensor.buffer for other in self._model.subgraphs[1:] for tensor in other.tensors)
        for place in places:
            if tensors[place].buffer not in kept:
                buffers[tensors[place].buffer] = copy.copy(buffers[0])
        self._model.buffers = buffers


def _text(name: Any) -> str:
    return name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name or "")


def _dtype(tensor: Any) -> Any:
    """Return the element type of a tensor; None for what NumPy has no numbers of."""
    types = {value: name for name, value in vars(import_schema().TensorType).items() if isinstance(value, int)}
    name = types.get(tensor.type, "STRING")
    return np.dtype(name.lower()) if name not in _TYPES else None


def _settings(step: Step) -> dict[str, Any]:
    if step.activation or step.operator is None or step.operator.builtinOptions is None:
        return {}
    plain = vars(step.operator.builtinOptions).items()
    return {
        key: value for key, value in plain if isinstance(value, (bool, int, float)) and key != "fusedActivationFunction"
    }
