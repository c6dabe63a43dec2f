"""Faults that the survey of operators and the tools that rewrite files showed."""

from __future__ import annotations

from truth.found.fault import Fault

_STUMP = (
    "nodes_treeids = [0, 0, 0], nodes_nodeids = [0, 1, 2], nodes_featureids = [0, 0, 0], "
    'nodes_modes = ["BRANCH_LEQ", "LEAF", "LEAF"], nodes_values = [0.0, 0.0, 0.0], nodes_truenodeids = [1, 0, 0], '
    "nodes_falsenodeids = [2, 0, 0]"
)
_TRANSFORM = "{}: post_transform “Indicates the transform to apply to the {}”, one of them LOGISTIC: 1 / (1 + exp(−1))"
_BASES = "{}: base_values are “added to {}”, whether a leaf votes for it or not"
_NUMPY = "NumPy; onnx refuses the transform, and OpenVINO lacks the operator"
_TIES = "{}: {}, and y_zero_point is added after: 2.5 is 2, and 1"


def _classifier(ids: str, weights: str, bases: str, outputs: str = "int64[N] label, float[2,K] y") -> str:
    return (
        f"g (float[2,1] x) => ({outputs}) {{ label, y = ai.onnx.ml.TreeEnsembleClassifier<" + _STUMP +
        f", class_treeids = [0, 0], class_nodeids = [1, 2], class_ids = [{ids}], "
        f"class_weights = [{weights}]{bases}>(x) }}"
    )  # fmt: skip


_TWO_ROWS = "{'x': np.float32([[-1], [1]])}"
_CAST = (
    "g (float[2] x) => (float[2] y) { e = Constant<value = float8e5m2[1] {0}>() z = CastLike<saturate = 0>(x, e) "
    "y = Cast<to = 1>(z) }"
)
_TRAINED = (
    "g (float[8] x) => (float[8] y) { c = Constant<value_floats = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]>() "
    "r = Constant<value = float {0.5}>() t = Constant<value = bool {1}>() d, m = Dropout(c, r, t) y = Add(x, d) }"
)
_RANDOM = (
    "Dropout: with training_mode true “the output Y will be a random dropout”, so that two runs differ and no tool may "
    "put a constant there"
)

