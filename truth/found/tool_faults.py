"""Faults of tools and engines that public issues led to, replayed for the first time."""

from __future__ import annotations

from truth.found.fault import Fault

TOOL_FAULTS: tuple[Fault, ...] = (
    Fault("A Reshape behind a Reshape, onnxoptimizer", "onnxoptimizer", "leaves out the first", 13,
          "g (float[2,3,4] x) => (float[a,b] y) <int64[2] s = {6, 4}, int64[2] t = {0, -1}> "
          "{ r = Reshape(x, s) y = Reshape(r, t) }",
          "{'x': np.zeros((2, 3, 4), np.float32)}", "[6, 4]",
          "Reshape: for 0 “the actual dimension value is unchanged (i.e. taken from the input tensor)”, 6 here",
          shown="{run}.shape"),
    Fault("Zeros of both signs, onnxoptimizer", "onnxoptimizer", "makes one of two constants", 13,
          "g (float[1] x) => (float[1] y) <float[1] zero = {0.0}, float[1] other = {-0.0}> "
          "{ p = Div(x, zero) q = Div(x, other) l = Less(q, p) y = Cast<to = 1>(l) }",
          "{'x': np.float32([1])}", "[1]", "IEEE 754, 7.3: 1 / 0 is infinite, and 1 / −0 infinite of the other sign"),
    Fault("quantize_dynamic by channels of three dimensions", "onnxruntime, quantize_dynamic",
          "writes a file that does not run", 17,
          "g (float[1,1,2] x) => (float[1,1,2] y) <float[1,2,2] w = {1, 0, 0, 1}> { y = MatMul(x, w) }",
          "{'x': np.float32([[[2, 3]]])}", "[[[2, 3]]]", "MatMul with ones on the diagonal, within a step of 8 bits",
          shown="np.rint({run})"),
    Fault("A bias of two convolutions, quantised", "onnxruntime, quantize_static",
          "gives a copy of it the name of a tensor, which is lost", 17,
          "g (float[1,1,1,2] x) => (float[1,1,1,2] y) <float[1,1,1,1] w = {1}, float[1,1,1,1] v = {1}, "
          "float[1] b = {0}> { c = Conv(x, w, b) b0 = Conv(c, v, b) y = Neg(b0) }",
          "{'x': np.float32([[[[2, -2]]]])}", "[[[[-2, 2]]]]", "x · 1 + 0 twice, and Neg", shown="np.rint({run})"),
    Fault("LayerNormalization without an epsilon, onnxruntime.transformers", "onnxruntime, transformers",
          "takes 1e-12 for it, where it makes SkipLayerNormalization of it", 17,
          "g (float[1,1,2] x, float[1,1,2] s) => (float[1,1,2] y) <float[2] one = {1, 1}, float[2] zero = {0, 0}> "
          "{ h = Add(x, s) y = LayerNormalization<axis = -1>(h, one, zero) }",
          "{'x': np.float32([[[0.001, -0.001]]]), 's': np.zeros((1, 1, 2), np.float32)}", "[[[0.30151, -0.30151]]]",
          "LayerNormalization: the default of epsilon is 1e-05, and 0.001 / sqrt(1e-06 + 1e-05) is 0.30151"),
    Fault("BatchNormalization of a constant, MNN", "MNN", "takes 1e-10 for epsilon, where the file leaves it out", 15,
          "g (float[1,1,1,1] x) => (float[1,1,1,1] y) <float[1] s = {1}, float[1] o = {0}> "
          "{ y = BatchNormalization(x, s, o, o, o) }",
          "{'x': np.ones((1, 1, 1, 1), np.float32)}", "[[[[316.2278]]]]",
          "BatchNormalization: the default of epsilon is 1e-05, and 1 / sqrt(0 + 1e-05) is 316.2"),
    Fault("Less of two negative numbers, MNN", "MNN", "turns it round", 13,
          "g (float[2] x, float[2] z) => (float[2] y) { l = Less(x, z) y = Cast<to = 1>(l) }",
          "{'x': np.float32([-2, -1]), 'z': np.float32([-1, -2])}", "[1, 0]", "−2 is less than −1"),
    Fault("AveragePool without strides, MNN", "MNN", "ends the process", 13,
          "g (float[1,1,2,2] x) => (float[1,1,1,1] y) { y = AveragePool<kernel_shape = [2, 2]>(x) }",
          "{'x': np.float32([[[[1, 2], [3, 6]]]])}", "[[[[3]]]]",
          "AveragePool: “If not present, the stride defaults to 1 along each spatial axis”"),
    Fault("GridSample that reflects, MNN", "MNN", "takes the border", 16,
          'g (float[1,1,1,3] x, float[1,1,1,2] at) => (float[1,1,1,1] y) { y = GridSample<padding_mode = "reflection", '
          "align_corners = 1>(x, at) }",
          "{'x': np.float32([[[[1, 2, 4]]]]), 'at': np.float32([[[[2, 0]]]])}", "[[[[2]]]]",
          "GridSample: “use values at locations reflected by the border”: 2 is reflected at 1 to 0, the middle"),
)  # fmt: skip
