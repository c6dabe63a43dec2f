"""Operators of ONNX's reference evaluator that are replaced, and the opsets for which they are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from onnx import defs
from onnx.reference.ops.op_dequantize_linear import DequantizeLinear_19

from polycmp_onnx.operators import (
    microsoft,
    microsoft_attention,
    microsoft_experts,
    microsoft_quantised,
    microsoft_sequences,
)
from polycmp_onnx.operators.control import Loop_1, Scatter_9
from polycmp_onnx.operators.normalization import (
    LRN_1,
    BatchNormalization_9,
    LayerNormalization_17,
    LpNormalization_1,
    MeanVarianceNormalization_9,
    RMSNormalization_23,
)
from polycmp_onnx.operators.pooling import AveragePool_19, GlobalMaxPool_1, MaxPool_12
from polycmp_onnx.operators.softmax import Hardmax_11, LogSoftmax_11, LogSoftmax_13, Softmax_11
from polycmp_onnx.operators.versions import (
    GRU_14,
    LSTM_14,
    CheckedRNN_14,
    ConvTranspose_11,
    CumSum_11,
    GridSample_16,
    OneHot_9,
    Resize_10,
    RoiAlign_10,
    Upsample_7,
    Upsample_9,
)

_EVER = 10_000
#: Operator -> (first opset, last opset, class), …
_CORRECTIONS: dict[str, tuple[tuple[int, int, type[Any]], ...]] = {
    "AveragePool": ((7, _EVER, AveragePool_19),),
    "BatchNormalization": ((7, 13, BatchNormalization_9),),
    "ConvTranspose": ((1, _EVER, ConvTranspose_11),),
    "CumSum": ((11, _EVER, CumSum_11),),
    "DequantizeLinear": ((10, 18, DequantizeLinear_19),),  # ONNX's own, which it refuses before opset 19
    "GRU": ((7, _EVER, GRU_14),),
    "GlobalMaxPool": ((1, _EVER, GlobalMaxPool_1),),
    "GridSample": ((16, 19, GridSample_16),),
    "Hardmax": ((1, 12, Hardmax_11),),
    "LRN": ((1, _EVER, LRN_1),),
    "LSTM": ((7, _EVER, LSTM_14),),
    "LayerNormalization": ((1, _EVER, LayerNormalization_17),),  # ONNX Runtime writes it before opset 17, too
    "LogSoftmax": ((1, 12, LogSoftmax_11), (13, _EVER, LogSoftmax_13)),
    "Loop": ((1, _EVER, Loop_1),),
    "LpNormalization": ((1, _EVER, LpNormalization_1),),
    "MaxPool": ((1, _EVER, MaxPool_12),),
    "MeanVarianceNormalization": ((9, _EVER, MeanVarianceNormalization_9),),
    "OneHot": ((9, _EVER, OneHot_9),),
    "RMSNormalization": ((23, _EVER, RMSNormalization_23),),
    "RNN": ((7, _EVER, CheckedRNN_14),),
    "Resize": ((10, 10, Resize_10),),
    "RoiAlign": ((10, 15, RoiAlign_10),),
    "Scatter": ((9, 10, Scatter_9),),
    "SimplifiedLayerNormalization": ((1, _EVER, microsoft.SimplifiedLayerNormalization),),
    "Softmax": ((1, 12, Softmax_11),),
    "Upsample": ((7, 8, Upsample_7), (9, 9, Upsample_9)),
}


def corrections(nodes: Iterable[Any], opsets: Mapping[str, int]) -> list[type[Any]]:
    """Return the classes to use instead of ONNX's own for the operators of a graph, as `new_ops` takes them.

    Args:
        nodes: The nodes of the graph.
        opsets: The version of each domain that the model imports.
    """
    found = {(node.domain, node.op_type): opsets.get(node.domain, 0) for node in nodes}
    return [
        made for (domain, op_type), opset in found.items() if (made := _correction(domain, op_type, opset)) is not None
    ]


@cache
def _correction(domain: str, op_type: str, opset: int) -> type[Any] | None:
    """Return the class for an operator, under the operator's name; None if ONNX's own is right."""
    if domain == microsoft.DOMAIN:
        modules = (microsoft, microsoft_attention, microsoft_experts, microsoft_quantised, microsoft_sequences)
        own = next((item.OPERATORS[op_type] for item in modules if op_type in item.OPERATORS), None)
    elif domain in {"", "ai.onnx"}:
        own = next((cls for first, last, cls in _CORRECTIONS.get(op_type, ()) if first <= opset <= last), None)
    else:
        own = None
    if own is None:
        return None
    members = {"op_domain": domain, "__module__": own.__module__, "__doc__": own.__doc__}
    # The version in the class's name says whose attributes and defaults it knows; the latest are taken without it.
    if version := re.fullmatch(rf"{op_type}_(\d+)", own.__name__):
        members["op_schema"] = defs.get_schema(op_type, int(version[1]), "")
    return type(op_type, (own,), members)
