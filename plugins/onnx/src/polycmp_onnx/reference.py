"""An evaluator of ONNX graphs on ONNX's reference operators, in the model's own precision or in another one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from typing import Any

import numpy as np
import onnx
from onnx.external_data_helper import uses_external_data
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpFunction, RuntimeContextError

from polycmp.errors import BackendError, ModelError, PolycmpError, UsageError, describe_exception, did_you_mean
from polycmp_onnx.corrections import corrections
from polycmp_onnx.graph import GraphView
from polycmp_onnx.operators import MICROSOFT
from polycmp_onnx.precision import PRECISIONS, Precision, widened_call


def make_evaluator(
    model: Any, new_ops: Sequence[type[Any]] = (), dtype: str = "", weights: Mapping[str, Any] | None = None
) -> Any:
    """Return an evaluator of a model: `evaluator.run(None, feed)` gives the list of its outputs.

    Args:
        model: An `onnx.ModelProto` with its weights in memory, but those given apart.
        new_ops: Classes derived from `onnx.reference.op_run.OpRun`, each with `op_domain`; the class name is the
            operator's. They come before the corrections made here and before ONNX's own operators, in the main graph,
            in subgraphs and in model-local functions alike.
        dtype: "" for the model's own types, or a key of `polycmp_onnx.precision.PRECISIONS`.
        weights: Arrays by name in place of initializers, which the evaluator only reads.

    Raises:
        BackendError: The evaluator lacks an operator; the text names it, its domain and its node.
        ModelError: The model came without its external weights.
        UsageError: There is no such `dtype`.
    """
    if dtype not in PRECISIONS:
        raise UsageError(f"dtype {dtype!r} is not offered", whose="onnx", why=did_you_mean(dtype, PRECISIONS))
    outside = [item.name for item in model.graph.initializer if uses_external_data(item)]
    if outside:
        raise ModelError(
            f"cannot run without the weights outside the file, {outside[0]!r} first",
            whose="onnx",
            hint="load the model without --ignore-external-data",
        )
    members = {"own_ops": tuple(new_ops), "precision": PRECISIONS[dtype], "weights": dict(weights or {})}
    # ONNX makes the evaluators of subgraphs and functions from the class alone and forgets `new_ops` for functions.
    evaluator = type("PreciseEvaluator", (Evaluator,), members)
    return evaluator(_without_dead_nodes(model))


def _without_dead_nodes(model: Any) -> Any:
    """Return a model whose outputs depend on all of its nodes: what nobody asks for need not run here."""
    view = GraphView(model.graph)
    chosen, _ = view.ancestors(view.outputs)
    if len(chosen) == len(view.nodes):
        return model
    from polycmp_onnx.tidy import clean_up

    alive = deepcopy(model)
    clean_up(alive)
    return alive


class Evaluator(ReferenceEvaluator):  # type: ignore[misc]
    """ONNX's evaluator with corrected operators, a choice of precision, errors that name the node, and less memory."""

    own_ops: tuple[type[Any], ...] = ()
    precision: Precision = PRECISIONS[""]
    weights: Mapping[str, Any] = {}

    def __init__(self, proto: Any, *args: Any, **kwargs: Any) -> None:
        nodes = getattr(proto, "graph", proto).node
        opsets = kwargs.get("opsets") or {item.domain: item.version for item in proto.opset_import}
        operators = [*self.own_ops, *self.precision.operators]
        keys = {(getattr(item, "op_domain", None), item.__name__) for item in operators}
        operators += [item for item in corrections(nodes, opsets) if (item.op_domain, item.__name__) not in keys]
        try:
            super().__init__(proto, *args, **{**kwargs, "new_ops": operators})
        except (RuntimeContextError, PolycmpError):
            raise
        except Exception as error:
            position = len(getattr(self, "rt_nodes_", nodes))  # it makes the operators one after the other
            if position == len(nodes):
                raise
            raise BackendError(
                f"cannot run {describe_node(nodes[position])}",
                whose="onnx",
                why=_first_sentence(error),
                hint="pass an OpRun for it in new_ops, or try another backend: polycmp plugins list",
            ) from error
        if isinstance(proto, onnx.ModelProto):  # else the body of a function or a subgraph, which has its own
            self.rt_inits_.update(self.weights)
        self.rt_inits_: dict[str, Any] = {name: self.precision.value(value) for name, value in self.rt_inits_.items()}
        self.last_uses = GraphView(getattr(proto, "graph", proto)).last_uses

    @property
    def opsets(self) -> dict[str, int]:
        """The version of each domain; Microsoft's operators need no import, as in ONNX Runtime."""
        return {MICROSOFT: 1, **self.opsets_}

    def run(
        self,
        output_names: Iterable[str] | None,
        feed_inputs: Mapping[str, Any],
        attributes: Mapping[str, Any] | None = None,
        intermediate: bool = False,
        **_: Any,
    ) -> Any:
        """Evaluate the graph.

        Args:
            output_names: The outputs wanted, None for all.
            feed_inputs: One array per input; for a subgraph also the values of the graph around it.
            attributes: Attributes of the node that calls this function, if this is a function's body.
            intermediate: Return a dict of every tensor instead of a list of outputs.

        Raises:
            BackendError: An operator failed; the text names it, its domain and its node.
        """
        names = list(self.output_names if output_names is None else output_names)
        results: dict[str, Any] = {"": None, **self.rt_inits_}
        nested = not isinstance(self.proto_, onnx.ModelProto)  # then what comes in has this precision already
        results.update((name, value if nested else self.precision.value(value)) for name, value in feed_inputs.items())
        keep = {*names, *feed_inputs, *self.rt_inits_, ""}
        for index, node in enumerate(self.rt_nodes_):
            outputs = self._run_node(node, results, attributes)
            # An output without a name is not kept: "" as an input means that there is none.
            results.update((name, value) for name, value in zip(node.output, outputs, strict=False) if name)
            if not intermediate:
                for name in self.last_uses.get(index, ()):
                    if name not in keep:
                        results.pop(name, None)
        missing = [name for name in names if name not in results]
        if missing:
            raise BackendError(f"no node makes the output {missing[0]!r}", whose="onnx")
        return results if intermediate else [results[name] for name in names]

    def _run_node(self, node: Any, results: dict[str, Any], attributes: Mapping[str, Any] | None) -> list[Any]:
        missing = [name for name in node.input if name not in results]
        if missing:
            raise BackendError(
                f"{describe_node(node.onnx_node)} needs {missing[0]!r}, which nothing before it makes", whose="onnx"
            )
        if attributes:
            node = _with_values(node, attributes)
        extra: dict[str, Any] = {"context": results} if node.need_context() else {}
        if node.has_linked_attribute and attributes:
            extra["linked_attributes"] = attributes
        inputs = [results[name] for name in node.input]
        try:
            outputs = widened_call(node, inputs, extra)
        except PolycmpError:
            raise
        except Exception as error:
            raise BackendError(
                f"{describe_node(node.onnx_node)} failed", whose="onnx", why=describe_exception(_innermost(error))
            ) from error
        return [self.precision.value(value) for value in outputs]


