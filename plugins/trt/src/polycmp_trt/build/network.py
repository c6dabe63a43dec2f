"""Networks: empty ones, and those that TensorRT's parser makes of ONNX models."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from polycmp.errors import ModelError, describe_exception
from polycmp.loader import Loader, immediate, resolve
from polycmp_trt.features import enum_value, import_tensorrt, release, require, supports
from polycmp_trt.run.runtime import ErrorNotes, new_object, noted_errors

NetworkTuple = tuple[Any, ...]


class CreateNetwork(Loader[tuple[Any, Any]]):
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

    def call_impl(self) -> tuple[Any, Any]:
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


class _FromOnnx(Loader[tuple[Any, Any, Any]]):
    """What both ways of reading ONNX share."""

    def __init__(
        self,
        flags: Iterable[Any] | None,
        plugin_instancenorm: bool | None,
        strongly_typed: bool | None,
        mark_unfused_tensors_as_debug_tensors: bool | None,
        enable_uint8_asymmetric_quantization_dla: bool | None,
        config: Any,
    ) -> None:
        self.flags = flags
        self.plugin_instancenorm = plugin_instancenorm
        self.create = CreateNetwork(
            strongly_typed=strongly_typed,
            mark_unfused_tensors_as_debug_tensors=mark_unfused_tensors_as_debug_tensors,
        )
        self.uint8_dla = enable_uint8_asymmetric_quantization_dla
        self.config = config

    def _parser(self) -> tuple[Any, Any, Any]:
        trt = import_tensorrt()
        builder, network = self.create()
        parser = new_object(lambda logger: trt.OnnxParser(network, logger), "ONNX parser")
        for flag in self.flags or ():
            parser.set_flag(enum_value("OnnxParserFlag", flag, "--onnx-flags"))
        if self.plugin_instancenorm and supports("native_instancenorm"):
            parser.clear_flag(trt.OnnxParserFlag.NATIVE_INSTANCENORM)
        if self.uint8_dla:
            require("uint8_asymmetric_quantization_dla", "--enable-uint8-asymmetric-quantization-dla")
            parser.set_flag(trt.OnnxParserFlag.ENABLE_UINT8_AND_ASYMMETRIC_QUANTIZATION_DLA)
        if self.config is not None and supports("parser_builder_config"):
            config = self.config(builder, network) if callable(self.config) else self.config
            parser.set_builder_config(config)
        return builder, network, parser


class NetworkFromOnnxPath(_FromOnnx):
    """Parses an ONNX file, weights in files beside it included.

    Args:
        path: The file, or a callable that returns its path.
        flags: Parser flags, members of `tensorrt.OnnxParserFlag` or their names.
        plugin_instancenorm: Parse InstanceNormalization as a plugin, the only way on releases without the flag.
        strongly_typed: Keep the model's types.
        mark_unfused_tensors_as_debug_tensors: Show every tensor that fusion leaves, while running.
        enable_uint8_asymmetric_quantization_dla: Set the parser flag of that name.
        config: The builder's configuration, or a callable that makes it, for parsers that want to know.
    """

    def __init__(
        self,
        path: Any,
        flags: Iterable[Any] | None = None,
        plugin_instancenorm: bool | None = None,
        strongly_typed: bool | None = None,
        mark_unfused_tensors_as_debug_tensors: bool | None = None,
        enable_uint8_asymmetric_quantization_dla: bool | None = None,
        config: Any = None,
    ) -> None:
        super().__init__(
            flags,
            plugin_instancenorm,
            strongly_typed,
            mark_unfused_tensors_as_debug_tensors,
            enable_uint8_asymmetric_quantization_dla,
            config,
        )
        self.path = path

    def call_impl(self) -> tuple[Any, Any, Any]:
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


class NetworkFromOnnxBytes(_FromOnnx):
    """Parses a serialised ONNX model.

    Args:
        model_bytes: The bytes, or a callable that returns them.
        flags: Parser flags, members of `tensorrt.OnnxParserFlag` or their names.
        plugin_instancenorm: Parse InstanceNormalization as a plugin, the only way on releases without the flag.
        strongly_typed: Keep the model's types.
        mark_unfused_tensors_as_debug_tensors: Show every tensor that fusion leaves, while running.
        enable_uint8_asymmetric_quantization_dla: Set the parser flag of that name.
        config: The builder's configuration, or a callable that makes it, for parsers that want to know.
    """

    def __init__(
        self,
        model_bytes: Any,
        flags: Iterable[Any] | None = None,
        plugin_instancenorm: bool | None = None,
        strongly_typed: bool | None = None,
        mark_unfused_tensors_as_debug_tensors: bool | None = None,
        enable_uint8_asymmetric_quantization_dla: bool | None = None,
        config: Any = None,
    ) -> None:
        super().__init__(
            flags,
            plugin_instancenorm,
            strongly_typed,
            mark_unfused_tensors_as_debug_tensors,
            enable_uint8_asymmetric_quantization_dla,
            config,
        )
        self.model_bytes = model_bytes

    def call_impl(self) -> tuple[Any, Any, Any]:
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
    """One thing that TensorRT's parser does not like.

    Attributes:
        position: The node's position in the graph, -1 if it is not about a node.
        node: The node's name.
        operator: What the node does.
        reason: What is wrong.
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


def parser_problems(parser: Any, model: Any) -> list[ParserProblem]:
    """Return what a parser complains of, with the nodes' names and operators.

    Args:
        parser: A `tensorrt.OnnxParser` after parsing.
        model: The model's path or bytes, to look names up where the parser does not tell them.
    """
    errors = [parser.get_error(index) for index in range(parser.num_errors)]
    told = supports("parser_error_nodes")
    nodes = [] if told or not errors else _nodes(model)
    problems = []
    for error in errors:
        index = int(error.node())
        name, operator = "", ""
        if told:
            name, operator = error.node_name(), error.node_operator()
        elif 0 <= index < len(nodes):
            name, operator = nodes[index]
        code = str(error.code()).rpartition(".")[2].replace("_", " ").lower()
        reason = f"{code}: {' '.join(str(error.desc()).split())}"
        problems.append(ParserProblem(index, name, operator, reason))
    return problems


def _nodes(model: Any) -> list[tuple[str, str]]:
    try:
        import onnx

        if isinstance(model, str):
            loaded = onnx.load(model, load_external_data=False)
        else:
            loaded = onnx.load_from_string(bytes(model))
    except Exception:  # noqa: BLE001  (names are a courtesy; what cannot be read has none)
        return []
    return [(node.name, node.op_type) for node in loaded.graph.node]


def _parse(parse: Callable[[Any], bool], model: Any, notes: ErrorNotes) -> bool:
    try:
        return parse(model)
    except RuntimeError as error:  # a plugin's library that the parser wants and cannot load
        notes.messages.append(describe_exception(error))
        return False


def _check(network: Any, parser: Any, parsed: bool, notes: ErrorNotes, model: Any) -> None:
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
