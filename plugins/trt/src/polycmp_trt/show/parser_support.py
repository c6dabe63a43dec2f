"""Parts of an ONNX model that TensorRT can parse, and the reasons why it cannot parse the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polycmp.errors import ModelError, describe_exception
from polycmp.loader import BytesFromPath
from polycmp_trt.build.network import ParserProblem, create_network, parser_problems
from polycmp_trt.features import import_tensorrt, release, require, supports
from polycmp_trt.run.runtime import get_trt_logger, new_object, noted_errors

if TYPE_CHECKING:
    import onnx
    import tensorrt as trt

__all__ = ["Capability", "Part", "Problem", "check_model", "format_problems", "partition_model", "problem_of"]

RESULTS = "results.txt"


@dataclass(frozen=True)
class Problem:
    """Reason why an operator cannot be parsed.

    Attributes:
        operator: The operator at fault.
        node: The node's name, or its number in the part.
        reason: Reason given by TensorRT.
        functions: The local functions around the node, outermost first.
        nodes: First and last node of the part it was found in; None for the whole model.
    """

    operator: str
    node: str
    reason: str
    functions: tuple[str, ...] = ()
    nodes: tuple[int, int] | None = None


@dataclass(frozen=True)
class Part:
    """A part of a model.

    Attributes:
        nodes: The numbers of its nodes.
        supported: Whether TensorRT parses it.
        path: The file it was written to; empty if nowhere.
    """

    nodes: tuple[int, ...]
    supported: bool
    path: str = ""


@dataclass(frozen=True)
class Capability:
    """The result of a check.

    Attributes:
        supported: Whether TensorRT parses the whole model.
        problems: Everything it cannot parse, with reasons.
        parts: The parts, if the model was divided.
    """

    supported: bool
    problems: tuple[Problem, ...] = ()
    parts: tuple[Part, ...] = ()


def check_model(path: str) -> Capability:
    """Parse a whole model and collect the parser's errors.

    Args:
        path: An ONNX file; weights beside it are found.

    Raises:
        ModelError: The file is missing.
        BackendError: TensorRT cannot start.
    """
    if not Path(path).is_file():
        raise ModelError(f"no such model file: {path}", hint=f"ls {Path(path).parent}")
    return _parse(path, lambda parser: parser.parse_from_file(path))


def _parse(model: str | bytes, parse: Callable[[trt.OnnxParser], bool]) -> Capability:
    parser, _keep = _new_parser()
    with noted_errors() as notes:
        parsed = parse(parser)
    errors = parser_problems(parser, model)
    if parsed and not errors:
        return Capability(True)
    functions = _function_stacks(parser)
    problems = tuple(problem_of(item, stack) for item, stack in zip(errors, functions, strict=True))
    return Capability(False, problems or (Problem("?", "?", notes.why("the parser gave no reason")),))


def problem_of(found: ParserProblem, functions: tuple[str, ...] = ()) -> Problem:
    """Return an error of the parser as a `Problem`; a node without a name is identified by its number.

    Args:
        found: The parser's error.
        functions: The local functions around the node, outermost first.
    """
    number = str(found.position) if found.position >= 0 else "?"
    return Problem(found.operator or "?", found.node or number, found.reason, functions)


def _function_stacks(parser: trt.OnnxParser) -> list[tuple[str, ...]]:
    errors = [parser.get_error(index) for index in range(parser.num_errors)]
    if not supports("parser_error_functions"):
        return [()] * len(errors)
    return [tuple(error.local_function_stack()) for error in errors]


def _new_parser() -> tuple[Any, Any]:
    trt = import_tensorrt()
    builder, network = create_network()
    parser = new_object(lambda logger: trt.OnnxParser(network, logger), "ONNX parser")
    return parser, (builder, network, get_trt_logger())


def partition_model(path: str, folder: str) -> Capability:
    """Divide a model into parts that TensorRT parses and parts that it does not, and write each to a file.

    Args:
        path: An ONNX file.
        folder: Folder for `supported_subgraph-nodes-A-B.onnx` and `unsupported_subgraph-nodes-A-B.onnx`; A and B are
            the numbers of the first and the last node.

    Raises:
        ModelError: The file is no ONNX model, or a part cannot be cut out.
        BackendError: TensorRT cannot start, or this release cannot divide models.
    """
    from polycmp_onnx import onnx_from_path

    model = onnx_from_path(path)
    everything = tuple(range(len(model.graph.node)))
    if _groups(BytesFromPath(path)(), path) is None:
        return Capability(True)
    values = _inferred(model)

    def part_of(nodes: Sequence[int]) -> onnx.ModelProto:
        return cut_out(model, nodes, values)

    supported = sorted(
        divide(
            everything,
            lambda nodes: _groups(part_of(nodes).SerializeToString()),
            lambda nodes: _first_bad_node(part_of(nodes)),
        )
    )
    rest = _runs(sorted(set(everything) - {node for group in supported for node in group}))
    Path(folder).mkdir(parents=True, exist_ok=True)
    parts, problems = [], []
    for nodes, good in sorted([(group, True) for group in supported] + [(run, False) for run in rest]):
        part = part_of(nodes)
        name = f"{'' if good else 'un'}supported_subgraph-nodes-{nodes[0]}-{nodes[-1]}.onnx"
        target = str(Path(folder, name))
        _write(part, target)
        parts.append(Part(nodes, good, target))
        if not good:
            problems += _problems_of(part, nodes)
    return Capability(False, tuple(problems), tuple(parts))


def _problems_of(part: onnx.ModelProto, nodes: Sequence[int]) -> list[Problem]:
    content = part.SerializeToString()
    problems = _parse(content, lambda parser: parser.parse(content)).problems
    if not problems:  # it parses alone, but not together with what is around it
        problems = (Problem(part.graph.node[0].op_type, "0", "cannot be parsed inside the model"),)
    span = (nodes[0], nodes[-1])
    return [Problem(item.operator, item.node, item.reason, item.functions, span) for item in problems]


def _groups(content: bytes, path: str = "") -> list[tuple[tuple[int, ...], bool]] | None:
    """Return TensorRT's division of a model into groups of nodes; None if it parses the whole."""
    parser, _keep = _new_parser()
    with noted_errors():
        if supports("parser_subgraphs"):
            whole = parser.supports_model_v2(content, path)
            groups = [
                (tuple(parser.get_subgraph_nodes(index)), bool(parser.is_subgraph_supported(index)))
                for index in range(parser.num_subgraphs)
            ]
        else:
            require("parser_supports_model", "inspect capability --with-partitioning")
            whole, listed = parser.supports_model(content, path)
            groups = [(tuple(nodes), bool(good)) for nodes, good in listed]
    return None if whole else groups


