"""Operators that ONNX's evaluator lacks or calculates wrongly give what the standard says, worked out by hand."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from polycmp_onnx.reference import make_evaluator

F, INF, NAN = np.float32, np.inf, np.nan
ML = "ai.onnx.ml"


def f(*values):
    return np.array(values[0] if len(values) == 1 else values, F)


def i(*values):
    return np.array(values[0] if len(values) == 1 else values, np.int64)


def u(*values):
    return np.array(values[0] if len(values) == 1 else values, np.uint8)


def computed(op, opset, inputs, attributes, outputs=1, domain="", dtype=""):
    """Outputs of a model of one operator; an input of None is left out."""
    names = ["" if item is None else f"i{at}" for at, item in enumerate(inputs)]
    feed = {name: item for name, item in zip(names, inputs, strict=True) if name}
    kinds = {
        name: TensorProto.STRING if item.dtype == object else helper.np_dtype_to_tensor_dtype(item.dtype)
        for name, item in feed.items()
    }
    node = helper.make_node(op, names, [f"o{at}" for at in range(outputs)], domain=domain, **attributes)
    graph = helper.make_graph(
        [node],
        op,
        [helper.make_tensor_value_info(name, kinds[name], item.shape) for name, item in feed.items()],
        [helper.make_empty_tensor_value_info(name) for name in node.output],
    )
    if not domain and opset > onnx.defs.onnx_opset_version():
        pytest.skip(f"onnx {onnx.__version__} does not know opset {opset}")
    sets = [helper.make_opsetid(domain, opset)] + ([helper.make_opsetid("", 17)] if domain else [])
    return make_evaluator(helper.make_model(graph, opset_imports=sets), dtype=dtype).run(None, feed)


def sigmoid(x):
    return 1 / (1 + np.exp(-np.asarray(x, float)))


ONES = {count: np.ones((1, count, 1), F) for count in (1, 3, 4)}
X2 = np.ones((2, 1, 1), F)
CELL = sigmoid(0.1) * np.tanh(0.1)
TWO_TREES = {
    "nodes_treeids": [0, 0, 0, 1, 1, 1],
    "nodes_nodeids": [0, 1, 2] * 2,
    "nodes_featureids": [0] * 6,
    "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"] * 2,
    "nodes_values": [0.0, 0, 0, 1.0, 0, 0],
    "nodes_truenodeids": [1, 0, 0] * 2,
    "nodes_falsenodeids": [2, 0, 0] * 2,
}
ROWS = f([[-1.0], [0.5], [2.0], [NAN]])
#: operator, opset, inputs, attributes, what is right: one array, or several
CASES = [
    (
        "LSTM",
        14,
        [X2, ONES[4], ONES[4], None, np.array([1], np.int32)],
        {"hidden_size": 1},
        [
            [[[[sigmoid(1) * np.tanh(sigmoid(1) * np.tanh(1))]]], [[[0]]]],
            [[[sigmoid(1) * np.tanh(sigmoid(1) * np.tanh(1))]]],
        ],
    ),
    ("LSTM", 14, [X2[:1], ONES[4], ONES[4]], {"hidden_size": 1, "clip": 0.1}, [[[[[sigmoid(0.1) * np.tanh(CELL)]]]]]),
    (
        "LSTM",
        14,
        [X2[:1], ONES[4], ONES[4]],
        {"hidden_size": 1, "clip": 0.1, "activations": ["Sigmoid"] * 3},
        [[[[[sigmoid(0.1) * sigmoid(sigmoid(0.1) ** 2)]]]]],
    ),  # the state is larger than 0.1, and not clipped
    (
        "LSTM",
        14,
        [X2[:1], ONES[4], ONES[4], None, None, None, np.ones((1, 1, 1), F)],
        {"hidden_size": 1, "input_forget": 1},
        [[[[[sigmoid(1) * np.tanh(sigmoid(1) * np.tanh(1) + 1 - sigmoid(1))]]]]],
    ),
    ("RNN", 14, [X2, ONES[1], ONES[1]], {"hidden_size": 1, "activations": ["Relu"]}, [[[[[1]]], [[[2]]]]]),
    (
        "RNN",
        14,
        [X2 * f([[[1]], [[2]]]), ONES[1], ONES[1], None, np.array([1], np.int32)],
        {"hidden_size": 1, "direction": "reverse", "activations": ["Relu"]},
        [[[[[1]]], [[[0]]]], [[[1]]]],
    ),
    (
        "RNN",
        14,
        [X2[:1], -ONES[1], ONES[1]],
        {"hidden_size": 1, "activations": ["LeakyRelu"], "activation_alpha": [0.5]},
        [[[[[-0.5]]]]],
    ),
    ("GRU", 14, [X2[:1], ONES[3], ONES[3]], {"hidden_size": 1, "activations": ["Relu", "Tanh"]}, [[[[[0]]]]]),
    ("QLinearMatMul", 10, [u([[5]]), f(0.5), u(0), u([[1]]), f(1), u(0), f(1), u(1)], {}, [[[3]]]),  # 2.5 is 2, and 1
    ("MatMulInteger", 10, [u([[5], [7]]), u([[2, 3]]), u([1, 2]), u([1, 1])], {}, [[[4, 8], [5, 10]]]),
    ("OneHot", 10, [i(-1, 1), i(2), f(0, 5)], {}, [[[0, 0], [0, 5]]]),
    ("OneHot", 11, [i(-1, 1), i(2), f(0, 5)], {}, [[[0, 5], [0, 5]]]),
    ("QLinearConv", 10, [u([[[5]]]), f(0.5), u(0), u([[[1]]]), f(1), u(0), f(1), u(1)], {}, [[[[3]]]]),
    ("QuantizeLinear", 13, [f(1e10, -1e10, INF, 2.5), f(1), u(1)], {}, [[255, 0, 255, 3]]),
    ("QuantizeLinear", 21, [f([[1e10, 2.5]]), f([[1, 0.5]]), u([[0, 1]])], {"axis": 1, "block_size": 1}, [[[255, 6]]]),
    ("ConvTranspose", 11, [f([[[1, 2]]]), f([[[1, 1]]])], {"strides": [2], "output_shape": [3]}, [[[[1, 2, 2]]]]),
    ("ConvTranspose", 11, [f([[[1, 2]]]), f([[[1, 1]]])], {"strides": [2], "output_shape": [5]}, [[[[1, 1, 2, 2, 0]]]]),
    (
        "ConvTranspose",
        11,
        [f([[[1, 2]]]), f([[[1, 1, 1]]])],
        {"strides": [1], "output_shape": [3], "auto_pad": "SAME_UPPER"},
        [[[[1, 3, 3]]]],
    ),
    ("ConvTranspose", 11, [f([[[1, 2]]]), f([[[1]]])], {"strides": [2], "auto_pad": "SAME_LOWER"}, [[[[1, 0, 2, 0]]]]),
    (
        "GridSample",
        20,
        [f([[[[0, 1, 2, 4]]]]), f([[[[1.2, 0]]]])],
        {"mode": "cubic", "padding_mode": "border", "align_corners": 1},
        [[[[[4.2205]]]]],
    ),
    (
        "GridSample",
        20,
        [f([[[[7]]]]), f([[[[0.5, 0]]]])],
        {"padding_mode": "reflection", "align_corners": 1},
        [[[[[7]]]]],
    ),
    ("AffineGrid", 20, [f([[[1, 0, 0], [0, 1, 0]]]), i(1, 1, 1, 2)], {"align_corners": 1}, [[[[[-1, 0], [1, 0]]]]]),
    (
        "MaxRoiPool",
        1,
        [np.arange(16, dtype=F).reshape(1, 1, 4, 4), f([[0, 1, 1, 2, 2]])],
        {"pooled_shape": [1, 2]},
        [[[[[9, 10]]]]],
    ),
    ("GlobalLpPool", 2, [f([[[3, -4]]])], {}, [[[[5]]]]),
    ("LpPool", 18, [f([[[3, -4, 1]]])], {"kernel_shape": [2], "strides": [2], "ceil_mode": 1}, [[[[5, 1]]]]),
    (
        "LpPool",
        11,
        [f([[[3, -4, 1, 0, 2, 5, 6, 7]]])],
        {"kernel_shape": [1], "strides": [3], "auto_pad": "SAME_UPPER"},
        [[[[3, 0, 6]]]],
    ),
    (
        "MaxPool",
        12,
        [f([[[[1, 2], [3, 4]]]])],
        {"kernel_shape": [1, 1], "storage_order": 1},
        [[[[[1, 2], [3, 4]]]], [[[[0, 2], [1, 3]]]]],
    ),
    (
        "MaxPool",
        12,
        [f([[[1, 2, 3, 4]]])],
        {"kernel_shape": [3], "strides": [2], "auto_pad": "SAME_LOWER"},
        [[[[2, 4]]], [[[1, 3]]]],
    ),
    ("NegativeLogLikelihoodLoss", 13, [f([[-1, 0], [-3, 0]]), i(0, -1)], {"ignore_index": -1}, [1]),
    ("NonMaxSuppression", 11, [f([[[0, 0, 1, 1], [0, 0, 1, 1]]]), f([[[0.2, 0.9]]]), i([1])], {}, [[[0, 0, 1]]]),
    ("NonMaxSuppression", 11, [f([[[0, 0, 1, 1]]]), f([[[0.2]]])], {}, [np.empty((0, 3))]),
    ("Mean", 13, [f([[1], [3]]), f(1, 5)], {}, [[[1, 3], [2, 4]]]),
    ("ReduceLogSumExp", 13, [f([[INF, 1], [-INF, -INF]])], {"axes": [1], "keepdims": 0}, [[INF, -INF]]),
    ("ReduceLogSumExp", 13, [f(2.0)], {}, [2]),
    ("ReduceLogSum", 13, [i([[1, 0]])], {"keepdims": 0}, [0]),
    ("Flatten", 13, [np.empty((2, 0, 3), F)], {"axis": 2}, [np.empty((0, 3))]),
    ("Squeeze", 11, [np.ones((1, 2, 1), F)], {"axes": [2, 0]}, [[1, 1]]),
    ("Unsqueeze", 11, [f([[1, 2]])], {"axes": [2, 0]}, [[[[[1, 2]]]]]),
    ("Shape", 15, [np.ones((2, 3, 4, 5, 6), F)], {"start": 1, "end": -7}, [np.empty(0)]),
    ("Softsign", 1, [f(1.0)], {}, [0.5]),
    ("Det", 11, [np.array([[1, 2], [3, 4]], np.float16)], {}, [-2]),
    ("CumProd", 26, [f(2, 3, 4), i([0])], {"exclusive": 1, "reverse": 1}, [[12, 4, 1]]),
    ("STFT", 17, [f([[1, 2, 3, 4]]), i(2), None, i(2)], {}, [[[[[3, 0], [-1, 0]], [[7, 0], [-1, 0]]]]]),
    ("Dropout", 7, [f(1, 2)], {}, [[1, 2], [1, 1]]),
    ("Scatter", 9, [np.zeros((2, 2), F), i([[1]]), f([[5]])], {}, [[[0, 0], [5, 0]]]),
    (
        "TfIdfVectorizer",
        9,
        [i(1, 2, 2)],
        {
            "mode": "IDF",
            "max_gram_length": 1,
            "max_skip_count": 0,
            "min_gram_length": 1,
            "ngram_counts": [0],
            "ngram_indexes": [0, 1],
            "pool_int64s": [1, 2],
        },
        [[1, 1]],
    ),
    (
        "StringNormalizer",
        10,
        [np.array(["Day", "", "tue"], object)],
        {"stopwords": ["DAY"], "case_change_action": "UPPER"},
        [np.array(["", "TUE"], object)],
    ),
]
LEARNT = [
    (
        "CategoryMapper",
        1,
        [np.array(["b", "z"], object)],
        {"cats_strings": ["a", "b"], "cats_int64s": [3, 4]},
        [[4, -1]],
    ),
    ("LabelEncoder", 4, [f(NAN, 1)], {"keys_floats": [NAN], "values_int64s": [3], "default_int64": 7}, [[3, 7]]),
    ("LabelEncoder", 1, [np.array(["b", "z"], object)], {"classes_strings": ["a", "b"]}, [[1, -1]]),
    ("Normalizer", 1, [f([[-4, 2]])], {"norm": "MAX"}, [[[-2, 1]]]),
    ("Normalizer", 1, [i([[3, 4]])], {"norm": "L2"}, [[[0.6, 0.8]]]),
    ("Scaler", 1, [i([[3]])], {"offset": [1.0], "scale": [0.25]}, [[[0.5]]]),
    ("OneHotEncoder", 1, [f([1.7])], {"cats_int64s": [0, 1]}, [[[0, 1]]]),
    ("LinearRegressor", 1, [f([[2]])], {"coefficients": [0.5], "post_transform": "LOGISTIC"}, [[[sigmoid(1)]]]),
    (
        "LinearRegressor",
        1,
        [f([[2]])],
        {"coefficients": [0.5, 0.5], "targets": 2, "post_transform": "SOFTMAX"},
        [[[0.5, 0.5]]],
    ),
    (
        "SVMRegressor",
        1,
        [f([[2]])],
        {"coefficients": [0.5], "rho": [0.0], "post_transform": "LOGISTIC"},
        [[[sigmoid(1)]]],
    ),
    (
        "TreeEnsembleRegressor",
        3,
        [ROWS],
        {
            **TWO_TREES,
            "target_treeids": [0, 0, 1, 1],
            "target_nodeids": [1, 2, 1, 2],
            "target_ids": [0, 1, 0, 1],
            "target_weights": [1.0, 2, 3, 4],
            "n_targets": 2,
            "base_values": [0.5, 0.25],
            "aggregate_function": "MIN",
        },
        [[[1.5, 0.25], [3.5, 2.25], [0.5, 2.25], [0.5, 2.25]]],
    ),
    (
        "TreeEnsembleClassifier",
        3,
        [ROWS],
        {
            **TWO_TREES,
            "class_treeids": [0, 0, 1, 1],
            "class_nodeids": [1, 2, 1, 2],
            "class_ids": [0, 1, 0, 1],
            "class_weights": [1.0, 2, 3, 4],
            "classlabels_int64s": [5, 6],
        },
        [[5, 5, 6, 6], [[4, 0], [3, 2], [0, 6], [0, 6]]],
    ),
    (
        "TreeEnsembleClassifier",
        3,
        [ROWS],
        {
            **TWO_TREES,
            "class_treeids": [0, 0, 1, 1],
            "class_nodeids": [1, 2, 1, 2],
            "class_ids": [0] * 4,
            "class_weights": [0.1, 0.2, 0.25, 0.4],
            "classlabels_int64s": [5, 6],
        },
        [[5, 5, 6, 6], [[0.65, 0.35], [0.55, 0.45], [0.4, 0.6], [0.4, 0.6]]],
    ),
    *(
        (
            "TreeEnsemble",
            5,
            [ROWS],
            {
                "n_targets": 2,
                "tree_roots": [0],
                "nodes_featureids": [0],
                "nodes_modes": helper.make_tensor("m", 2, [1], [0]),
                "nodes_splits": helper.make_tensor("s", 1, [1], [0.0]),
                "nodes_truenodeids": [0],
                "nodes_falsenodeids": [1],
                "nodes_trueleafs": [1],
                "nodes_falseleafs": [1],
                "leaf_targetids": [0, 1],
                "post_transform": code,
                "leaf_weights": helper.make_tensor("w", 1, [2], [1.0, 2.0]),
            },
            [expected],
        )
        for code, expected in (
            (1, [[sigmoid(1), sigmoid(-1)], *[[sigmoid(-2), sigmoid(2)]] * 3]),
            (2, [[sigmoid(1), 0.5], *[[0.5, sigmoid(2)]] * 3]),
        )
    ),
]


def check(op, opset, inputs, attributes, expected, domain, dtype):
    found = computed(op, opset, inputs, attributes, len(expected), domain, dtype)
    for value, wanted in zip(found, expected, strict=True):
        right = np.asarray(wanted)
        assert value.shape == right.shape
        assert (value.dtype == bool) == (right.dtype == bool)
        if right.dtype == object:
            assert value.tolist() == right.tolist()
        else:
            np.testing.assert_allclose(value.astype(float), right, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", ["", "float64"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[1]} {case[3]}"[:60])
def test_an_operator_gives_what_the_standard_says(case, dtype):
    check(*case, "", dtype)


@pytest.mark.parametrize("dtype", ["", "float64"])
@pytest.mark.parametrize("case", LEARNT, ids=lambda case: f"{case[0]}-{case[1]} {case[3]}"[:60])
def test_an_operator_of_learnt_models_gives_what_the_standard_says(case, dtype):
    check(*case, ML, dtype)
