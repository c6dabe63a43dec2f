"""Faults of compilers, seen over the one-node models of the package onnx."""

from __future__ import annotations

from truth.found.fault import Fault

_TVM, _IREE = "apache-tvm", "iree-base-compiler"

COMPILER_FAULTS: tuple[Fault, ...] = (
    Fault("Zero in FLOAT8E4M3FN, TVM", _TVM, "gives the smallest normal number", 19,
          "g (float[2] x) => (float[2] y) { c = Cast<to = 17>(x) y = Cast<to = 1>(c) }",
          "{'x': np.float32([0, 1])}", "[0, 1]", "Float8 formats: S.0000.000 is zero in E4M3FN"),
    Fault("NaN in FLOAT8E5M2, TVM", _TVM, "gives a number", 19,
          "g (float[2] x) => (float[2] y) { c = Cast<to = 19>(x) y = Cast<to = 1>(c) }",
          "{'x': np.float32([np.nan, 1])}", "[np.nan, 1]", "Cast to 8-bit floats: NaN is NaN in E5M2"),
    Fault("The mean of LayerNormalization, TVM", _TVM, "gives a number without a shape", 17,
          "g (float[2,2] x) => (float[2,1] m) <float[2] s = {1, 1}> { y, m = LayerNormalization(x, s) }",
          "{'x': np.float32([[1, 3], [2, 6]])}", "[[2], [4]]",
          "LayerNormalization: Mean = ReduceMean<axes=normalized_axes>(X)"),
    Fault("IsInf of one sign, TVM", _TVM, "takes both", 10,
          "g (float[2] x) => (float[2] y) { i = IsInf<detect_negative = 0>(x) y = Cast<to = 1>(i) }",
          "{'x': np.float32([np.inf, -np.inf])}", "[1, 0]",
          "IsInf: with detect_negative = 0 “negative infinity” is false"),
    Fault("ConvTranspose with output_shape, TVM", _TVM, "leaves it out", 11,
          "g (float[1,1,1,2] x) => (float[1,1,1,5] y) <float[1,1,1,2] w = {1, 1}> "
          "{ y = ConvTranspose<strides = [1, 2], output_shape = [1, 5]>(x, w) }",
          "{'x': np.float32([[[[1, 2]]]])}", "[[[[1, 1, 2, 2, 0]]]]",
          "ConvTranspose: output_shape is given, and pads follow from it: a fifth column, of 0"),
    Fault("Expand to a length of 1, TVM", _TVM, "makes the axis shorter", 13,
          "g (float[3,1] x, int64[2] s) => (float[a,b] y) { y = Expand(x, s) }",
          "{'x': np.zeros((3, 1), np.float32), 's': np.int64([1, 2])}", "[3, 2]",
          "Expand: broadcasting as of NumPy: where shape is 1, the length stays", shown="{run}.shape"),
    Fault("NonMaxSuppression with counts from inputs, TVM", _TVM, "finds no box", 11,
          "g (float[1,1,4] b, float[1,1,1] s, int64[1] n) => (int64[a,3] y) { y = NonMaxSuppression(b, s, n) }",
          "{'b': np.float32([[[0, 0, 1, 1]]]), 's': np.float32([[[0.9]]]), 'n': np.int64([1])}", "[[0, 0, 0]]",
          "NonMaxSuppression: the one box, whose score is the highest, is selected"),
    Fault("Det of a matrix whose rows change places, IREE", _IREE, "gives NaN", 11,
          "g (float[2,2] x) => (float y) { y = Det(x) }", "{'x': np.float32([[0, 1], [2, 3]])}", "-2",
          "Det: 0 · 3 − 1 · 2"),
    Fault("LSTM with peepholes, IREE", _IREE, "leaves them out", 14,
          "g (float[2,1,1] x) => (float[2,1,1,1] y) <float[1,4,1] w = {1, 1, 1, 1}, float[1,4,1] r = {0, 0, 0, 0}, "
          "float[1,8] b = {0, 0, 0, 0, 0, 0, 0, 0}, int32[1] n = {2}, float[1,1,1] h = {0}, float[1,1,1] c = {1}, "
          "float[1,3] p = {1, 1, 1}> { y = LSTM<hidden_size = 1>(x, w, r, b, n, h, c, p) }",
          "{'x': np.float32([[[1]], [[1]]])}", "[[[[0.847947]]], [[[0.93287]]]]",
          "LSTM: it = f(Xt*(Wi^T) + Ht-1*(Ri^T) + Pi (.) Ct-1 + Wbi + Rbi), and so on, worked out in float64"),
)  # fmt: skip
