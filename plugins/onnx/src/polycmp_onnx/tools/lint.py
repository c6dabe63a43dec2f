"""Finding everything that is wrong with an ONNX model: what its rules forbid, and what does not run."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from polycmp.errors import BackendError, PolycmpError
from polycmp_onnx.faults import complaint_of, inference_fault
from polycmp_onnx.graph import GraphView, graph_inputs, is_too_large, replace_items, subgraphs
from polycmp_onnx.operators import MICROSOFT
from polycmp_onnx.shapes import structure
from polycmp_onnx.tidy import sort_nodes
from polycmp_onnx.tools.execute import RefusedError, has_onnxruntime, run_model
from polycmp_onnx.tools.findings import LintReport

#: Sources of findings that Polygraphy makes, too, as its reports call them.
CHECKER, LOADER, STRUCTURE = "onnx_checker", "onnx_loader", "onnx_graphsurgeon"
#: Domains whose operators ONNX, or ONNX Runtime as everybody installs it, brings.
_KNOWN_DOMAINS = {"", "ai.onnx", "ai.onnx.ml", "ai.onnx.training", "ai.onnx.preview.training", "com.microsoft"}
Run = Callable[[Any, Mapping[str, Any]], dict[str, Any]]


def lint(
    proto: Any,
    make_feed: Callable[[], Mapping[str, Any]],
    run: Run = run_model,
    *,
    invented_inputs: bool = False,
    file: str = "MODEL",
) -> LintReport:
    """Return everything that is wrong with a model, or odd about it.

    Breaches of its rules are found without running it; then it is loaded and run as a whole, and where that fails node
    by node, so that every node that fails by itself is found. Nodes that only read what another failed to make are not
    blamed.

    Args:
        proto: An `onnx.ModelProto`; unnamed nodes are given names.
        make_feed: Makes the inputs to run it on; called only where it can be run.
        run: Runs a model on a feed, as `polycmp_onnx.tools.execute.run_model` does.
        invented_inputs: Whether shapes or values of the inputs were made up that may be why a sound model does not run.
        file: The model's file, for the commands that mend it.
    """
    report = LintReport(shlex.quote(file))
    if not proto.graph.node:
        report.add("warning", LOADER, "ONNX model has no nodes", hint="export it again: it computes nothing")
        return report
    _name_nodes(proto.graph)
    custom = _check_rules(proto, report)
    _find_unused(proto.graph, report)
    feed = _feed(make_feed, report) if not report.has_errors or _can_be_sorted(proto) else None
    plain = feed is not None and not report.has_errors and not custom
    failure = None if feed is None or not plain else _failure(run, proto, feed)
    loaded = plain and not isinstance(failure, RefusedError)
    _find_equal_names(proto.graph, report, "warning" if loaded else "exception")
    if plain and failure is None:
        report.passing = [node.name for node in proto.graph.node]
    elif feed is not None:
        _Nodes(proto, report, run, "warning" if invented_inputs else "exception").run(feed, custom)
    if plain:
        _check_whole_load(failure, report)
        _check_types(proto, report, loaded=loaded)
    return report


def _feed(make_feed: Callable[[], Mapping[str, Any]], report: LintReport) -> Mapping[str, Any] | None:
    try:
        return make_feed()
    except PolycmpError as error:
        report.add("warning", "polycmp", f"no inputs to run the model on: {error.what}", hint=error.hint)
        return None


def _failure(run: Run, proto: Any, feed: Mapping[str, Any]) -> BackendError | None:
    """Run a model as a whole; return why that failed, None if it did not."""
    try:
        run(proto, feed)
    except BackendError as error:
        return error
    return None


def _check_whole_load(failure: BackendError | None, report: LintReport) -> None:
    """Add that a model is not loaded, unless what was found says why."""
    why = _without_prefix(failure.why or failure.what) if isinstance(failure, RefusedError) else ""
    if why and not report.has_errors and not _lacks_kernel(why):
        hint = "export or convert the model again, or mend what the message names"
        report.add("exception", _engine(), f"the model is not loaded: {why}", hint=hint)


def _check_types(proto: Any, report: LintReport, *, loaded: bool) -> None:
    """Add what ONNX's inference of types and shapes refuses: odd where a runtime loads the model all the same."""
    why = inference_fault(structure(proto))
    if why:
        hint = "export or convert the model again, or mend what the message names"
        message = f"{why}; {_engine()} loads the model all the same" if loaded else why
        report.add("warning" if loaded else "exception", CHECKER, message, hint=hint)


