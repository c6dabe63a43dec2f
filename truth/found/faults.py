"""The faults."""

from __future__ import annotations

from truth.found.fault import Fault

_FLAT = (
    "{op}-11: “input will be coerced into a 2-dimensional tensor with dimensions [a_0 * ... * a_{{k-1}}, a_k * ... * "
    "a_{{n-1}}]”, where k is axis: here one row of four"
)
_NORM = (
    "BatchNormalization before version 14, inference: (x − mean) / sqrt(var + epsilon) · scale + B, with the mean given"
)
_RNN = (
    "{op}-14: sequence_lens is an “Optional tensor specifying lengths of the sequences in a batch”, and Y_h “The last "
    "output value of the hidden”: that of the first step, where the length is 1"
)
_CLIP = (
    "{op}-14: “Clipping bounds the elements of a tensor in the range of [-threshold, +threshold] and is applied to the "
    "input of activations”: each is given 0.1"
)
_ACTS = "{op}-14: activations are the functions f, g (and h) of the formulas, Relu among them; f is the first"
_STASH = (
    "{op}: “if stash_type is 1, this operator casts all input variables to 32-bit float, perform the computation”; "
    "1 is the default"
)


def _recurrent(op: str, gates: int) -> tuple[str, str]:
    """Return a graph of one cell with a place for attributes and one for inputs, and its inputs."""
    graph = (
        f"g (float[2,1,1] x, float[1,{gates},1] w, float[1,{gates},1] r, int32[1] n) => (float[2,1,1,1] y) "
        f"{{ y = {op}<hidden_size = 1ATTRIBUTES>(x, w, rMORE) }}"
    )
    ones = f"np.ones((1, {gates}, 1), np.float32)"
    feeds = f"dict(x=np.ones((2, 1, 1), np.float32), w={ones}, r={ones}, n=np.int32([1]))"
    return graph, feeds


def _of_cell(op: str, gates: int, attributes: str, more: str) -> tuple[str, str]:
    graph, feeds = _recurrent(op, gates)
    return graph.replace("ATTRIBUTES", attributes).replace("MORE", more), feeds


def _cells() -> list[Fault]:
    first = {
        "LSTM": "sigmoid(1) * np.tanh(sigmoid(1) * np.tanh(1))",
        "GRU": "(1 - sigmoid(1)) * np.tanh(1)",
        "RNN": "np.tanh(1)",
    }
    # Every gate is given 0.1; the cell of LSTM, and the state of GRU, add up over both steps.
    cell = "sigmoid(0.1) * np.tanh(0.1)"
    state = "(1 - sigmoid(0.1)) * np.tanh(0.1)"
    clipped = {
        "LSTM": f"[[[[sigmoid(0.1) * np.tanh({cell})]]], [[[sigmoid(0.1) * np.tanh({cell} * (1 + sigmoid(0.1)))]]]]",
        "GRU": f"[[[[{state}]]], [[[{state} * (1 + sigmoid(0.1))]]]]",
        "RNN": "np.full((2, 1, 1, 1), np.tanh(0.1))",
    }
    found = []
    for op, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
        graph, feeds = _of_cell(op, gates, "", ', "", n')
        graph = graph.replace("(float[2,1,1,1] y)", "(float[1,1,1] y)").replace("{ y =", "{ all, y =")
        found.append(
            Fault(f"{op} with lengths", "onnx", "goes on behind the end of a sequence", 14, graph, feeds,
                  f"[[[{first[op]}]]]", _RNN.format(op=op))
        )  # fmt: skip
        graph, feeds = _of_cell(op, gates, ", clip = 0.1", "")
        found.append(
            Fault(f"{op} with clip", "onnx", "ignores clip", 14, graph, feeds, clipped[op], _CLIP.format(op=op))
        )
    graph, feeds = _of_cell("RNN", 1, ', activations = ["Relu"]', "")
    found.append(
        Fault("RNN with Relu", "onnx", "knows no Relu", 14, graph, feeds, "[[[[1]]], [[[2]]]]", _ACTS.format(op="RNN"))
    )
    graph, feeds = _of_cell("GRU", 3, ', activations = ["Relu", "Tanh"]', "")
    found.append(
        Fault("GRU with Relu", "onnx", "ignores activations", 14, graph, feeds, "[[[[0]]], [[[0]]]]",
              _ACTS.format(op="GRU") + "; the update gate is Relu(1) = 1, so that the state stays 0")
    )  # fmt: skip
    graph, feeds = _of_cell("LSTM", 4, ', activations = ["Relu", "Tanh", "Tanh"]', "")
    found.append(
        Fault("LSTM with Relu", "onnx", "ignores activations", 14, graph, feeds,
              "[[[[np.tanh(np.tanh(1))]]], [[[1.62927]]]]",
              _ACTS.format(op="LSTM") + "; all gates are Relu(1) = 1 at first, and the cell is tanh(1)")
    )  # fmt: skip
    return found