def _with_values(node: Any, attributes: Mapping[str, Any]) -> Any:
    """Return a node of a function's body whose attributes are values, where they name those of the function.

    ONNX tells a node the values when it runs, which its elementwise operators do not take, and operators that look at
    an attribute when they are made come too early for. Calls and graphs hand them on, and stay as they are.
    """
    if not node.has_linked_attribute or node.has_subgraph or isinstance(node, OpFunction):
        return node
    proto = deepcopy(node.onnx_node)
    del proto.attribute[:]
    for item in node.onnx_node.attribute:
        value = attributes.get(item.ref_attr_name) if item.ref_attr_name else None
        if not item.ref_attr_name:
            proto.attribute.append(item)
        elif value is not None:  # else it has the default of the operator
            value = onnx.numpy_helper.from_array(value) if isinstance(value, np.ndarray) else value
            proto.attribute.append(onnx.helper.make_attribute(item.name, value, attr_type=item.type))
    return type(node)(proto, node.run_params)


def describe_node(node: Any) -> str:
    """Name a node for a message: operator, domain, and its name or first output."""
    domain = node.domain or "ai.onnx"
    label = f"node {node.name!r}" if node.name else f"the node that makes {next(iter(node.output), '')!r}"
    return f"operator {node.op_type} of domain {domain} ({label})"


def _first_sentence(error: BaseException) -> str:
    return describe_exception(error).split(" Available implementations:")[0].split(". You may either")[0]


def _innermost(error: BaseException) -> BaseException:
    while error.__cause__ is not None:
        error = error.__cause__
    return error