def _find_equal_names(graph: Any, report: LintReport, level: str) -> None:
    """Find nodes of one name, which breaks a rule of ONNX's format; of constants backends put up with that."""
    places: dict[str, list[int]] = {}
    for index, node in enumerate(graph.node):
        places.setdefault(node.name, []).append(index)
    for name, places_of_name in places.items():
        if name and len(places_of_name) > 1:
            message = f"Duplicate node name: {name!r} for nodes with topological IDs: {places_of_name} found."
            report.add(
                level, STRUCTURE, message, node=graph.node[places_of_name[0]], hint="give every node its own name"
            )


def _name_nodes(graph: Any) -> None:
    for index, node in enumerate(graph.node):
        node.name = node.name or f"unnamed_node_{index}"


def _check_rules(proto: Any, report: LintReport) -> set[str]:
    """Add findings on breaches of ONNX's rules; return the names of nodes whose operators ONNX does not know."""
    import onnx

    context = onnx.checker.DEFAULT_CONTEXT.__class__()
    context.ir_version = proto.ir_version
    opsets = {item.domain: item.version for item in proto.opset_import}
    context.opset_imports = opsets
    functions = {(item.domain, item.name) for item in proto.functions}
    custom = set()
    for node in proto.graph.node:
        domain = "" if node.domain == "ai.onnx" else node.domain
        if (node.domain, node.op_type) in functions:
            continue
        if node.domain not in opsets and domain not in opsets:
            hint = f"import it: opset_import.append(onnx.helper.make_opsetid({node.domain!r}, 1))"
            report.add("exception", CHECKER, f"no operator set of domain {domain!r} is imported", node=node, hint=hint)
        elif domain not in _KNOWN_DOMAINS:
            custom.add(node.name)
            hint = "nothing, if the backend brings it; it is not run here"
            report.add("info", "onnx", f"a custom operator of domain {domain!r}", node=node, hint=hint)
        elif domain != MICROSOFT:
            _check_node(node, context, report)
    _check_names(proto.graph, report)
    _check_whole(proto, report)
    return custom


def _check_node(node: Any, context: Any, report: LintReport, within: Any = None) -> None:
    """Add a finding on a node that breaks a rule of its operator.

    Args:
        node: The node.
        context: The operator sets, as ONNX's checker takes them.
        report: The report.
        within: The operator of the graph in whose body the node is, which is named; None for a node of the graph.
    """
    import onnx

    named = within or node
    if within is not None and node.domain not in context.opset_imports:
        return  # the checker of the whole model tells

    if isinstance(node.op_type, bytes):  # protobuf's answer for a string that is damaged
        hint = "the file is damaged: export the model again, or copy it again"
        report.add("exception", CHECKER, f"its type is {node.op_type!r}, which is no text", node=named, hint=hint)
        return
    bodies = list(subgraphs(node))
    if bodies:  # ONNX's checker of single nodes does not know what is around them; that of whole models does
        for body in bodies:
            for inner in body.node:
                _check_node(inner, context, report, within=node)
        return
    if not onnx.defs.has(node.op_type, node.domain):
        hint = "a plugin's operator belongs into a domain of its own: polycmp surgeon insert … --domain DOMAIN"
        report.add("exception", CHECKER, "ONNX has no such operator", node=named, hint=hint)
        return
    try:
        onnx.checker.check_node(node, context)
    except onnx.checker.ValidationError as error:
        hint = f"https://onnx.ai/onnx/operators/onnx__{node.op_type}.html says what it takes"
        report.add("exception", CHECKER, complaint_of(error), node=named, hint=hint)