_BATCH = (
    "g (float[2,1] x, float[1] s, float[1] b, float[1] m, float[1] v) => (float[2,1] y) "
    "{ y = BatchNormalization(x, s, b, m, v) }"
)
_BATCH_FEEDS = "{name: np.float32(value) for name, value in dict(x=[[1], [3]], s=[1], b=[0], m=[0], v=[1]).items()}"
_LOOP = (
    "g (float[2] x) => (float[2] last, float[3,2] every) { n = Constant<value = int64 {3}>() "
    "last, every = Loop <body = b (int64 i, bool c, float[2] s) => (bool d, float[2] t, float[2] u) "
    '{ d = Identity(c) t = Add(s, x) u = Identity(t) }> (n, "", x) }'
)

_OUT_OF_RANGE = "Cast: “floating point: +/- infinity if OOR (out of range)”; infinity is in every such type"
_SATURATE = (
    "Cast: saturate “is true by default”; what is beyond FLT_MAX, for {} {}, becomes FLT_MAX in the standard's table"
)
_AXES = "{}: “Computes the {} of the input tensor's elements along the provided axes”"
_EMPTY = "{}: “Reduction over an empty set of values yields {} (if supported by the datatype)”"
_NUMPY = (
    "{}: “The above behavior is similar to numpy”, whose {} of what holds NaN is NaN; so it is here if NaN comes first"
)


def _reduced(operator: str, values: str, expected: str) -> Fault:
    return Fault(
        f"{operator} along one axis, opset 13", "openvino", "reduces over all axes", 13,
        f"g (float[2,3] x) => (float[2,1] y) {{ y = {operator}<axes = [1]>(x) }}",
        "{'x': np.float32([[1, 2, 3], [4, 5, 6]])}", expected, _AXES.format(operator, values),
    )  # fmt: skip


def _of_none(operator: str, word: str, expected: str) -> Fault:
    return Fault(
        f"{operator} of nothing", "openvino", "gives the largest number in place of infinity", 18,
        f"g (float[2,0] x) => (float[2,1] y) {{ a = Constant<value_ints = [1]>() y = {operator}(x, a) }}",
        "{'x': np.zeros((2, 0), np.float32)}", expected, _EMPTY.format(operator, word),
    )  # fmt: skip


def _cast(name: str, source: str, target: str, code: int) -> Fault:
    kind = {"float": "float32", "double": "float64"}[source]
    return Fault(
        name, "openvino", "gives the largest number of float32", 13,
        f"g ({source}[2] x) => ({target}[2] y) {{ y = Cast<to = {code}>(x) }}",
        f"{{'x': np.{kind}([np.inf, -np.inf])}}",
        "[np.inf, -np.inf]", _OUT_OF_RANGE,
    )  # fmt: skip


def _float8(kind: str, code: int, largest: int) -> Fault:
    return Fault(
        f"Cast to {kind}", "openvino", "does not saturate", 19,
        f"g (float[2] x) => (float[2] y) {{ z = Cast<to = {code}>(x) y = Cast<to = 1>(z) }}",
        "{'x': np.float32([1e6, -1e6])}", f"[{largest}, -{largest}]", _SATURATE.format(kind, largest),
    )  # fmt: skip


