"""Operators of LiteRT by what ONNX calls the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class Activation(NamedTuple):
    """An activation that operators do after their own work.

    Attributes:
        kind: Type, by ONNX's name.
        builtin: Number of the operator that does it alone.
    """

    kind: str
    builtin: int


#: By the schema's number of the activation.
ACTIVATIONS: Mapping[int, Activation] = {
    1: Activation("Relu", 19), 2: Activation("Clip", 20), 3: Activation("Clip", 21), 4: Activation("Tanh", 28),
}  # fmt: skip
#: Operators whose names differ from ONNX's by more than spelling.
_TYPES: Mapping[str, str] = {
    "CONV_2D": "Conv", "DEPTHWISE_CONV_2D": "Conv", "CONV_3D": "Conv", "TRANSPOSE_CONV": "ConvTranspose",
    "FULLY_CONNECTED": "Gemm", "BATCH_MATMUL": "MatMul", "AVERAGE_POOL_2D": "AveragePool", "MAX_POOL_2D": "MaxPool",
    "MEAN": "ReduceMean", "SUM": "ReduceSum", "REDUCE_MAX": "ReduceMax", "REDUCE_MIN": "ReduceMin",
    "LOGISTIC": "Sigmoid", "RELU6": "Clip", "RELU_N1_TO_1": "Clip", "CONCATENATION": "Concat",
    "HARD_SWISH": "HardSwish",
    "MAXIMUM": "Max", "MINIMUM": "Min", "SELECT": "Where", "SELECT_V2": "Where", "EXPAND_DIMS": "Unsqueeze",
    "STRIDED_SLICE": "Slice", "PADV2": "Pad", "MIRROR_PAD": "Pad", "BROADCAST_TO": "Expand", "LEAKY_RELU": "LeakyRelu",
    "PRELU": "PRelu", "QUANTIZE": "Identity", "DEQUANTIZE": "Identity", "SQUARED_DIFFERENCE": "SquaredDifference",
    "RESIZE_BILINEAR": "Resize", "RESIZE_NEAREST_NEIGHBOR": "Resize", "GREATER_EQUAL": "GreaterOrEqual",
    "LESS_EQUAL": "LessOrEqual", "LOGICAL_AND": "And", "LOGICAL_OR": "Or", "LOGICAL_NOT": "Not", "CUMSUM": "CumSum",
    "LOG_SOFTMAX": "LogSoftmax", "DEPTH_TO_SPACE": "DepthToSpace", "SPACE_TO_DEPTH": "SpaceToDepth",
    "GATHER_ND": "GatherND",
}  # fmt: skip


def type_of(code: Any) -> str:
    """Return the type of an operator, by ONNX's name where there is one.

    Args:
        code: The operator's code, as the schema has it.
    """
    from polycmp_tf.lite import import_schema

    builtins = vars(import_schema().BuiltinOperator).items()
    names = {value: name for name, value in builtins if isinstance(value, int)}
    name = names.get(max(code.builtinCode or 0, code.deprecatedBuiltinCode or 0), "CUSTOM")
    if name == "CUSTOM" and code.customCode:
        return (
            code.customCode.decode("utf-8", "replace") if isinstance(code.customCode, bytes) else str(code.customCode)
        )
    return _TYPES.get(name) or "".join(word.capitalize() for word in name.split("_"))