def _check_names(graph: Any, report: LintReport) -> None:
    """Find tensors that no node makes, or several nodes do, or one that comes too late."""
    defined = {value.name for value in graph.input} | {item.name for item in graph.initializer}
    defined |= {item.values.name for item in graph.sparse_initializer}
    view = GraphView(graph)
    later = Counter(name for node in view.nodes for name in node.output if name)
    for node, needed in zip(view.nodes, view.reads, strict=True):
        for name in needed:
            if name in defined:
                continue
            if name in later:
                hint = f"polycmp surgeon sanitize {report.file} --toposort -o SORTED.onnx"
                report.add(
                    "exception", "onnx", f"it reads {name!r}, which only a later node makes", node=node, hint=hint
                )
            else:
                hint = "make it an input of the model, or a weight, or the result of a node"
                report.add("exception", "onnx", f"it reads {name!r}, which nothing makes", node=node, hint=hint)
        for name in node.output:
            if name and (later[name] > 1 or name in defined):
                hint = "give every tensor a name of its own"
                report.add(
                    "exception", "onnx", f"it makes {name!r}, which something else makes, too", node=node, hint=hint
                )
        defined.update(name for name in node.output if name)
    for value in graph.output:
        if value.name not in defined:
            hint = f"polycmp surgeon extract {report.file} --outputs NAME -o FILE"
            report.add("exception", "onnx", f"nothing makes the output {value.name!r}", hint=hint)


def _check_whole(proto: Any, report: LintReport) -> None:
    """Let ONNX look at what is not about single nodes; of what these tests find it stops at the first."""
    import onnx

    from polycmp_onnx.tools.frame import complaint

    if report.has_errors:
        return
    with _noted_shapes(proto.graph, report):
        why = complaint(proto)
        if not why and not is_too_large(proto):
            try:
                onnx.checker.check_model(proto)
            except onnx.checker.ValidationError as error:
                why = complaint_of(error)
    if why:
        report.add("exception", CHECKER, why, hint="export the model again, or mend what it names")


@contextmanager
def _noted_shapes(graph: Any, report: LintReport) -> Iterator[None]:
    """Give outputs whose shape is not noted an empty one for the length of a `with` block, and add findings on them.

    ONNX's checker refuses them, while every backend runs them: their shapes follow from the graph.
    """
    without = []
    for value in graph.output:
        if value.type.HasField("tensor_type") and not value.type.tensor_type.HasField("shape"):
            without.append(value.type.tensor_type)
            hint = "nothing: backends find it out"
            report.add("info", CHECKER, f"the shape of the output {value.name!r} is not noted", hint=hint)
    for kind in without:
        kind.shape.SetInParent()
    try:
        yield
    finally:
        for kind in without:
            kind.ClearField("shape")


def _find_unused(graph: Any, report: LintReport) -> None:
    view = GraphView(graph)
    used, read = view.ancestors(view.outputs)
    hint = f"polycmp surgeon sanitize {report.file} --cleanup -o SMALLER.onnx"
    for value in graph_inputs(graph):
        if value.name not in read:
            what = f"Input: {value.name!r} does not affect outputs, can be removed."
            report.add("warning", STRUCTURE, what, hint=f"polycmp surgeon extract {report.file} -o SMALLER.onnx")
    for index in sorted({*range(len(view.nodes))}.difference(used)):
        what = "Does not affect outputs, can be removed."
        report.add("warning", STRUCTURE, what, node=view.nodes[index], hint=hint)
    unused = [item.name for item in graph.initializer if item.name not in read]
    if unused:
        shown = ", ".join(unused[:3]) + (", …" if len(unused) > 3 else "")
        what = f"{len(unused)} of the weights do not affect outputs, can be removed: {shown}"
        report.add("warning", STRUCTURE, what, hint=hint)


def _can_be_sorted(proto: Any) -> bool:
    """Sort the nodes; return whether that was possible."""
    try:
        sort_nodes(proto)
    except PolycmpError:
        return False
    return True