def divide(
    nodes: tuple[int, ...],
    ask: Callable[[tuple[int, ...]], list[tuple[tuple[int, ...], bool]] | None],
    first_bad: Callable[[tuple[int, ...]], int],
) -> list[tuple[int, ...]]:
    """Return the groups of nodes that can be parsed; what is refused is divided again until single nodes are left.

    Args:
        nodes: Numbers of nodes.
        ask: Returns, for some nodes, groups of their positions and whether each can be parsed; None if all can
            together. Nodes after one at fault may be in no group.
        first_bad: Returns the position of the node at fault among some nodes.
    """
    groups = ask(nodes)
    if groups is None:
        return [nodes]
    parsable = []
    remaining = set(nodes)
    for positions, good in groups:
        group = tuple(nodes[position] for position in positions if position < len(nodes))
        if good and group:
            parsable.append(group)
        if good or len(group) < len(nodes):
            remaining -= set(group)
            # TensorRT 8.6 calls groups unsupported that it parses alone, single nodes among them: ask again.
            parsable += divide(group, ask, first_bad) if group and not good else []
    if len(remaining) == len(nodes):  # no progress: go on before and after the node at fault
        bad = first_bad(nodes)
        remaining.discard(nodes[bad])
    for run in _runs(sorted(remaining)):
        parsable += divide(run, ask, first_bad)
    return parsable