def _shift(direction: str, numbers: str, amounts: str, expected: str, what: str, why: str) -> Fault:
    return Fault(
        f"BitShift to the {direction.lower()}", "openvino", what, 11,
        f'g (uint8[2] x, uint8[2] s) => (uint8[2] y) {{ y = BitShift<direction = "{direction}">(x, s) }}',
        f"{{'x': np.uint8({numbers}), 's': np.uint8({amounts})}}", expected, why,
    )  # fmt: skip


def _behind(operator: str, word: str) -> Fault:
    return Fault(
        f"{operator} with NaN behind a number", "onnxruntime", "drops the NaN", 18,
        f"g (float[1,3] x) => (float[1,1] y) {{ a = Constant<value_ints = [1]>() y = {operator}(x, a) }}",
        "{'x': np.float32([[1, 2, np.nan]])}", "[[np.nan]]", _NUMPY.format(operator, word),
    )  # fmt: skip


FAULTS: tuple[Fault, ...] = (
    _reduced("ReduceL1", "L1 norm", "[[6], [15]]"),
    _reduced("ReduceLogSum", "log sum", "np.log([[6], [15]])"),
    _reduced("ReduceLogSumExp", "log sum exponent", "np.log(np.exp([[1, 2, 3], [4, 5, 6]]).sum(1, keepdims=True))"),
    _of_none("ReduceMax", "minus infinity", "[[-np.inf], [-np.inf]]"),
    _of_none("ReduceMin", "plus infinity", "[[np.inf], [np.inf]]"),
    _cast("Cast of infinity to double", "float", "double", 11),
    _cast("Cast of infinity to float", "double", "float", 1),
    _float8("FLOAT8E5M2", 19, 57344),
    _float8("FLOAT8E4M3FN", 17, 448),
    _shift("LEFT", "[1, 200]", "[2, 1]", "[4, 144]", "gives 255 where a bit falls out",
           "BitShift: “bits of binary representation moves toward the left side”: 400 − 256 in eight bits"),
    _shift("RIGHT", "[255, 200]", "[8, 1]", "[0, 100]", "shifts by 8 as if by 7",
           "BitShift: “moves its binary representation toward the right side”: none is left"),
    Fault(
        "Mod by infinity", "openvino", "gives NaN", 13,
        "g (float[1] x, float[1] d) => (float[1] y) { y = Mod<fmod = 1>(x, d) }",
        "{'x': np.float32([5]), 'd': np.float32([np.inf])}", "[5]", "Mod: “If y is ±∞ and x is finite, x is returned”",
    ),
    Fault(
        "Exp of NaN", "openvino", "gives infinity", 13, "g (float[2] x) => (float[2] y) { y = Exp(x) }",
        "{'x': np.float32([np.nan, 0])}", "[np.nan, 1]", "IEEE 754: a function of a NaN is a NaN",
    ),
    Fault(
        "Softmax of a row with NaN", "openvino", "gives 0 beside the NaN", 13,
        "g (float[1,3] x) => (float[1,3] y) { y = Softmax(x) }",
        "{'x': np.float32([[1, np.nan, 2]])}", "[[np.nan] * 3]",
        "Softmax: “Exp(input) / ReduceSum(Exp(input), axis=axis, keepdims=1)”: the sum is NaN",
    ),
    Fault(
        "AveragePool of a window beyond the padding", "openvino", "divides by the whole window", 19,
        "g (float[1,1,6] x) => (float[1,1,4] y) { y = AveragePool<count_include_pad = 1, ceil_mode = 1, "
        "kernel_shape = [3], strides = [2], pads = [1, 1]>(x) }",
        "{'x': np.float32([[[1, 2, 3, 4, 5, 6]]])}", "[[[1, 3, 5, 3]]]",
        "AveragePool: count_include_pad tells “Whether include pad pixels when calculating values for the edges”: "
        "of the last window 6 and one pad pixel are there, and nothing behind it",
    ),
    Fault(
        "DFT of real numbers, one-sided", "openvino", "adds a dimension", 17,
        "g (float[1,4,1] x) => (float[1,3,2] y) { y = DFT<axis = 1, onesided = 1>(x) }",
        "{'x': np.float32([1, 2, 3, 4]).reshape(1, 4, 1)}", "[[[10, 0], [-2, 2], [-2, 0]]]",
        "DFT: of RFFT the shape is “[batch_idx][signal_dim1][signal_dim2]...[signal_dimN][2] "
        "(one-sided complex)”",
    ),
    Fault(
        "Unique in the order of the input", "openvino", "gives 0 for all but the first", 11,
        "g (float[5] x) => (float[N] y) { y = Unique<sorted = 0>(x) }",
        "{'x': np.float32([2, 1, 1, 3, 2])}", "[2, 1, 3]",
        "Unique: “in the order of the first occurrence of the values in the input”",
    ),
    Fault(
        "Unique in the order of the input, reference", "onnx", "sorts all the same", 11,
        "g (float[5] x) => (float[N] y) { y = Unique<sorted = 0>(x) }",
        "{'x': np.float32([2, 1, 1, 3, 2])}", "[2, 1, 3]",
        "Unique: “in the order of the first occurrence of the values in the input”",
    ),
    _behind("ReduceMax", "max"),
    _behind("ReduceMin", "min"),
    Fault(
        "MeanVarianceNormalization of a constant", "onnxruntime", "divides 0 by 0", 13,
        "g (float[1,1,1,3] x) => (float[1,1,1,3] y) { y = MeanVarianceNormalization(x) }",
        "{'x': np.float32([5, 5, 5]).reshape(1, 1, 1, 3)}", "[[[[0, 0, 0]]]]",
        "MeanVarianceNormalization is a function of the standard, and its body adds 1e-9 to the deviation",
    ),
    Fault(
        "Softmax of opset 11", "onnx", "takes the sum over one dimension", 11,
        "g (float[2,2] x) => (float[2,2] y) { y = Softmax<axis = 0>(x) }",
        "{'x': np.zeros((2, 2), np.float32)}", "np.full((2, 2), 1 / 4)", _FLAT.format(op="Softmax"),
    ),
    Fault(
        "LogSoftmax of opset 11", "onnx", "takes the sum over one dimension", 11,
        "g (float[2,2] x) => (float[2,2] y) { y = LogSoftmax<axis = 0>(x) }",
        "{'x': np.zeros((2, 2), np.float32)}", "np.full((2, 2), -np.log(4))", _FLAT.format(op="LogSoftmax"),
    ),
    Fault(
        "Hardmax of opset 11", "onnx", "takes the largest of one dimension", 11,
        "g (float[2,2] x) => (float[2,2] y) { y = Hardmax<axis = 0>(x) }",
        "{'x': np.float32([[1, 2], [3, 4]])}", "[[0, 0], [0, 1]]", _FLAT.format(op="Hardmax"),
    ),
    Fault(
        "LogSoftmax of distant numbers", "onnx", "takes the logarithm of 0", 13,
        "g (float[1,2] x) => (float[1,2] y) { y = LogSoftmax(x) }",
        "{'x': np.float32([[0, 1000]])}", "[[-1000, 0]]",
        "LogSoftmax: x − log(sum(exp(x))), here 0 − 1000 and 1000 − 1000",
    ),
    Fault(
        "BatchNormalization of opset 9", "onnx", "mixes the statistics of the batch in", 9,
        _BATCH, _BATCH_FEEDS, "np.array([[1], [3]]) / np.sqrt(1 + 1e-5)", _NORM,
    ),
    Fault(
        "BatchNormalization of opset 7", "onnx", "fails", 7,
        _BATCH, _BATCH_FEEDS, "np.array([[1], [3]]) / np.sqrt(1 + 1e-5)", _NORM,
    ),
    Fault(
        "LpNormalization with p = 1", "onnx", "adds signed values", 13,
        "g (float[1,2] x) => (float[1,2] y) { y = LpNormalization<p = 1>(x) }",
        "{'x': np.float32([[-1, 3]])}", "[[-1 / 4, 3 / 4]]",
        "LpNormalization: “output = input / Lp_norm(input, axis)”; the L1 norm is the sum of absolute values: 1 + 3",
    ),
    Fault(
        "LRN of one image", "onnx", "adds squares to as many channels as the batch has images", 13,
        "g (float[1,3,1,1] x) => (float[1,3,1,1] y) { y = LRN<size = 3, alpha = 3.0, beta = 1.0>(x) }",
        "{'x': np.float32([1, 2, 3]).reshape(1, 3, 1, 1)}",
        "(np.array([1, 2, 3]) / (1 + np.array([5, 14, 13]))).reshape(1, 3, 1, 1)",
        "LRN-13: x / (bias + alpha / size · square_sum) ^ beta, over the channels beside each",
    ),
    Fault(
        "MaxPool with SAME_LOWER", "onnx", "makes windows as if nothing were added in front", 12,
        'g (float[1,1,4] x) => (float[1,1,2] y) { y = MaxPool<kernel_shape = [3], strides = [2], '
        'auto_pad = "SAME_LOWER">(x) }',
        "{'x': np.float32([[[1, 2, 3, 4]]])}", "[[[2, 4]]]",
        "MaxPool: SAME_LOWER puts the one extra element in front: windows (−, 1, 2) and (2, 3, 4)",
    ),
    Fault(
        "GlobalMaxPool of a sequence", "onnx", "takes the maximum over the channels, too", 13,
        "g (float[1,2,3] x) => (float[1,2,1] y) { y = GlobalMaxPool(x) }",
        "{'x': np.float32([[[1, 2, 3], [4, 5, 6]]])}", "[[[3], [6]]]",
        "GlobalMaxPool: “The first two dimensions of output shape are the same as the input (N x C), while the other "
        "dimensions are all 1”",
    ),
    Fault(
        "GlobalMaxPool of a volume", "onnx", "adds a dimension", 13,
        "g (float[1,1,1,1,2] x) => (float[1,1,1,1,1] y) { y = GlobalMaxPool(x) }",
        "{'x': np.float32([1, 2]).reshape(1, 1, 1, 1, 2)}", "[[[[[2]]]]]",
        "GlobalMaxPool: “The output tensor has the same rank as the input”",
    ),
    Fault(
        "Loop without a condition", "onnx", "runs no iteration", 17, _LOOP,
        "{'x': np.float32([1, 1])}", "[4, 4]",
        "Loop: “input (trip_count, \"\") // Note this is analogous to a for loop”: 1 + 3 · 1",
    ),
    Fault(
        "Resize to a size that is no whole number", "onnx", "interpolates as if the output were 8.5 long", 17,
        "g (float[1,1,5] x) => (float[1,1,8] y) { e = Constant<value = float[0] {}>() "
        "s = Constant<value_floats = [1.0, 1.0, 1.7]>() "
        'y = Resize<mode = "linear", coordinate_transformation_mode = "align_corners">(x, e, s) }',
        "{'x': np.arange(5, dtype=np.float32).reshape(1, 1, 5)}", "np.linspace(0, 4, 8).reshape(1, 1, 8)",
        "Resize: “x_original = x_resized * (length_original - 1) / (length_resized - 1)”, and length_resized is "
        "floor(5 · 1.7) = 8",
    ),
    Fault(
        "Pad by less than nothing", "onnx", "fails", 13,
        "g (float[3] x) => (float[2] y) { p = Constant<value_ints = [-1, 0]>() y = Pad(x, p) }",
        "{'x': np.float32([1, 2, 3])}", "[2, 3]",
        "Pad: pads are “the number of padding elements to add or remove (if negative)”",
    ),
    Fault(
        "ConvTranspose with groups", "onnx", "fails", 11,
        "g (float[1,2,2] x, float[2,2,2] w) => (float[1,4,3] y) { y = ConvTranspose<group = 2>(x, w) }",
        "{'x': np.ones((1, 2, 2), np.float32), 'w': np.ones((2, 2, 2), np.float32)}", "[[[1, 2, 1]] * 4]",
        "ConvTranspose: group is an attribute of every version; each group is the transpose of a convolution of ones",
    ),
    Fault(
        "GridSample of opset 16", "onnx", "does not know the names of its modes", 16,
        "g (float[1,1,2,2] x, float[1,1,1,2] q) => (float[1,1,1,1] y) { y = GridSample<mode = \"bilinear\">(x, q) }",
        "{'x': np.float32([[[[1, 2], [3, 4]]]]), 'q': np.zeros((1, 1, 1, 2), np.float32)}", "[[[[2.5]]]]",
        "GridSample-16: three modes, bilinear (default), nearest and bicubic; the centre is the mean of four",
    ),
    Fault(
        "RoiAlign of opset 10", "onnx", "shifts boxes by half a pixel", 10,
        "g (float[1,1,4,4] x, float[1,4] r, int64[1] b) => (float[1,1,1,1] y) "
        "{ y = RoiAlign<output_height = 1, output_width = 1, sampling_ratio = 1>(x, r, b) }",
        "dict(x=np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4), r=np.float32([[0, 0, 2, 2]]), b=np.int64([0]))",
        "[[[[5]]]]",
        "RoiAlign-16 brought coordinate_transformation_mode: output_half_pixel is “to omit the pixel shift for the "
        "input (use this for a backward-compatible behavior)”; the box's centre is (1, 1)",
    ),
    Fault(
        "LayerNormalization in float16", "onnx", "squares in float16, which overflows", 17,
        "g (float16[1,2] x, float16[2] s) => (float16[1,2] y) { y = LayerNormalization(x, s) }",
        "{'x': np.float16([[0, 1000]]), 's': np.float16([1, 1])}", "[[-1, 1]]",
        _STASH.format(op="LayerNormalization"),
    ),
    Fault(
        "RMSNormalization in float16", "onnx", "squares in float16, which overflows", 23,
        "g (float16[1,2] x, float16[2] s) => (float16[1,2] y) { y = RMSNormalization(x, s) }",
        "{'x': np.float16([[1000, 1000]]), 's': np.float16([1, 1])}", "[[1, 1]]",
        _STASH.format(op="RMSNormalization"),
    ),
    Fault(
        "MeanVarianceNormalization far from 0", "onnx", "subtracts squares, of which nothing is left", 13,
        "g (float[1,1,1,2] x) => (float[1,1,1,2] y) { y = MeanVarianceNormalization(x) }",
        "{'x': np.float32([10000, 10001]).reshape(1, 1, 1, 2)}", "[[[[-1, 1]]]]",
        "MeanVarianceNormalization: “(X-EX)/sqrt(E(X-EX)^2)”; the numbers are exact in float32",
    ),
    Fault(
        "AveragePool of NaN", "onnx", "leaves NaN out of the mean", 19,
        "g (float[1,1,2] x) => (float[1,1,1] y) { y = AveragePool<kernel_shape = [2]>(x) }",
        "{'x': np.float32([[[np.nan, 1]]])}", "[[[np.nan]]]",
        "AveragePool: the average of all values of the window; a sum with NaN is NaN",
    ),
    Fault(
        "DequantizeLinear of opset 13", "onnx", "has no version 13, which brought axis", 13,
        "g (uint8[2,2] x, float[2] s) => (float[2,2] y) { y = DequantizeLinear<axis = 0>(x, s) }",
        "{'x': np.uint8([[1, 2], [3, 4]]), 's': np.float32([1, 10])}", "[[1, 2], [30, 40]]",
        "DequantizeLinear-13: (x − x_zero_point) · x_scale, a scale for each element of axis",
    ),
    Fault(
        "Resize of opset 10", "onnx", "takes the scales for something else", 10,
        "g (float[1,1,2] x) => (float[1,1,4] y) { s = Constant<value = float[3] {1.0, 1.0, 2.0}>() y = Resize(x, s) }",
        "{'x': np.float32([[[1, 2]]])}", "[[[1, 1, 2, 2]]]",
        "Resize-10: the second input are the scales; each element twice",
    ),
    *_cells(),
)  # fmt: skip