class _Nodes:
    """Runs each node of a model by itself on what those before it made.

    Args:
        proto: The model.
        report: Gets the findings.
        run: Runs a model on a feed.
        level: Severity of the finding that a node does not run.
    """

    def __init__(self, proto: Any, report: LintReport, run: Run, level: str) -> None:
        self._proto, self._report, self._run, self._level = proto, report, run, level
        self._view = GraphView(proto.graph)
        self._weights = self._view.weights
        self._values: dict[str, Any] = dict.fromkeys(self._weights)

    def run(self, feed: Mapping[str, Any], custom: Collection[str]) -> None:
        """Run the nodes.

        Args:
            feed: The model's inputs.
            custom: Names of nodes that cannot be run here.
        """
        self._values.update(feed)
        failures = (item for item in self._report.findings if item.level == "exception" and item.source != STRUCTURE)
        known_bad = {name for item in failures for name in item.nodes}
        for index, node in enumerate(self._view.nodes):
            if node.name in known_bad:
                self._report.failing.append(node.name)
            elif node.name in custom:
                self._report.skipped.append(node.name)
            else:
                self._run_node(node, self._view.reads[index])
            for name in self._view.last_uses.get(index, ()):
                if name not in self._weights:
                    self._values.pop(name, None)

    def _run_node(self, node: Any, needed: Sequence[str]) -> None:
        report = self._report
        if any(name not in self._values for name in needed):
            report.skipped.append(node.name)
            return
        values = {name: self._values[name] for name in needed}
        if any(isinstance(value, (list, dict)) or self._is_empty(name, value) for name, value in values.items()):
            report.skipped.append(node.name)
            report.add("info", "polycmp", "it reads a sequence or an optional, so it is not run by itself", node=node)
            return
        single = _single(self._proto, node, values, self._weights)
        try:
            self._values.update(self._run(single, {name: value for name, value in values.items() if value is not None}))
        except BackendError as error:
            _note_failure(error, node, report, self._level)
        else:
            report.passing.append(node.name)

    def _is_empty(self, name: str, value: Any) -> bool:
        return value is None and name not in self._weights


def _single(proto: Any, node: Any, inputs: Mapping[str, Any], weights: Mapping[str, Any]) -> Any:
    """Return a model of one node, its weights inside."""
    import onnx

    helper = onnx.helper
    fed = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in inputs.items()
        if array is not None
    ]
    outputs = [onnx.ValueInfoProto(name=name) for name in node.output if name]
    initializers = [weights[name] for name, array in inputs.items() if array is None]
    graph = helper.make_graph([node], "node", fed, outputs, initializers)
    single = helper.make_model(graph, opset_imports=proto.opset_import, ir_version=proto.ir_version)
    replace_items(single.functions, proto.functions)
    return single


def _note_failure(error: BackendError, node: Any, report: LintReport, level: str) -> None:
    message = _without_prefix(error.why or error.what)
    if _lacks_kernel(message):
        report.skipped.append(node.name)
        hint = "run it on another backend; the model is not to blame"
        report.add("warning", _engine(), message, node=node, hint=hint)
        return
    report.failing.append(node.name)
    first = next(iter(node.input), "NAME")
    hint = f"polycmp surgeon extract {report.file} --outputs {shlex.quote(first)} -o UP_TO_IT.onnx shows what it gets"
    if level == "warning":
        hint = "inputs were made up, which may be why: --input-shapes NAME:[D0,D1,…], or --load-inputs FILE"
    report.add(level, _engine(), message, node=node, hint=hint)


def _lacks_kernel(message: str) -> bool:
    return "NOT_IMPLEMENTED" in message or "Could not find an implementation" in message


def _engine() -> str:
    return "onnxruntime" if has_onnxruntime() else "onnx.reference"


def _without_prefix(message: str) -> str:
    """Return ONNX Runtime's message without the places in its own source."""
    text = re.sub(r"^\w+: ", "", message.strip())
    text = re.sub(r"\[ONNXRuntimeError\] : \d+ : \w+ : ", "", text)
    text = re.sub(r"(/[\w./-]+|[\w.]+)\.(cc|h|cpp):\d+ [^\n]*?\) ", "", text)
    text = re.sub(r"^Node ?\([^)]*\) ?Op ?\([^)]*\) \[\w+\] ", "", text)  # the finding names them anyway
    return re.sub(
        r"^Load model from [^:]* failed:|Non-zero status code returned while running \w+ node\. ", "", text
    ).strip()


def unreadable(error: PolycmpError) -> LintReport:
    """Return the report on a file that cannot be read as a model."""
    report = LintReport()
    why = f"{error.what}: {error.why}" if error.why else error.what
    report.add("exception", LOADER, why, hint=error.hint or "export the model again")
    return report
