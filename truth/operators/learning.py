"""Operators of ai.onnx.ml, and those on texts."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from onnx import helper

from truth.operators.case import Array, Case, draw, each, int64s, told

_ML = "ai.onnx.ml"
_TRANSFORMS = (None, "NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


def _texts(*values: str) -> Array:
    return np.array(values, object)


def _named_classes(count: int, numbers: str) -> tuple[dict[str, Any], ...]:
    """Return classes that are called by numbers, in the attribute that holds these, and by texts."""
    return told({numbers: [list(range(count))]}, {"classlabels_strings": [list("abc"[:count])]})


def texts() -> Iterator[Case]:
    """Make cases of operators on strings, and of vectorisers."""
    words = _texts("Monday", "tuesday", "", "WEDNESDAY", "monday")
    yield from each(
        "StringNormalizer",
        [words],
        case_change_action=[None, "LOWER", "UPPER", "NONE"],
        is_case_sensitive=[None, 0, 1],
        stopwords=[None, ["monday"], ["MONDAY", "tuesday"]],
    )
    yield from each("StringNormalizer", [words[:1]], stopwords=[["Monday"]], is_case_sensitive=[1])
    yield from each("StringConcat", [words, _texts("!")])
    yield from each("StringConcat", [words[:2, None], words])
    sentences = _texts("a b  c", "a,b,,c", "", " x ")
    yield from each("StringSplit", [sentences], outputs=2, delimiter=[None, "", " ", ",", ",,"], maxsplit=[None, 1, 2])
    yield from each("RegexFullMatch", [_texts("www.a.com", "b@c.de", "")], pattern=[r"www\.[\w]+\.com", ".*", "[a-z]"])
    for x in (
        int64s([[1, 1, 3, 3, 3, 7], [8, 6, 7, 5, 6, 8]]),
        np.array([[1, 1, 3, 3, 3, 7], [8, 6, 7, 5, 6, 8]], np.int32),
    ):
        for mode, skips, weights in itertools.product(
            ("TF", "IDF", "TFIDF"), (0, 1, 5), (None, [0.5, 1, 2, 3, 4, 5, 6])
        ):
            scaled: dict[str, Any] = {"weights": [weights]} if weights else {}
            yield from each(
                "TfIdfVectorizer",
                [x],
                mode=[mode],
                max_skip_count=[skips],
                min_gram_length=[1, 2],
                max_gram_length=[2],
                ngram_counts=[[0, 4]],
                ngram_indexes=[list(range(7))],
                pool_int64s=[[2, 3, 5, 4, 5, 6, 7, 8, 6, 7]],
                **scaled,
            )


def encoders() -> Iterator[Case]:
    """Make cases of what encodes, scales and fills in."""
    for values in (int64s(1, 2, 7), np.array([1, 2, 7], np.float32), _texts("a", "b", "z")):
        keys: dict[str, Any] = {"keys_int64s": [[1, 2]]} if values.dtype == np.int64 else {"keys_floats": [[1.0, 2.0]]}
        keys = {"keys_strings": [["a", "b"]]} if values.dtype == object else keys
        for mapping in told(
            {"values_int64s": [[5, 6]], "default_int64": [None, 9]},
            {"values_floats": [[0.5, 1.5]], "default_float": [None, 9.0]},
            {"values_strings": [["x", "y"]], "default_string": [None, "w"]},
        ):
            yield from each("LabelEncoder", [values], domain=_ML, **keys, **mapping)
    yield from each(
        "LabelEncoder", [np.array([np.nan, 1], np.float32)], domain=_ML, keys_floats=[[np.nan]], values_int64s=[[3]]
    )
    yield from each(
        "LabelEncoder", [_texts("b", "c")], domain=_ML, classes_strings=[["a", "b"]], default_int64=[None, 7]
    )
    yield from each(
        "LabelEncoder", [int64s(1, 5)], domain=_ML, classes_strings=[["a", "b"]], default_string=[None, "w"]
    )
    yield from each(
        "LabelEncoder",
        [int64s(1, 5)],
        domain=_ML,
        keys_tensor=[helper.make_tensor("k", 7, [2], [1, 2])],
        values_tensor=[helper.make_tensor("v", 1, [2], [0.5, 1.5])],
        default_tensor=[None, helper.make_tensor("d", 1, [1], [7.0])],
    )
    yield from each(
        "CategoryMapper",
        [_texts("b", "z")],
        domain=_ML,
        cats_strings=[["a", "b"]],
        cats_int64s=[[3, 4]],
        default_int64=[None, 9],
    )
    yield from each(
        "CategoryMapper",
        [int64s(4, 9)],
        domain=_ML,
        cats_strings=[["a", "b"]],
        cats_int64s=[[3, 4]],
        default_string=[None, "w"],
    )
    for dtype in (np.float32, np.float64, np.int64, np.int32):
        x = draw(3, 4, dtype=dtype)
        yield from each("ArrayFeatureExtractor", [x, int64s([1, 3])], domain=_ML)
        yield from each("Binarizer", [x], domain=_ML, threshold=[None, 0.5, -1.0])
        yield from each("Normalizer", [x], domain=_ML, norm=[None, "MAX", "L1", "L2"])
        yield from each("Normalizer", [x * 0], domain=_ML, norm=["MAX", "L1", "L2"])
        yield from each("Normalizer", [-np.abs(x)], domain=_ML, norm=["MAX", "L1", "L2"])
        yield from each(
            "Scaler", [x], domain=_ML, offset=[[0.5], [1.0, 2.0, 3.0, 4.0]], scale=[[2.0], [1.0, 0.5, 2.0, 3.0]]
        )
        if np.dtype(dtype).kind == "f":
            holes = np.where(np.abs(x) < 0.5, np.array(np.nan, dtype), x)
            yield from each(
                "Imputer",
                [holes],
                domain=_ML,
                imputed_value_floats=[[7.0], [1.0, 2.0, 3.0, 4.0]],
                replaced_value_float=[None, np.nan, float(x[0, 0])],
            )
        else:
            yield from each(
                "Imputer",
                [x],
                domain=_ML,
                imputed_value_int64s=[[7], [1, 2, 3, 4]],
                replaced_value_int64=[None, 0, int(x[0, 0])],
            )
        yield from each(
            "OneHotEncoder", [np.abs(x).astype(dtype)], domain=_ML, cats_int64s=[[0, 1, 2]], zeros=[None, 1]
        )
        yield from each("FeatureVectorizer", [x, x[:, :2].copy()], domain=_ML, inputdimensions=[[4, 2]])
    yield from each(
        "OneHotEncoder", [_texts("a", "c", "b")], domain=_ML, cats_strings=[["a", "b", "c"]], zeros=[None, 1]
    )
    yield from each("OneHotEncoder", [_texts("a", "q")], domain=_ML, cats_strings=[["a", "b"]], zeros=[1])


def linear() -> Iterator[Case]:
    """Make cases of linear models and support vector machines."""
    for dtype in (np.float32, np.float64, np.int64):
        x = draw(5, 3, dtype=dtype)
        for targets in (1, 2):
            yield from each(
                "LinearRegressor",
                [x],
                domain=_ML,
                coefficients=[draw(targets * 3).tolist()],
                intercepts=[None, draw(targets, seed=1).tolist()],
                targets=[targets],
                post_transform=list(_TRANSFORMS),
            )
        for classes, rows in ((2, 2), (3, 3), (2, 1)):
            for labels in _named_classes(classes, "classlabels_ints"):
                yield from each(
                    "LinearClassifier",
                    [x],
                    domain=_ML,
                    outputs=2,
                    coefficients=[draw(rows * 3).tolist()],
                    intercepts=[draw(rows, seed=1).tolist()],
                    post_transform=list(_TRANSFORMS),
                    multi_class=[None, 1],
                    **labels,
                )
    kernels = [
        ("LINEAR", [0.0, 0.0, 3.0]),
        ("POLY", [0.5, 1.0, 3.0]),
        ("RBF", [0.5, 0.0, 3.0]),
        ("SIGMOID", [0.5, 0.1, 3.0]),
    ]
    x = draw(6, 3)
    for kernel, params in kernels:
        yield from each(
            "SVMRegressor",
            [x],
            domain=_ML,
            kernel_type=[kernel],
            kernel_params=[params],
            n_supports=[4],
            coefficients=[draw(4).tolist()],
            support_vectors=[draw(12, seed=1).tolist()],
            rho=[[0.3]],
            one_class=[None, 1],
            post_transform=[None, "LOGISTIC", "PROBIT"],
        )
        yield from each(
            "SVMRegressor",
            [x],
            domain=_ML,
            kernel_type=[kernel],
            kernel_params=[params],
            n_supports=[0],
            coefficients=[draw(3).tolist()],
            rho=[[0.3]],
        )
        for classes, counts in ((2, [2, 2]), (3, [2, 1, 2])):
            pairs, total = classes * (classes - 1) // 2, sum(counts)
            proba = {"prob_a": [[-1.5, -0.7, -1.1][:pairs]], "prob_b": [[0.1, -0.2, 0.3][:pairs]]}
            for more in told({}, proba):
                for labels in _named_classes(classes, "classlabels_ints"):
                    yield from each(
                        "SVMClassifier",
                        [x],
                        domain=_ML,
                        outputs=2,
                        kernel_type=[kernel],
                        kernel_params=[params],
                        vectors_per_class=[counts],
                        coefficients=[draw(total * (classes - 1)).tolist()],
                        support_vectors=[draw(total * 3, seed=1).tolist()],
                        rho=[draw(pairs, seed=2).tolist()],
                        post_transform=list(_TRANSFORMS),
                        **labels,
                        **more,
                    )
        for classes in (2, 3):
            yield from each(
                "SVMClassifier",
                [x],
                domain=_ML,
                outputs=2,
                kernel_type=[kernel],
                kernel_params=[params],
                coefficients=[draw(classes * 3).tolist()],
                rho=[[0.3]],
                post_transform=list(_TRANSFORMS),
                classlabels_ints=[list(range(classes))],
            )


def _tree(mode: str, leaves: int) -> dict[str, Any]:
    """Return two trees with one branch each: by feature 0 at 0.25, and by feature 1 at -0.5."""
    return {
        "nodes_treeids": [[0, 0, 0, 1, 1, 1]],
        "nodes_nodeids": [[0, 1, 2, 0, 1, 2]],
        "nodes_featureids": [[0, 0, 0, 1, 0, 0]],
        "nodes_modes": [[mode, "LEAF", "LEAF", mode, "LEAF", "LEAF"]],
        "nodes_values": [[0.25, 0, 0, -0.5, 0, 0]],
        "nodes_truenodeids": [[1, 0, 0, 1, 0, 0]],
        "nodes_falsenodeids": [[2, 0, 0, 2, 0, 0]],
        "nodes_hitrates": [[1.0] * 6],
        "nodes_missing_value_tracks_true": [[0] * 6 if leaves % 2 else [1] * 6],
    }


def trees() -> Iterator[Case]:
    """Make cases of forests of all modes, transforms and sums."""
    modes = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
    x = np.array([[0.25, -0.5], [0.3, -0.4], [0.2, -0.6], [np.nan, 1], [1, np.nan], [-np.inf, np.inf]], np.float32)
    for mode, dtype in itertools.product(modes, (np.float32, np.float64, np.int64)):
        data = np.nan_to_num(x, posinf=5, neginf=-5).astype(dtype) if dtype == np.int64 else x.astype(dtype)
        for tracks in (0, 1):
            nodes = _tree(mode, tracks)
            for targets, ids in ((1, [0, 0, 0, 0]), (2, [0, 1, 1, 0])):
                yield from each(
                    "TreeEnsembleRegressor",
                    [data],
                    domain=_ML,
                    n_targets=[targets],
                    target_treeids=[[0, 0, 1, 1]],
                    target_nodeids=[[1, 2, 1, 2]],
                    target_ids=[ids],
                    target_weights=[[0.5, -1.0, 2.0, 0.25]],
                    aggregate_function=[None, "SUM", "AVERAGE", "MIN", "MAX"],
                    base_values=[None, [0.5] * targets],
                    post_transform=[None, "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO", *(["PROBIT"] if targets == 9 else [])],
                    **nodes,
                )
            for classes, ids in ((2, [1, 1, 1, 1]), (2, [0, 1, 0, 1]), (3, [0, 1, 2, 1]), (2, [0, 0, 0, 0])):
                for labels in _named_classes(classes, "classlabels_int64s"):
                    for weights in ([0.45, 0.1, 0.37, 0.3], [0.5, -1.0, 0.4, -0.3]):
                        yield from each(
                            "TreeEnsembleClassifier",
                            [data],
                            domain=_ML,
                            outputs=2,
                            class_treeids=[[0, 0, 1, 1]],
                            class_nodeids=[[1, 2, 1, 2]],
                            class_ids=[ids],
                            class_weights=[weights],
                            base_values=[None, [0.5] * classes],
                            post_transform=list(_TRANSFORMS[:5]),
                            **nodes,
                            **labels,
                        )
    for dtype, number in itertools.product((np.float32, np.float64), range(6)):
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        yield from each(
            "TreeEnsemble",
            [x.astype(dtype)],
            domain=_ML,
            n_targets=[2],
            tree_roots=[[0, 1]],
            nodes_featureids=[[0, 1]],
            nodes_modes=[helper.make_tensor("m", 2, [2], [number, number])],
            nodes_splits=[helper.make_tensor("s", kind, [2], [0.25, -0.5])],
            nodes_truenodeids=[[0, 2]],
            nodes_falsenodeids=[[1, 3]],
            nodes_trueleafs=[[1, 1]],
            nodes_falseleafs=[[1, 1]],
            leaf_targetids=[[0, 1, 1, 0]],
            leaf_weights=[helper.make_tensor("w", kind, [4], [0.5, -1, 2, 0.25])],
            aggregate_function=[None, 0, 1, 2, 3],
            post_transform=[None, 0, 1, 2, 3],
            nodes_missing_value_tracks_true=[None, [1, 1]],
        )
