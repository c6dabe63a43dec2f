"""From references to operators of ONNX's reference evaluator."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import onnx
from onnx.reference.op_run import OpRun

from polycmp.errors import BackendError
from polycmp_onnx.graph import subgraphs
from polycmp_pluginref.registry import Reference, References, find_reference

#: Attributes with which TensorRT finds a plugin. A reference gets them only if it asks for them by name.
_LOOK_UP_ONLY = frozenset({"plugin_version", "plugin_namespace"})


def operators_for(model: Any, references: References, failures: list[str], whose: str = "pluginref") -> list[type[Any]]:
    """Return an evaluator's operator for each kind of node in the model that has a reference.

    Args:
        model: An `onnx.ModelProto`; it is not changed.
        references: The registered references.
        failures: Errors of references that could not be loaded, for the error message.
        whose: The backend's name, for error messages.

    Raises:
        BackendError: An operator is neither ONNX's, nor a function of the model, nor has it a reference.
    """
    functions = {(function.domain, function.name) for function in model.functions}
    operators, missing = [], []
    for domain, op in sorted({(node.domain, node.op_type) for node in _nodes(model)}):
        is_defined = (domain, op) in functions or (domain != "" and onnx.defs.has(op, domain))
        reference = references.get((domain, op)) if is_defined else find_reference(references, op, domain)
        if reference is not None:
            operators.append(_operator(domain, op, reference, whose))
        elif not is_defined and not onnx.defs.has(op, _canonical(domain)):
            missing.append(f"{op} (domain {domain or 'ai.onnx'})")
    if missing:
        raise BackendError(
            "no reference for " + ", ".join(missing),
            whose=whose,
            why="; ".join(failures) or "ONNX does not define it, and no function is registered for it",
            hint=_how_to_add(missing[0].partition(" ")[0]),
        )
    return operators


def _how_to_add(op: str) -> str:
    return (
        f'write a file my_ops.py with a function under @polycmp_pluginref.register("{op}") that takes the inputs '
        "and the attributes, and run again with --pluginref-ops my_ops.py"
    )


def _canonical(domain: str) -> str:
    return "" if domain == "ai.onnx" else domain


def _nodes(model: Any) -> Iterator[Any]:
    """Yield every node of a model, those in subgraphs and functions included."""
    pending = [*model.graph.node, *(node for function in model.functions for node in function.node)]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(inner for graph in subgraphs(node) for inner in graph.node)


def _operator(domain: str, op: str, reference: Reference, whose: str) -> type[Any]:
    signature = inspect.signature(reference)
    unwanted = _LOOK_UP_ONLY.difference(signature.parameters)

    def run(self: Any, *inputs: Any, **attributes: Any) -> tuple[Any, ...]:
        accepted = {name: value for name, value in attributes.items() if name not in unwanted}
        try:
            signature.bind(*inputs, **accepted)
        except TypeError as error:
            raise BackendError(
                f"the node {self.onnx_node.name or self.onnx_node.output[0]!r} does not fit the reference for {op}",
                whose=whose,
                why=f"{error}; the reference is {reference.__name__}{signature}",
            ) from error
        outputs = reference(*inputs, **accepted)
        return outputs if isinstance(outputs, tuple) else (outputs,)

    # Without a schema of its own, an operator would get ONNX's defaults for the attributes of a namesake.
    return type(op, (OpRun,), {"op_domain": domain, "op_schema": None, "_run": run})
