"""Kinds of operators, by how they round."""

from __future__ import annotations

#: Operators that treat each element for itself, with an error relative to that element (Higham, section 2.2).
ELEMENTWISE = frozenset(
    {"Add", "Sub", "Mul", "Div", "Where", "Cast", "Identity", "Neg", "Max", "Min", "Clip", "Reshape", "Transpose",
     "Unsqueeze", "Squeeze", "Expand", "Concat", "Slice", "Gather"}
)  # fmt: skip
#: Operators that only choose or move values: they round nothing themselves.
SELECTING = frozenset(
    {"Relu", "MaxPool", "GlobalMaxPool", "Reshape", "Transpose", "Identity", "Concat", "Slice", "Gather", "Squeeze",
     "Unsqueeze", "Expand", "Flatten", "Split", "Pad", "Clip", "Max", "Min", "Where", "Neg", "Abs", "Tile"}
)  # fmt: skip
#: Operators whose result IEEE 754-2019 (section 5.4) defines as the exact one, rounded once.
ROUNDED_ONCE = frozenset({"Add", "Sub", "Mul", "Div", "Sqrt", "Cast"})
#: Operators that multiply 8-bit numbers exactly, where a kernel may add products in too few bits.
INTEGER_PRODUCTS = frozenset({"MatMulInteger", "ConvInteger", "QLinearConv", "QLinearMatMul", "QGemm"})
#: Operators that divide many elements by the same number, which is rounded once: a sum in a coarse type makes it wrong
#: for all of them alike.
NORMALISING = frozenset(
    {"Softmax", "LogSoftmax", "BiasSoftmax", "LayerNormalization", "SkipLayerNormalization", "RMSNormalization",
     "SimplifiedLayerNormalization", "SkipSimplifiedLayerNormalization", "EmbedLayerNormalization", "LpNormalization",
     "InstanceNormalization", "GroupNormalization", "MeanVarianceNormalization", "LRN", "Attention",
     "MultiHeadAttention", "GroupQueryAttention"}
)  # fmt: skip
#: Operators whose results lie between 0 and 1 and are read beside numbers of that size: approximations are as exact as
#: that needs. 2**-6, since OPERATOR_MARGIN roundings of one operator (2**-18 in float32) of it are the unit roundoff of
#: 1. Of Sigmoid four times as much: measured on two million numbers from -30 to 30, ONNX Runtime's is off by up to 2.8
#: units (1.7e-7), however small the result is.
READ_BESIDE_ONE = {"Sigmoid": 2.0**-4, "HardSigmoid": 2.0**-6, "Softmax": 2.0**-6}
#: Operators that add up what they read without weights: the sum of the magnitudes is the same operator of them.
SUMMING = frozenset({"AveragePool", "GlobalAveragePool", "ReduceMean", "ReduceSum"})
#: Operators that calculate, round that to steps and go on with it: rounding decides ties inside. Where all that is
#: rounded is what an operator reads, as by Round, both sides have it to the last bit.
ROUNDING_INSIDE = frozenset({"DynamicQuantizeLSTM", "DynamicQuantizeMatMul"})
