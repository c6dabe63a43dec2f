"""Operators that are replaced in ONNX's reference evaluator: ONNX's own, those it lacks, and ONNX Runtime's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from polycmp_onnx.graph import STANDARD
from polycmp_onnx.operators import LEARNING, MICROSOFT
from polycmp_onnx.operators.standard import named, standard


def corrections(nodes: Iterable[Any], opsets: Mapping[str, int]) -> list[type[Any]]:
    """Return the classes to use instead of ONNX's own for the operators of a graph, as `new_ops` takes them.

    Args:
        nodes: The nodes of the graph.
        opsets: The version of each domain that the model imports.
    """
    operators = {(node.domain, node.op_type): opsets.get(node.domain, 0) for node in nodes}
    return [
        named(correction, domain, op_type)
        for (domain, op_type), opset in operators.items()
        if (correction := _correction(domain, op_type, opset)) is not None
    ]


def _correction(domain: str, op_type: str, opset: int) -> type[Any] | None:
    """Return the class for an operator; None if ONNX's own is right. Those of a domain are imported where it occurs."""
    if domain == MICROSOFT:
        return _microsoft(op_type)
    if domain == LEARNING:
        from polycmp_onnx.operators import learning

        return learning.OPERATORS.get(op_type)
    if domain not in STANDARD:
        return None
    if op_type == "SimplifiedLayerNormalization":  # ONNX Runtime writes it into ONNX's domain
        from polycmp_onnx.operators.microsoft import SimplifiedLayerNormalization

        return SimplifiedLayerNormalization
    return standard(op_type, opset)


def _microsoft(op_type: str) -> type[Any] | None:
    from polycmp_onnx.operators import (
        microsoft,
        microsoft_attention,
        microsoft_experts,
        microsoft_quantised,
        microsoft_sequences,
    )

    modules = (microsoft, microsoft_attention, microsoft_experts, microsoft_quantised, microsoft_sequences)
    return next((item.OPERATORS[op_type] for item in modules if op_type in item.OPERATORS), None)