SURVEY_FAULTS: tuple[Fault, ...] = (
    Fault("Einsum over nothing", "onnxruntime", "ends the process", 12,
          'g (float[2,0] x, float[3,0] w) => (float[2,3] y) { y = Einsum<equation = "ij,kj->ik">(x, w) }',
          "{'x': np.zeros((2, 0), np.float32), 'w': np.zeros((3, 0), np.float32)}", "np.zeros((2, 3))",
          "Einsum: “output[output-term] = reduce-sum( input1[term1] * input2[term2] )”: a sum of no products is 0"),
    Fault("NonZero of a scalar", "onnxruntime", "gives the shape [1, N]", 13,
          "g (float x) => (int64[M,N] y) { y = NonZero(x) }", "{'x': np.array(3, np.float32)}", "[0, 1]",
          "NonZero: “for scalar input, NonZero produces output shape (0, N) instead of (1, N)”", 0, "np.shape({run})"),
    Fault("RNN with ThresholdedRelu", "onnxruntime", "takes 0 for the threshold", 14,
          "g (float[1,1,1] x, float[1,1,1] w, float[1,1,1] r) => (float[1,1,1,1] y) { y = RNN<hidden_size = 1, "
          'activations = ["ThresholdedRelu"]>(x, w, r) }',
          "dict(x=np.full((1, 1, 1), 0.5, np.float32), w=np.ones((1, 1, 1), np.float32), r=np.ones((1, 1, 1), "
          "np.float32))",
          "[[[[0]]]]",
          "RNN-14: “Default values are the same as of corresponding ONNX operators”, and ThresholdedRelu's alpha is "
          "1.0",
          instead="NumPy; onnx and OpenVINO know no ThresholdedRelu here"),
    Fault("RNN with Softplus", "onnxruntime", "gives infinity", 14,
          "g (float[1,1,1] x, float[1,1,1] w, float[1,1,1] r) => (float[1,1,1,1] y) { y = RNN<hidden_size = 1, "
          'activations = ["Softplus"]>(x, w, r) }',
          "dict(x=np.full((1, 1, 1), 100, np.float32), w=np.ones((1, 1, 1), np.float32), r=np.ones((1, 1, 1), "
          "np.float32))",
          "[[[[100]]]]", "RNN-14: “Softplus(x) - log(1 + e^x)”, which is 100 + 4e-44",
          instead="NumPy, and ONNX Runtime's own operator Softplus; onnx and OpenVINO know no Softplus here"),
    Fault("ConvTranspose with SAME_LOWER", "onnxruntime", "makes fewer elements than there are strides", 11,
          'g (float[1,1,2] x, float[1,1,1] w) => (float[1,1,N] y) { y = ConvTranspose<strides = [2], '
          'auto_pad = "SAME_LOWER">(x, w) }',
          "{'x': np.float32([[[1, 2]]]), 'w': np.float32([[[1]]])}", "[[[1, 0, 2, 0]]]",
          "ConvTranspose-11: SAME_UPPER or SAME_LOWER “mean pad the input so that output_shape[i] = input_shape[i] * "
          "strides[i]”"),
    Fault("MaxPool with SAME_UPPER and dilations", "onnxruntime", "makes fewer elements than the data has", 12,
          'g (float[1,1,4] x) => (float[1,1,N] y) { y = MaxPool<kernel_shape = [2], dilations = [2], '
          'auto_pad = "SAME_UPPER">(x) }', "{'x': np.float32([[[1, 2, 3, 4]]])}", "[[[2, 3, 4, 3]]]",
          "MaxPool: “output_shape[i] = ceil(input_shape[i] / strides[i])”, and “pad_shape[i] = "
          "(output_spatial_shape[i] - 1) "
          "* strides_spatial_shape[i] + ((kernel_spatial_shape[i] - 1) * dilations[i] + 1) - input_spatial_shape[i]”: "
          "one in front, one behind"),
    Fault("MaxPool with VALID and ceil_mode", "onnxruntime", "goes beyond the data", 12,
          'g (float[1,1,4] x) => (float[1,1,N] y) { y = MaxPool<kernel_shape = [3], strides = [2], ceil_mode = 1, '
          'auto_pad = "VALID">(x) }', "{'x': np.float32([[[1, 2, 3, 4]]])}", "[[[3]]]",
          "MaxPool: “VALID: output_spatial_shape[i] = ceil((input_spatial_shape[i] - ((kernel_spatial_shape[i] - 1) * "
          "dilations[i] + 1) + 1) / strides_spatial_shape[i])”: ceil((4 - 3 + 1) / 2) = 1"),
    Fault("Resize of the last axis, keeping proportions", "onnxruntime", "does not resize", 18,
          "g (float[1,2] x) => (float[1,N] y) { e = Constant<value = float[0] {}>() n = Constant<value_ints = [4]>() "
          'y = Resize<axes = [-1], keep_aspect_ratio_policy = "not_larger">(x, e, e, n) }',
          "{'x': np.float32([[1, 2]])}", "[[1, 1, 2, 2]]",
          "Resize: not_larger has the sizes adjusted “so that no extent of the output is larger than the specified "
          "size”, over the "
        "axes that are named: 4 / 2",
          instead="ONNX Runtime itself with axes = [1]; onnx and OpenVINO fail"),
    Fault("MaxUnpool to a larger output", "onnxruntime", "moves the numbers", 11,
          "g (float[1,1,2,2] x, int64[1,1,2,2] i) => (float[1,1,5,5] y) { "
          "n = Constant<value = int64[4] {1, 1, 5, 5}>() "
          "y = MaxUnpool<kernel_shape = [2, 2], strides = [2, 2]>(x, i, n) }",
          "dict(x=np.float32([[[[1, 2], [3, 4]]]]), i=np.int64([[[[5, 7], [13, 15]]]]))",
          "np.pad(np.float32([[[[0, 0, 0, 0], [0, 1, 0, 2], [0, 0, 0, 0], [0, 3, 0, 4]]]]), [(0, 0), (0, 0), (0, 1), "
          "(0, 1)])",
          "MaxUnpool is the partial inverse of MaxPool: its indices are those into the smaller output that kernel and "
          "strides "
          "make, as the example of the standard has it (test_maxunpool_export_with_output_shape)"),
    Fault("A large number quantised to FLOAT8E5M2", "onnxruntime", "gives NaN", 19,
          "g (float[2] x) => (float[2] y) { s = Constant<value = float {1.0}>() z = Constant<value = float8e5m2 {0}>() "
          "q = QuantizeLinear<saturate = 0>(x, s, z) y = Cast<to = 1>(q) }",
          "{'x': np.float32([65535, 1])}", "[np.inf, 1]",
          "Cast, to which QuantizeLinear refers for 8-bit floats: with saturate false [x] > FLT_MAX is Inf in E5M2, "
          "and FLT_MAX "
          "is 57344"),
    Fault("Unique of numbers and NaN", "onnxruntime", "loses numbers", 11,
          "g (float[3] x) => (float[N] y) { y = Unique(x) }", "{'x': np.float32([np.nan, 1, 0])}",
          "[0, 1, np.nan]", "Unique: “Find the unique elements of a tensor”: 1 and 0 are among them"),
    Fault("TreeEnsemble with SOFTMAX", "onnxruntime", "applies LOGISTIC, and SOFTMAX for that", 17,
          "g (float[1,1] x) => (float[1,2] y) { y = ai.onnx.ml.TreeEnsemble<n_targets = 2, tree_roots = [0], "
          "nodes_featureids = [0], nodes_modes = uint8[1] {0}, nodes_splits = float[1] {0.0}, nodes_truenodeids = [0], "
          "nodes_falsenodeids = [1], nodes_trueleafs = [1], nodes_falseleafs = [1], leaf_targetids = [0, 1], "
          "leaf_weights = float[2] {1.0, 2.0}, post_transform = 1>(x) }",
          "{'x': np.float32([[-1]])}", "[[sigmoid(1), sigmoid(-1)]]",
          "TreeEnsemble: post_transform “One of 'NONE' (0), 'SOFTMAX' (1), 'LOGISTIC' (2)”; here of the scores 1 and 0",
          instead="NumPy, and ONNX Runtime's own operator Softmax; onnx ignores the attribute, OpenVINO lacks the "
           "operator", learning=5),
    Fault("TreeEnsembleRegressor of one target with LOGISTIC", "onnxruntime", "does not apply it", 17,
          "g (float[1,1] x) => (float[1,1] y) { y = ai.onnx.ml.TreeEnsembleRegressor<" + _STUMP + ", target_treeids = "
          "[0, 0], "
          'target_nodeids = [1, 2], target_ids = [0, 0], target_weights = [1.0, 2.0], n_targets = 1, '
          'post_transform = "LOGISTIC">(x) }', "{'x': np.float32([[-1]])}", "[[sigmoid(1)]]",
          _TRANSFORM.format("TreeEnsembleRegressor", "score"), instead=_NUMPY, learning=3),
    Fault("LinearRegressor of one target with LOGISTIC", "onnxruntime", "does not apply it", 17,
          'g (float[1,1] x) => (float[1,1] y) { y = ai.onnx.ml.LinearRegressor<coefficients = [1.0], '
          'post_transform = "LOGISTIC">(x) }', "{'x': np.float32([[1]])}", "[[sigmoid(1)]]",
          _TRANSFORM.format("LinearRegressor", "regression output vector"),
          instead=_NUMPY, learning=1),
    Fault("SVMRegressor with LOGISTIC", "onnxruntime", "does not apply it", 17,
          "g (float[1,1] x) => (float[1,1] y) { y = ai.onnx.ml.SVMRegressor<coefficients = [1.0], rho = [0.0], "
          'kernel_type = "LINEAR", kernel_params = [0.0, 0.0, 0.0], post_transform = "LOGISTIC">(x) }',
          "{'x': np.float32([[1]])}", "[[sigmoid(1)]]", _TRANSFORM.format("SVMRegressor", "score"),
          instead=_NUMPY, learning=1),
    Fault("TreeEnsembleRegressor with a base and no vote", "onnxruntime", "loses the base value", 17,
          "g (float[1,1] x) => (float[1,2] y) { y = ai.onnx.ml.TreeEnsembleRegressor<" + _STUMP + ", target_treeids = "
          "[0, 0], "
          "target_nodeids = [1, 2], target_ids = [0, 1], target_weights = [1.0, 2.0], n_targets = 2, "
          "base_values = [0.5, 0.25]>(x) }", "{'x': np.float32([[-1]])}", "[[1.5, 0.25]]",
          _BASES.format("TreeEnsembleRegressor", "final prediction after applying aggregate_function"), learning=3),
    Fault("TreeEnsembleClassifier with votes for both of two classes", "onnxruntime",
          "says the second class of every row", 17,
          _classifier("0, 1", "0.75, 0.75", ", classlabels_int64s = [5, 6]"), _TWO_ROWS, "[5, 6]",
          "TreeEnsembleClassifier: “Returns the top class for each of N inputs”: the rows have the scores (0.75, 0) "
          "and (0, 0.75)", learning=3),
    Fault("TreeEnsembleClassifier with negative votes", "onnxruntime",
          "says a class of less than 0 where others have 0", 17,
          _classifier("0, 1", "-1.0, -1.0", ", classlabels_int64s = [5, 6, 7]"), _TWO_ROWS, "[6, 5]",
          "TreeEnsembleClassifier: “Returns the top class for each of N inputs”: the rows have the scores (−1, 0, 0) "
          "and "
          "(0, −1, 0)", learning=3),
    Fault("TreeEnsembleClassifier with base values", "onnxruntime", "loses the votes", 17,
          _classifier("1, 1", "0.25, 0.75", ", classlabels_int64s = [5, 6], base_values = [0.5, 0.5]", "float[2,K] "
          "y, int64[N] label"),
          _TWO_ROWS, "0.5", _BASES.format("TreeEnsembleClassifier", "final class score") + ": the scores of the "
          "second class differ by 0.5",
          3, "np.diff({run}[:, 1])[0]", "NumPy; onnx makes other scores of two classes, and OpenVINO lacks the "
          "operator"),
    Fault("Gather without an index", "openvino", "ends the process", 13,
        "g (float[3,4] x, int64[0] i) => (float[0,4] y) { y = Gather(x, i) }",
        "{'x': np.zeros((3, 4), np.float32), 'i': np.zeros(0, np.int64)}", "[0, 4]",
        "Gather: the output has “rank q + (r - 1)”, here of no row", shown="np.shape({run})"),
    Fault("Compress without a condition", "openvino", "ends the process", 11,
        "g (float[3] x, bool[0] c) => (float[N] y) { y = Compress<axis = 0>(x, c) }",
        "{'x': np.zeros(3, np.float32), 'c': np.zeros(0, bool)}", "[0]",
        "Compress: the condition is as long as “the input length along the axis”, or less: nothing is chosen",
        shown="np.shape({run})"),
    Fault("Tile of a scalar", "openvino", "ends the process", 13,
        "g (float x, int64[0] n) => (float y) { y = Tile(x, n) }",
        "{'x': np.array(2, np.float32), 'n': np.zeros(0, np.int64)}", "2",
        "Tile: “This is the same as function tile in Numpy”: a scalar has no axis to repeat"),
    Fault("NonZero of a scalar, OpenVINO", "openvino", "gives the shape [1, N]", 13,
        "g (float x) => (int64[M,N] y) { y = NonZero(x) }", "{'x': np.array(3, np.float32)}", "[0, 1]",
        "NonZero: “for scalar input, NonZero produces output shape (0, N) instead of (1, N)”", shown="np.shape({run})"),
    Fault("RNN, batch first", "openvino", "takes the directions before the time", 14,
        "g (float[1,2,1] x, float[1,1,1] w, float[1,1,1] r) => (float[1,2,1,1] y) "
        "{ y = RNN<hidden_size = 1, layout = 1>(x, w, r) }",
        "dict(x=np.ones((1, 2, 1), np.float32), w=np.ones((1, 1, 1), np.float32), r=np.ones((1, 1, 1), np.float32))",
        "[1, 2, 1, 1]", "RNN-14, layout 1: “Y.shape = [batch_size, seq_length, num_directions, hidden_size]”",
        shown="np.shape({run})"),
    Fault("LSTM with peepholes", "openvino", "ignores them", 14,
        "g (float[1,1,1] x, float[1,4,1] w, float[1,4,1] r) => (float[1,1,1,1] y) "
        "{ p = Constant<value = float[1,3] {1.0, 1.0, 1.0}>() "
        'y = LSTM<hidden_size = 1>(x, w, r, "", "", "", "", p) }',
        "dict(x=np.ones((1, 1, 1), np.float32), w=np.ones((1, 4, 1), np.float32), r=np.ones((1, 4, 1), np.float32))",
        "[[[[sigmoid(1 + sigmoid(1) * np.tanh(1)) * np.tanh(sigmoid(1) * np.tanh(1))]]]]",
        "LSTM-14: “ot = f(Xt*(Wo^T) + Ht-1*(Ro^T) + Po (.) Ct + Wbo + Rbo)”"),
    Fault("TopK of equal numbers", "openvino", "gives them in another order", 13,
        "g (float[4] x, int64[1] k) => (int64[3] i) { y, i = TopK<largest = 0>(x, k) }",
        "{'x': np.float32([0, 0, 0, 0]), 'k': np.int64([3])}", "[0, 1, 2]",
        "TopK: “Given two equivalent values, this operator uses the indices along the axis as a tiebreaker. That is, "
        "the "
        "element with the lower index will appear first”"),
    Fault("Normalizer with MAX, OpenVINO", "openvino", "divides by the largest amount", 17,
        'g (float[1,2] x) => (float[1,2] y) { y = ai.onnx.ml.Normalizer<norm = "MAX">(x) }',
        "{'x': np.float32([[-4, 2]])}", "[[-2, 1]]", "Normalizer: “Max: Y = X / max(X)”", learning=1),
    Fault("MatMulInteger of a vector", "openvino", "keeps its dimension", 10,
        "g (uint8[2] x, uint8[2,3] w) => (int32[3] y) { y = MatMulInteger(x, w) }",
        "{'x': np.ones(2, np.uint8), 'w': np.ones((2, 3), np.uint8)}", "[2, 2, 2]",
        "MatMulInteger: “Matrix product that behaves like” numpy.matmul"),
    Fault("Hardmax of nothing", "openvino", "gives a row", 11,
        "g (float[0,3] x) => (float[0,3] y) { y = Hardmax<axis = 0>(x) }", "{'x': np.zeros((0, 3), np.float32)}",
        "[0, 3]",
        "Hardmax: “The output tensor has the same shape”", shown="np.shape({run})"),
    Fault("Softmax of opset 11, OpenVINO", "openvino", "takes the sum over one dimension", 11,
        "g (float[2,2] x) => (float[2,2] y) { y = Softmax<axis = 0>(x) }",
        "{'x': np.zeros((2, 2), np.float32)}", "np.full((2, 2), 1 / 4)",
        "Softmax-11: “input will be coerced into a 2-dimensional tensor with dimensions [a_0 * ... * a_{k-1}, a_k * "
        "... * "
        "a_{n-1}]”, where k is axis: here one row of four"),
    Fault("LRN of an even size", "openvino", "looks to the other side", 13,
        "g (float[2,2,1,1] x) => (float[2,2,1,1] y) { y = LRN<size = 2, alpha = 2.0, beta = 1.0>(x) }",
        "{'x': np.float32([1, 2, 1, 2]).reshape(2, 2, 1, 1)}", "np.array([1 / 6, 2 / 5] * 2).reshape(2, 2, 1, 1)",
        "LRN: from “c - floor((size - 1) / 2)” to “c + ceil((size - 1) / 2)”: the channel and the next"),
    Fault("ConvTranspose with SAME_LOWER, OpenVINO", "openvino", "makes fewer elements than there are strides", 11,
        'g (float[1,1,2] x, float[1,1,1] w) => (float[1,1,N] y) { y = ConvTranspose<strides = [2], '
        'auto_pad = "SAME_LOWER">(x, w) }',
        "{'x': np.float32([[[1, 2]]]), 'w': np.float32([[[1]]])}", "[[[1, 0, 2, 0]]]",
        "ConvTranspose-11: SAME_UPPER or SAME_LOWER “mean pad the input so that output_shape[i] = input_shape[i] * "
        "strides[i]”"),
    Fault("QLinearMatMul of a tie", "onnx", "rounds after the zero point is added", 10,
          "g (uint8[1,1] x, uint8[1,1] w) => (uint8[1,1] y) { s = Constant<value = float {0.5}>() o = Constant<value "
          "= float {1.0}>() "
          "z = Constant<value = uint8 {0}>() i = Constant<value = uint8 {1}>() y = QLinearMatMul(x, s, z, w, o, z, o, "
          "i) }",
          "{'x': np.uint8([[5]]), 'w': np.uint8([[1]])}", "[[3]]", _TIES.format("QLinearMatMul", "“(x / y_scale), it "
          "is rounding to nearest ties to even”")),
    Fault("QLinearConv of a tie", "onnx", "rounds after the zero point is added", 10,
          "g (uint8[1,1,1,1] x, uint8[1,1,1,1] w) => (uint8[1,1,1,1] y) { s = Constant<value = float {0.5}>() "
          "o = Constant<value = float {1.0}>() z = Constant<value = uint8 {0}>() i = Constant<value = uint8 {1}>() "
          "y = QLinearConv(x, s, z, w, o, z, o, i) }",
          "{'x': np.uint8([[[[5]]]]), 'w': np.uint8([[[[1]]]])}", "[[[[3]]]]", _TIES.format("QuantizeLinear", "“For "
          "(x / y_scale), it's rounding to the nearest even”")),
    Fault("QuantizeLinear of a large number", "onnx", "wraps around", 13,
          "g (float[2] x) => (uint8[2] y) { s = Constant<value = float {1.0}>() y = QuantizeLinear(x, s) }",
          "{'x': np.float32([1e10, 3])}", "[255, 3]", "QuantizeLinear: “y = saturate ((x / y_scale) + y_zero_point)”"),
    Fault("GridSample, cubic, at the border", "onnx", "clips the position of the kernel", 20,
          "g (float[1,1,1,4] x, float[1,1,1,2] q) => (float[1,1,1,1] y) { y = GridSample<mode = \"cubic\", "
          "padding_mode = \"border\", align_corners = 1>(x, q) }",
          "dict(x=np.float32([[[[0, 1, 2, 4]]]]), q=np.float32([[[[1.2, 0]]]]))",
          "[[[[4.2205]]]]",
          "GridSample: border is to “use border values for out-of-bound grid locations”, and refers to PyTorch, whose "
          "kernel "
          "reads 2, 4, 4, 4 at 3.3; its weight of the first is −0.11025, so that it is 4 + 2 · 0.11025"),
    Fault("NegativeLogLikelihoodLoss with what is ignored", "onnx", "counts it in the mean", 13,
          "g (float[2,2] x, int64[2] t) => (float y) { y = NegativeLogLikelihoodLoss<ignore_index = -1>(x, t) }",
          "{'x': np.float32([[-1, 0], [-3, 0]]), 't': np.int64([0, -1])}", "1",
          "NegativeLogLikelihoodLoss: what has ignore_index has the weight 0, and mean is the sum over the sum of "
          "weights"),
    Fault("Attention's product with softcap", "onnx", "gives the capped one", 23,
          "g (float[1,1,1,1] q, float[1,1,1,1] k, float[1,1,1,1] v) => (float[1,1,1,1] product) "
          '{ y, a, b, product = Attention<softcap = 1.0>(q, k, v) }',
          "{name: np.full((1, 1, 1, 1), 2, np.float32) for name in 'qkv'}", "[[[[4]]]]",
          "Attention: “If set to 0, qk_matmul_output is the output of qk matmul”, and 0 is the default"),
    Fault("Places of MaxPool by columns", "onnx", "gives those by rows", 12,
          "g (float[1,1,2,2] x) => (int64[1,1,2,2] i) { y, i = MaxPool<kernel_shape = [1, 1], storage_order = 1>(x) }",
          "{'x': np.float32([[[[1, 2], [3, 4]]]])}", "[[[[0, 2], [1, 3]]]]",
          "MaxPool: storage_order “is used only to convert an n-tuple index value into a single integer value”; 1 is "
          "column "
          "major"),
    Fault("Shape that ends before it begins", "onnx", "gives some dimensions", 15,
          "g (float[2,3,4,5,6] x) => (int64[N] y) { y = Shape<start = 1, end = -7>(x) }",
          "{'x': np.zeros((2, 3, 4, 5, 6), np.float32)}", "[]",
          "Shape: “axes will be clamped to the range [0, r]”, “If start > end, the result will be an empty shape”"),
    Fault("Unsqueeze of axes in another order, opset 11", "onnx", "lets their order decide", 11,
          "g (float[2,3] x) => (float[A,B,C,D] y) { y = Unsqueeze<axes = [2, 0]>(x) }",
          "{'x': np.arange(6, dtype=np.float32).reshape(2, 3)}", "np.arange(6).reshape(1, 2, 1, 3)",
          "Unsqueeze-11: “The order of values in axes does not matter and can come in any order”"),
    Fault("LSTM with input_forget", "onnx", "ignores it", 14,
          "g (float[2,1,1] x, float[1,4,1] w, float[1,4,1] r) => (float[1,1,1] h) { y, h = LSTM<hidden_size = 1, "
          'input_forget = 1, activations = ["Sigmoid", "Tanh", "Tanh"]>(x, w, r) }',
          "dict(x=np.float32([[[1]], [[-5]]]), w=np.ones((1, 4, 1), np.float32), r=np.zeros((1, 4, 1), np.float32))",
          "[[[sigmoid(-5) * np.tanh((1 - sigmoid(-5)) * sigmoid(1) * np.tanh(1) + sigmoid(-5) * np.tanh(-5))]]]",
          "LSTM-14: “Couple the input and forget gates if 1”: the forget gate is one minus the input gate"),
    Fault("Scan backwards", "onnx", "fails", 11,
          "g (float[1] s, float[3,1] x) => (float[3,1] every) { last, every = Scan<num_scan_inputs = 1, "
          "scan_input_directions = [1], body = b (float[1] a, float[1] c) => (float[1] d, float[1] e) "
          "{ d = Add(a, c) e = Identity(d) }>(s, x) }",
          "{'s': np.zeros(1, np.float32), 'x': np.float32([[1], [2], [3]])}", "[[3], [5], [6]]",
          "Scan: scan_input_directions has “0 indicates forward direction and 1 indicates reverse direction”"),
    Fault("Mean of numbers of two shapes", "onnx", "fails", 13,
          "g (float[2,1] a, float[2] b) => (float[2,2] y) { y = Mean(a, b) }",
          "{'a': np.float32([[1], [3]]), 'b': np.float32([1, 5])}", "[[1, 3], [2, 4]]",
          "Mean: “multidirectional (i.e., Numpy-style) broadcasting”"),
    Fault("Normalizer with MAX", "onnx", "divides by the largest amount", 17,
          'g (float[1,2] x) => (float[1,2] y) { y = ai.onnx.ml.Normalizer<norm = "MAX">(x) }',
          "{'x': np.float32([[-4, 2]])}", "[[-2, 1]]", "Normalizer: “Max: Y = X / max(X)”", learning=1),
    Fault("OneHotEncoder of real numbers", "onnx", "does not cast them", 17,
          "g (float[1] x) => (float[1,2] y) { y = ai.onnx.ml.OneHotEncoder<cats_int64s = [0, 1]>(x) }",
          "{'x': np.float32([1.7])}", "[[0, 1]]",
          "OneHotEncoder: “If the input is a tensor of float, int32, or double, the data will be cast to integers”",
          learning=1),
    Fault("LinearRegressor without intercepts", "onnx", "gives NaN", 17,
          "g (float[1,1] x) => (float[1,1] y) { y = ai.onnx.ml.LinearRegressor<coefficients = [2.0]>(x) }",
          "{'x': np.float32([[3]])}", "[[6]]", "LinearRegressor: “Intercepts are optional”", learning=1),
    Fault("SVMClassifier with probabilities of three classes", "onnx", "multiplies the wrong pairs", 17,
          "g (float[1,1] x) => (float[1,3] y, int64[1] label) { label, y = ai.onnx.ml.SVMClassifier<classlabels_ints "
          "= [0, 1, 2], "
          "vectors_per_class = [1, 1, 1], support_vectors = [1.0, 2.0, 3.0], coefficients = [1.0, 1.0, 1.0, -1.0, "
          "-1.0, -1.0], "
          "rho = [0.5, 1.0, -0.5], prob_a = [-1.0, -1.5, -0.5], prob_b = [0.0, 0.1, -0.2], kernel_type = \"LINEAR\", "
          "kernel_params = [0.0, 0.0, 0.0]>(x) }",
          "{'x': np.float32([[0.3]])}", "[[0.760115, 0.133902, 0.105983]]",
          "SVMClassifier with prob_a and prob_b: “output Z are probability estimates”, as multiclass_probability of "
          "libsvm makes "
          "them of those of pairs", learning=1),
    Fault("Dropout in training mode, onnxslim", "onnxslim", "writes a file that does not load", 13, _TRAINED,
          "{'x': np.zeros(8, np.float32)}", "0", _RANDOM, 0, "float(all(np.array_equal({run}, {run}) for _ in "
          "range(9)))"),
    Fault("The mask of Dropout, onnxslim", "onnxslim", "gives the data in its place", 13,
          "g (float[2] x) => (bool[2] m) { d, k = Dropout(x) m = Not(k) }", "{'x': np.float32([2, 3])}", "[0, 0]",
          "Dropout-13: with training_mode false, “if mask is requested as output it will contain all ones”", 0,
          "np.float32({run})"),
    Fault("CastLike without saturation, onnxscript", "onnxscript", "saturates", 19, _CAST,
          "{'x': np.float32([1e6, -1e6])}", "[np.inf, -np.inf]",
          "CastLike: with saturate false what is beyond FLT_MAX is infinite in E5M2"),
    Fault("Softmax between codes", "onnxruntime", "is off by 1.5 codes", 21,
          "g (float[1,3] x) => (uint8[1,3] y) { s = Constant<value = float {0.1}>() "
          "z = Constant<value = uint8 {128}>() q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z) "
          "p = Softmax(d) t = Constant<value = float {0.00392157}>() o = Constant<value = uint8 {0}>() "
          "y = QuantizeLinear(p, t, o) }",
          "{'x': np.float32([[4.1, -2, -1.5]])}", "[[253, 1, 1]]",
          "QuantizeLinear-21: “y = saturate((x / y_scale) + y_zero_point)”, and exp(4.1) of the sum is 253.49 steps"),
)  # fmt: skip
