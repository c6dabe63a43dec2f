"""Networks: empty ones, and those that TensorRT's parser makes of ONNX models."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from polycmp.errors import ModelError, describe_exception
from polycmp.loader import Loader, immediate, resolve
from polycmp_trt.features import enum_value, import_tensorrt, release, require, supports
from polycmp_trt.run.runtime import ErrorNotes, new_object, noted_errors

if TYPE_CHECKING:
    import tensorrt as trt

    from polycmp_trt.types import ConfigSource, OnnxSource, PathSource

T = TypeVar("T", str, bytes)


class CreateNetwork(Loader[tuple["trt.Builder", "trt.INetworkDefinition"]]):
    """Creates an empty network.

    Args:
        explicit_batch: Accepted for programs written for older releases; networks are always explicit-batch.
        strongly_typed: Keep the types that the network says instead of letting the builder choose.
        mark_unfused_tensors_as_debug_tensors: Show every tensor that fusion leaves, while running.
    """

    def __init__(
        self,
        explicit_batch: bool | None = None,
        strongly_typed: bool | None = None,
        mark_unfused_tensors_as_debug_tensors: bool | None = None,
    ) -> None:
        self.explicit_batch = explicit_batch
        self.strongly_typed = strongly_typed
        self.mark_unfused = mark_unfused_tensors_as_debug_tensors

    def call_impl(self) -> tuple[trt.Builder, trt.INetworkDefinition]:
        """Return `(builder, network)`.

        Raises:
            BackendError: TensorRT cannot start, or this release lacks what was asked for.
        """
        trt = import_tensorrt()
        flags = 0
        if supports("explicit_batch"):
            flags |= 1 << int(trt.NetworkDefinitionCreationFlag.EXPLICIT_BATCH)
        if self.strongly_typed:
            require("strongly_typed", "--strongly-typed")
            flags |= 1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED)
        builder = new_object(trt.Builder, "builder")
        network = builder.create_network(flags)
        if self.mark_unfused:
            require("unfused_debug_tensors", "--mark-unfused-tensors-as-debug-tensors")
            network.mark_unfused_tensors_as_debug_tensors()
        return builder, network


@dataclass(repr=False, eq=False)
class _FromOnnx(Loader[tuple["trt.Builder", "trt.INetworkDefinition", "trt.OnnxParser"]]):
    """Common part of both ways to read ONNX.

    The arguments are fields, so that they are written down once; what is read comes first, from `_FromPath` or
    `_FromBytes`.
    """

    flags: Iterable[trt.OnnxParserFlag | str] | None = None
    plugin_instancenorm: bool | None = None
    strongly_typed: bool | None = None
    mark_unfused_tensors_as_debug_tensors: bool | None = None
    enable_uint8_asymmetric_quantization_dla: bool | None = None
    config: ConfigSource | None = None

    def _parser(self) -> tuple[trt.Builder, trt.INetworkDefinition, trt.OnnxParser]:
        trt = import_tensorrt()
        create = CreateNetwork(
            strongly_typed=self.strongly_typed,
            mark_unfused_tensors_as_debug_tensors=self.mark_unfused_tensors_as_debug_tensors,
        )
        builder, network = create()
        parser = new_object(lambda logger: trt.OnnxParser(network, logger), "ONNX parser")
        for flag in self.flags or ():
            parser.set_flag(enum_value("OnnxParserFlag", flag, "--onnx-flags"))
        if self.plugin_instancenorm and supports("native_instancenorm"):
            parser.clear_flag(trt.OnnxParserFlag.NATIVE_INSTANCENORM)
        if self.enable_uint8_asymmetric_quantization_dla:
            require("uint8_asymmetric_quantization_dla", "--enable-uint8-asymmetric-quantization-dla")
            parser.set_flag(trt.OnnxParserFlag.ENABLE_UINT8_AND_ASYMMETRIC_QUANTIZATION_DLA)
        if self.config is not None and supports("parser_builder_config"):
            config = self.config(builder, network) if callable(self.config) else self.config
            parser.set_builder_config(config)
        return builder, network, parser


@dataclass(repr=False, eq=False)
class _FromPath:
    path: PathSource


@dataclass(repr=False, eq=False)
class _FromBytes:
    model_bytes: bytes | OnnxSource | Callable[[], bytes]


@dataclass(repr=False, eq=False)
class NetworkFromOnnxPath(_FromOnnx, _FromPath):
    """Parses an ONNX file, weights in files beside it included.

    Args:
        path: The file, or a callable that returns its path.
        flags: Parser flags, members of `tensorrt.OnnxParserFlag` or their names.
        plugin_instancenorm: Parse InstanceNormalization as a plugin, the only way on releases without the flag.
        strongly_typed: Keep the model's types.
        mark_unfused_tensors_as_debug_tensors: Show every tensor that fusion leaves, while running.
        enable_uint8_asymmetric_quantization_dla: Set the parser flag of that name.
        config: The builder's configuration, or a callable that makes it, for parsers that take it into account.
    """

    def call_impl(self) -> tuple[trt.Builder, trt.INetworkDefinition, trt.OnnxParser]:
        """Return `(builder, network, parser)`.

        Raises:
            ModelError: The file is missing, is no ONNX model, or holds what TensorRT cannot parse; the text names
                nodes, operators and reasons.
        """
        path = Path(resolve(self.path))
        if not path.is_file():
            raise ModelError(f"no such file: {path}", hint=f"ls {path.parent}")
        builder, network, parser = self._parser()
        with noted_errors() as notes:
            parsed = _parse(parser.parse_from_file, str(path), notes)
        _check(network, parser, parsed, notes, str(path))
        return builder, network, parser


@dataclass(repr=False, eq=False)
class NetworkFromOnnxBytes(_FromOnnx, _FromBytes):
    """Parses a serialised ONNX model.

    Args:
        model_bytes: The bytes, an `onnx.ModelProto`, or a callable that returns either; the further arguments are
            those of `NetworkFromOnnxPath`.
    """

    def call_impl(self) -> tuple[trt.Builder, trt.INetworkDefinition, trt.OnnxParser]:
        """Return `(builder, network, parser)`.

        Raises:
            ModelError: The bytes are no ONNX model, or hold what TensorRT cannot parse.
        """
        content = resolve(self.model_bytes)
        if hasattr(content, "SerializeToString"):
            content = content.SerializeToString()
        builder, network, parser = self._parser()
        with noted_errors() as notes:
            parsed = _parse(parser.parse, content, notes)
        _check(network, parser, parsed, notes, content)
        return builder, network, parser


class ParserProblem(NamedTuple):
    """One error of TensorRT's parser.

    Attributes:
        position: The node's position in the graph, -1 if it is not about a node.
        node: The node's name.
        operator: Operator type of the node.
        reason: Description of the error.
    """

    position: int
    node: str
    operator: str
    reason: str

    def __str__(self) -> str:
        if not self.operator:
            return self.reason
        name = f" {self.node!r}" if self.node else ""
        return f"node {self.position}{name} ({self.operator}): {self.reason}"


def parser_problems(parser: trt.OnnxParser, model: str | bytes) -> list[ParserProblem]:
    """Return the errors of a parser, with the nodes' names and operators.

    Args:
        parser: A `tensorrt.OnnxParser` after parsing.
        model: The model's path or bytes, to look names up where the parser does not report them.
    """
    errors = [parser.get_error(index) for index in range(parser.num_errors)]
    has_names = supports("parser_error_nodes")
    nodes = [] if has_names or not errors else _nodes(model)
    problems = []
    for error in errors:
        index = int(error.node())
        name, operator = "", ""
        if has_names:
            name, operator = error.node_name(), error.node_operator()
        elif 0 <= index < len(nodes):
            name, operator = nodes[index]
        code = str(error.code()).rpartition(".")[2].replace("_", " ").lower()
        reason = f"{code}: {' '.join(str(error.desc()).split())}"
        problems.append(ParserProblem(index, name, operator, reason))
    return problems


def _nodes(model: str | bytes) -> list[tuple[str, str]]:
    try:
        import onnx

        if isinstance(model, str):
            loaded = onnx.load(model, load_external_data=False)
        else:
            loaded = onnx.load_from_string(bytes(model))
    except Exception:  # noqa: BLE001  (names only improve the message; an unreadable model has none)
        return []
    return [(node.name, node.op_type) for node in loaded.graph.node]


def _parse(parse: Callable[[T], bool], model: T, notes: ErrorNotes) -> bool:
    try:
        return parse(model)
    except RuntimeError as error:  # a plugin's library that the parser needs and cannot load
        notes.messages.append(describe_exception(error))
        return False


def _check(
    network: trt.INetworkDefinition, parser: trt.OnnxParser, parsed: bool, notes: ErrorNotes, model: str | bytes
) -> None:
    if parsed and not parser.num_errors and network.num_outputs:
        notes.release()
        return
    problems = parser_problems(parser, model)
    if parsed and not problems:
        problems = [ParserProblem(-1, "", "", "it holds no graph with outputs: it is empty, or no ONNX model")]
    shown = [str(problem) for problem in problems]
    if len(shown) > 10:
        shown = [*shown[:10], f"… and {len(shown) - 10} more"]
    whole = model if isinstance(model, str) else "the model"
    raise ModelError(
        f"TensorRT {release()} cannot parse {whole}",
        whose="trt",
        why="\n        ".join(shown) or notes.why("the parser gave no reason"),
        hint=f"polycmp inspect capability {whole if isinstance(model, str) else 'MODEL'}",
    )


create_network = immediate(CreateNetwork)
network_from_onnx_bytes = immediate(NetworkFromOnnxBytes)
network_from_onnx_path = immediate(NetworkFromOnnxPath)
