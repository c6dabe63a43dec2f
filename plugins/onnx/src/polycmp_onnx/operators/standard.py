"""Operators of ONNX's own domain that are replaced in its reference evaluator, and the opsets for which they are."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from onnx import defs, helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.ops.op_dequantize_linear import DequantizeLinear_19

from polycmp_onnx.operators import amending
from polycmp_onnx.operators.control import GatherElements_11, Loop_1, OptionalHasElement_15, Scatter_9
from polycmp_onnx.operators.convolving import ConvTranspose_11, MatMulInteger_10, QLinearConv_10, QLinearMatMul_10
from polycmp_onnx.operators.normalization import (
    LRN_1,
    BatchNormalization_9,
    LayerNormalization_17,
    LpNormalization_1,
    MeanVarianceNormalization_9,
    RMSNormalization_23,
)
from polycmp_onnx.operators.pooling import AveragePool_19, GlobalLpPool_2, GlobalMaxPool_1, LpPool_1, MaxPool_12
from polycmp_onnx.operators.recurrent import GRU_14, LSTM_14, RNN_14
from polycmp_onnx.operators.reducing import (
    Mean_8,
    NegativeLogLikelihoodLoss_12,
    NegativeLogLikelihoodLoss_22,
    ReduceLogSum_1,
    ReduceLogSum_18,
    ReduceLogSumExp_1,
    ReduceLogSumExp_18,
    ReduceSumSquare_1,
    ReduceSumSquare_18,
)
from polycmp_onnx.operators.resizing import Pad_2, Pad_18, Resize_19
from polycmp_onnx.operators.sampling import AffineGrid_20, GridSample_16, MaxRoiPool_1
from polycmp_onnx.operators.scanning import Scan_8, Scan_9
from polycmp_onnx.operators.softmax import Hardmax_11, LogSoftmax_11, LogSoftmax_13, Softmax_11
from polycmp_onnx.operators.versions import (
    STFT_17,
    CumProd_26,
    CumSum_11,
    Det_11,
    Dropout_7,
    Flatten_1,
    NonMaxSuppression_10,
    OneHot_9,
    OneHot_11,
    Resize_10,
    RoiAlign_10,
    Shape_15,
    Softsign_1,
    Squeeze_11,
    StringNormalizer_10,
    TfIdfVectorizer_9,
    Unique_11,
    Unsqueeze_11,
    Upsample_7,
    Upsample_9,
)
from polycmp_onnx.precision import widened_call

_EVER = 10_000
#: Operator -> (first opset, last opset, class), …
_CORRECTIONS: dict[str, tuple[tuple[int, int, type[Any]], ...]] = {
    "AffineGrid": ((20, _EVER, AffineGrid_20),),
    "Attention": ((23, _EVER, amending.Attention),),
    "AveragePool": ((7, _EVER, AveragePool_19),),
    "BatchNormalization": ((7, 13, BatchNormalization_9),),
    "ConvTranspose": ((1, _EVER, ConvTranspose_11),),
    "CumProd": ((26, _EVER, CumProd_26),),
    "CumSum": ((11, _EVER, CumSum_11),),
    "DequantizeLinear": ((10, 18, DequantizeLinear_19),),  # ONNX's own, which it refuses before opset 19
    "Det": ((11, _EVER, Det_11),),
    "Dropout": ((7, 9, Dropout_7),),
    "Flatten": ((1, _EVER, Flatten_1),),
    "GRU": ((7, _EVER, GRU_14),),
    "GatherElements": ((11, _EVER, GatherElements_11),),
    "GlobalLpPool": ((2, _EVER, GlobalLpPool_2),),
    "GlobalMaxPool": ((1, _EVER, GlobalMaxPool_1),),
    "GridSample": ((16, _EVER, GridSample_16),),
    "Hardmax": ((1, 12, Hardmax_11),),
    "LRN": ((1, _EVER, LRN_1),),
    "LSTM": ((7, _EVER, LSTM_14),),
    "LayerNormalization": ((1, _EVER, LayerNormalization_17),),  # ONNX Runtime writes it before opset 17, too
    "LogSoftmax": ((1, 12, LogSoftmax_11), (13, _EVER, LogSoftmax_13)),
    "Loop": ((1, _EVER, Loop_1),),
    "LpNormalization": ((1, _EVER, LpNormalization_1),),
    "LpPool": ((1, _EVER, LpPool_1),),
    "MatMulInteger": ((10, _EVER, MatMulInteger_10),),
    "MaxPool": ((1, _EVER, MaxPool_12),),
    "MaxRoiPool": ((1, _EVER, MaxRoiPool_1),),
    "Mean": ((6, _EVER, Mean_8),),
    "MeanVarianceNormalization": ((9, _EVER, MeanVarianceNormalization_9),),
    "NegativeLogLikelihoodLoss": ((12, 21, NegativeLogLikelihoodLoss_12), (22, _EVER, NegativeLogLikelihoodLoss_22)),
    "NonMaxSuppression": ((10, _EVER, NonMaxSuppression_10),),
    "OneHot": ((9, 10, OneHot_9), (11, _EVER, OneHot_11)),
    "OptionalHasElement": ((15, _EVER, OptionalHasElement_15),),
    "Pad": ((2, 10, Pad_2), (11, _EVER, Pad_18)),
    "QLinearConv": ((10, _EVER, QLinearConv_10),),
    "QLinearMatMul": ((10, _EVER, QLinearMatMul_10),),
    "QuantizeLinear": ((10, _EVER, amending.QuantizeLinear),),
    "RMSNormalization": ((23, _EVER, RMSNormalization_23),),
    "RNN": ((7, _EVER, RNN_14),),
    "ReduceLogSum": ((1, 17, ReduceLogSum_1), (18, _EVER, ReduceLogSum_18)),
    "ReduceLogSumExp": ((1, 17, ReduceLogSumExp_1), (18, _EVER, ReduceLogSumExp_18)),
    "ReduceSumSquare": ((1, 17, ReduceSumSquare_1), (18, _EVER, ReduceSumSquare_18)),
    "Resize": ((10, 10, Resize_10), (11, _EVER, Resize_19)),
    "RoiAlign": ((10, 15, RoiAlign_10),),
    "STFT": ((17, _EVER, STFT_17),),
    "Scan": ((8, 8, Scan_8), (9, _EVER, Scan_9)),
    "Scatter": ((9, 10, Scatter_9),),
    "Shape": ((15, _EVER, Shape_15),),
    "Softmax": ((1, 12, Softmax_11),),
    "Softsign": ((1, _EVER, Softsign_1),),
    "Squeeze": ((1, 12, Squeeze_11),),
    "StringNormalizer": ((10, _EVER, StringNormalizer_10),),
    "TfIdfVectorizer": ((9, _EVER, TfIdfVectorizer_9),),
    "Unique": ((11, _EVER, Unique_11),),
    "Unsqueeze": ((1, 12, Unsqueeze_11),),
    "Upsample": ((7, 8, Upsample_7), (9, 9, Upsample_9)),
}


def standard(op_type: str, opset: int) -> type[Any] | None:
    """Return the class to use instead of ONNX's own for an operator, or None if ONNX's is right.

    Args:
        op_type: The operator.
        opset: The version of ONNX's domain that the model imports.
    """
    if not defs.has(op_type, ""):
        return None  # this release of ONNX does not know it, and says so
    corrected = next((cls for first, last, cls in _CORRECTIONS.get(op_type, ()) if first <= opset <= last), None)
    if corrected is not None and issubclass(corrected, amending.Amendment):
        return amending.amended(corrected, op_type, opset)
    return corrected


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
    own = standard(op_type, opset)
    [node] = ReferenceEvaluator(model, new_ops=[named(own, "", op_type)] if own else []).rt_nodes_
    return widened_call(node, [None if array is None else np.asarray(array) for array in arrays], {})[0]
