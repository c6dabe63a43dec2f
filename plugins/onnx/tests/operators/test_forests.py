"""Forests of trees, as the standard says."""

from __future__ import annotations

from onnx import helper
from operator_cases import NAN, by_hand, f, sigmoid

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

test_an_operator_of_learnt_models_gives_what_the_standard_says = by_hand(CASES, "ai.onnx.ml")
