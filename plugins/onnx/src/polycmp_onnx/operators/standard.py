"""Operators of ONNX's own domain that are replaced in its reference evaluator, and the opsets for which they are."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

import numpy as np
from onnx import defs, helper
from onnx.reference import ReferenceEvaluator

from polycmp_onnx.operators import amending
from polycmp_onnx.precision import widened_call

_EVER = 10_000
#: Operator -> (first opset, last opset, the class as `MODULE:CLASS`, imported where a model has the operator), …
_CORRECTIONS: dict[str, tuple[tuple[int, int, str], ...]] = {
    "AffineGrid": ((20, _EVER, ".sampling:AffineGrid_20"),),
    "Attention": ((23, _EVER, ".amending:Attention"),),
    "AveragePool": ((7, _EVER, ".pooling:AveragePool_19"),),
    "BatchNormalization": ((7, 13, ".normalization:BatchNormalization_9"),),
    "ConvTranspose": ((1, _EVER, ".convolving:ConvTranspose_11"),),
    "CumProd": ((26, _EVER, ".versions:CumProd_26"),),
    "CumSum": ((11, _EVER, ".versions:CumSum_11"),),
    # ONNX's own, which it refuses before opset 19
    "DequantizeLinear": ((10, 18, "onnx.reference.ops.op_dequantize_linear:DequantizeLinear_19"),),
    "Det": ((11, _EVER, ".versions:Det_11"),),
    "Div": ((7, _EVER, ".versions:Div_7"),),
    "Dropout": ((7, 9, ".versions:Dropout_7"),),
    "Flatten": ((1, _EVER, ".versions:Flatten_1"),),
    "GRU": ((7, _EVER, ".recurrent:GRU_14"),),
    "GatherElements": ((11, _EVER, ".control:GatherElements_11"),),
    "GlobalLpPool": ((2, _EVER, ".pooling:GlobalLpPool_2"),),
    "GlobalMaxPool": ((1, _EVER, ".pooling:GlobalMaxPool_1"),),
    "GridSample": ((16, _EVER, ".sampling:GridSample_16"),),
    "Hardmax": ((1, 12, ".softmax:Hardmax_11"),),
    "LRN": ((1, _EVER, ".normalization:LRN_1"),),
    "LSTM": ((7, _EVER, ".recurrent:LSTM_14"),),
    "LayerNormalization": (
        (1, _EVER, ".normalization:LayerNormalization_17"),
    ),  # ONNX Runtime writes it before opset 17, too
    "LogSoftmax": ((1, 12, ".softmax:LogSoftmax_11"), (13, _EVER, ".softmax:LogSoftmax_13")),
    "Loop": ((1, _EVER, ".control:Loop_1"),),
    "LpNormalization": ((1, _EVER, ".normalization:LpNormalization_1"),),
    "LpPool": ((1, _EVER, ".pooling:LpPool_1"),),
    "MatMulInteger": ((10, _EVER, ".convolving:MatMulInteger_10"),),
    "MaxPool": ((1, _EVER, ".pooling:MaxPool_12"),),
    "MaxRoiPool": ((1, _EVER, ".sampling:MaxRoiPool_1"),),
    "Mean": ((6, _EVER, ".reducing:Mean_8"),),
    "MeanVarianceNormalization": ((9, _EVER, ".normalization:MeanVarianceNormalization_9"),),
    "NegativeLogLikelihoodLoss": (
        (12, 21, ".reducing:NegativeLogLikelihoodLoss_12"),
        (22, _EVER, ".reducing:NegativeLogLikelihoodLoss_22"),
    ),
    "NonMaxSuppression": ((10, _EVER, ".versions:NonMaxSuppression_10"),),
    "OneHot": ((9, 10, ".versions:OneHot_9"), (11, _EVER, ".versions:OneHot_11")),
    "OptionalHasElement": ((15, _EVER, ".control:OptionalHasElement_15"),),
    "Pad": ((2, 10, ".resizing:Pad_2"), (11, _EVER, ".resizing:Pad_18")),
    "QLinearConv": ((10, _EVER, ".convolving:QLinearConv_10"),),
    "QLinearMatMul": ((10, _EVER, ".convolving:QLinearMatMul_10"),),
    "QuantizeLinear": ((10, _EVER, ".amending:QuantizeLinear"),),
    "RMSNormalization": ((23, _EVER, ".normalization:RMSNormalization_23"),),
    "RNN": ((7, _EVER, ".recurrent:RNN_14"),),
    "ReduceLogSum": ((1, 17, ".reducing:ReduceLogSum_1"), (18, _EVER, ".reducing:ReduceLogSum_18")),
    "ReduceLogSumExp": ((1, 17, ".reducing:ReduceLogSumExp_1"), (18, _EVER, ".reducing:ReduceLogSumExp_18")),
    "ReduceSumSquare": ((1, 17, ".reducing:ReduceSumSquare_1"), (18, _EVER, ".reducing:ReduceSumSquare_18")),
    "Resize": ((10, 10, ".versions:Resize_10"), (11, _EVER, ".resizing:Resize_19")),
    "RoiAlign": ((10, 15, ".versions:RoiAlign_10"),),
    "STFT": ((17, _EVER, ".versions:STFT_17"),),
    "Scan": ((8, 8, ".scanning:Scan_8"), (9, _EVER, ".scanning:Scan_9")),
    "Scatter": ((9, 10, ".control:Scatter_9"),),
    "Shape": ((15, _EVER, ".versions:Shape_15"),),
    "Softmax": ((1, 12, ".softmax:Softmax_11"),),
    "Softsign": ((1, _EVER, ".versions:Softsign_1"),),
    "Squeeze": ((1, 12, ".versions:Squeeze_11"),),
    "StringNormalizer": ((10, _EVER, ".versions:StringNormalizer_10"),),
    "TfIdfVectorizer": ((9, _EVER, ".versions:TfIdfVectorizer_9"),),
    "Unique": ((11, _EVER, ".versions:Unique_11"),),
    "Unsqueeze": ((1, 12, ".versions:Unsqueeze_11"),),
    "Upsample": ((7, 8, ".versions:Upsample_7"), (9, 9, ".versions:Upsample_9")),
}


def standard(op_type: str, opset: int) -> type[Any] | None:
    """Return the class to use instead of ONNX's own for an operator, or None if ONNX's is right.

    Args:
        op_type: The operator.
        opset: The version of ONNX's domain that the model imports.
    """
    if not defs.has(op_type, ""):
        return None  # this release of ONNX does not know it, and says so
    named_by = next((name for first, last, name in _CORRECTIONS.get(op_type, ()) if first <= opset <= last), "")
    if not named_by:
        return None
    module, _, attribute = named_by.partition(":")
    corrected: type[Any] = getattr(import_module(module, __package__), attribute)
    return amending.amended(corrected, op_type, opset) if issubclass(corrected, amending.Amendment) else corrected


def named(cls: type[Any], domain: str, op_type: str) -> type[Any]:
    """Return a class under the name of its operator, as the evaluator's `new_ops` takes it."""
    members = {"op_domain": domain, "__module__": cls.__module__, "__doc__": cls.__doc__}
    # The version in the class's name says whose attributes and defaults it knows; the latest are taken without it.
    if version := re.fullmatch(rf"{op_type}_(\d+)", cls.__name__):
        members["op_schema"] = defs.get_schema(op_type, int(version[1]), "")
    return type(op_type, (cls,), members)


def run_standard(op_type: str, *arrays: Any, opset: int = 17, **attributes: Any) -> Any:
    """Run an operator of ONNX's own domain alone, for operators that are made of it.

    Args:
        op_type: The operator.
        arrays: Inputs of the operator; None where an optional one is left out.
        opset: The version.
        attributes: Attributes of the operator.
    """
    names = ["" if array is None else f"i{place}" for place, array in enumerate(arrays)]
    graph = helper.make_graph(
        [helper.make_node(op_type, names, ["y"], **attributes)],
        op_type,
        [helper.make_empty_tensor_value_info(name) for name in names if name],
        [helper.make_empty_tensor_value_info("y")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    correction = standard(op_type, opset)
    [node] = ReferenceEvaluator(model, new_ops=[named(correction, "", op_type)] if correction else []).rt_nodes_
    return widened_call(node, [None if array is None else np.asarray(array) for array in arrays], {})[0]