def _first_bad_node(part: onnx.ModelProto) -> int:
    """Return the number of the node that the parser stops at; the first if it does not report one."""
    content = part.SerializeToString()
    parser, _keep = _new_parser()
    with noted_errors():
        parser.parse(content)
    known = range(len(part.graph.node))
    numbers = [problem.position for problem in parser_problems(parser, content)]
    return next((number for number in numbers if number in known), 0)


def _runs(numbers: Iterable[int]) -> list[tuple[int, ...]]:
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return [tuple(run) for run in runs]


def cut_out(model: onnx.ModelProto, nodes: Sequence[int], values: Mapping[str, Any] | None = None) -> onnx.ModelProto:
    """Return a model of some of a model's nodes, in their order, with the weights they read.

    Args:
        model: An `onnx.ModelProto`; it is not changed.
        nodes: Numbers of nodes.
        values: Types and shapes of its tensors as far as they are known, by name; by default inferred now.
    """
    import onnx

    from polycmp_onnx.graph import GraphView

    if len(nodes) == len(model.graph.node):
        return model
    view, chosen = GraphView(model.graph), set(nodes)
    inside = [view.nodes[index] for index in sorted(chosen)]
    outputs_inside = [name for node in inside for name in node.output if name]
    used_inside = dict.fromkeys(name for index in sorted(chosen) for name in view.reads[index])
    used_later = {name for index, read in enumerate(view.reads) if index not in chosen for name in read}
    used_later.update(view.outputs)
    weights = [tensor for tensor in model.graph.initializer if tensor.name in used_inside]
    available = set(outputs_inside) | {tensor.name for tensor in weights}
    values = _inferred(model) if values is None else values
    inputs = [_value(values, name) for name in used_inside if name not in available]
    outputs = [_value(values, name) for name in outputs_inside if name in used_later or name not in used_inside]
    graph = onnx.helper.make_graph(inside, model.graph.name or "part", inputs, outputs, weights)
    version = max(model.ir_version, 4)  # in earlier ones each weight has to be an input, too
    part = onnx.helper.make_model(graph, opset_imports=model.opset_import, ir_version=version)
    part.functions.extend(model.functions)
    return part


def _inferred(model: onnx.ModelProto) -> Mapping[str, Any]:
    from polycmp_onnx import infer_shapes
    from polycmp_onnx.graph import known_values

    return known_values(infer_shapes(model).graph)


def _value(values: Mapping[str, Any], name: str) -> onnx.ValueInfoProto:
    import onnx

    known = values.get(name)
    return known if known is not None else onnx.helper.make_empty_tensor_value_info(name)


def _write(model: onnx.ModelProto, path: str) -> None:
    from polycmp_onnx import save_onnx

    try:
        save_onnx(model, path)
    except (ValueError, OSError) as error:
        raise ModelError(f"cannot write {path}", why=describe_exception(error)) from error


def format_problems(result: Capability) -> str:
    """Return the problems as a table, one line per operator and reason, the most frequent first."""
    from polycmp.report import table_text

    if result.supported:
        return f"TensorRT {release()} parses the whole model."
    counted: dict[tuple[str, str, str], list[str]] = {}
    for problem in result.problems:
        place = f"{problem.nodes[0]}-{problem.nodes[1]}" if problem.nodes else problem.node
        counted.setdefault((" -> ".join(problem.functions), problem.operator, problem.reason), []).append(place)
    rows = []
    for (functions, operator, reason), places in sorted(counted.items(), key=lambda item: -len(item[1])):
        where = f"{operator} (in {functions})" if functions else operator
        rows.append((where, str(len(places)), reason, ", ".join(dict.fromkeys(places))))
    table = table_text(("Operator", "Count", "Reason", "Nodes"), rows)
    return f"TensorRT {release()} cannot parse the whole model.\n\n{table}"
