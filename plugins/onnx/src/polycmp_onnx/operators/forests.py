"""Forests of ai.onnx.ml."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx.reference.op_run import OpRun

from polycmp_onnx.operators import text
from polycmp_onnx.operators.scores import labels_of, real_type, transformed, with_second_class

_MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "BRANCH_MEMBER", "LEAF")
_MEMBER, _LEAF = 6, 7
_SUMS = ("AVERAGE", "SUM", "MIN", "MAX")
_TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


@dataclass(frozen=True)
class _Forest:
    """Nodes of trees.

    Attributes:
        roots: The first node of each tree.
        modes: By node how it compares, a place in `_MODES`.
        features: By node which feature it compares.
        splits: By node with what.
        members: By node with a set, the set.
        ways: By node the nodes behind it, where the comparison is false and where it is true.
        tracks: By node whether NaN takes the true one.
    """

    roots: Sequence[int]
    modes: Any
    features: Any
    splits: Any
    members: dict[int, Any]
    ways: Any
    tracks: Any

    def leaves(self, x: Any) -> Any:
        """Return the leaf of each row in each tree."""
        at = np.tile(np.array(self.roots), (len(x), 1))
        rows = np.arange(len(x))[:, None]
        while (going := self.modes[at] != _LEAF).any():
            value = x[rows, np.where(going, self.features[at], 0)]
            split, mode = self.splits[at], self.modes[at]
            compared = [value <= split, value < split, value >= split, value > split, value == split, value != split]
            is_true = np.select([mode == place for place in range(_MEMBER)], compared, default=False)
            for node, members in self.members.items():
                is_true |= (at == node) & np.isin(value, members)
            is_true |= np.isnan(value) & self.tracks[at]
            at = np.where(going, self.ways[at, is_true.astype(int)], at)
        return at


def _of_lists(attributes: dict[str, Any]) -> tuple[_Forest, dict[tuple[int, int], int]]:
    """Return the forest of attributes that name nodes by tree and number, and the place of each node."""
    trees, numbers = attributes["nodes_treeids"], attributes["nodes_nodeids"]
    place = {key: at for at, key in enumerate(zip(trees, numbers, strict=True))}
    modes = np.array([_MODES.index(text(mode)) for mode in attributes["nodes_modes"]])
    ways = np.zeros((len(modes), 2), np.int64)
    behind: set[int] = set()
    for at, (tree, mode) in enumerate(zip(trees, modes, strict=True)):
        if mode != _LEAF:
            ways[at] = [place[tree, attributes[f"nodes_{which}nodeids"][at]] for which in ("false", "true")]
            behind |= set(ways[at].tolist())
    tracks = attributes.get("nodes_missing_value_tracks_true") or [0] * len(modes)
    roots = [at for at in range(len(modes)) if at not in behind]
    forest = _Forest(roots, modes, np.array(attributes["nodes_featureids"]),
                     np.array(_numbers(attributes, "nodes_values"), np.float64), {}, ways,
                     np.array(tracks, bool))  # fmt: skip
    return forest, place


def _numbers(attributes: dict[str, Any], name: str) -> Any:
    """Return an attribute that is a tensor or a list of numbers; None if it is neither."""
    tensor = attributes.get(f"{name}_as_tensor")
    return attributes.get(name) if tensor is None else tensor


def _votes(attributes: dict[str, Any], kind: str, place: dict[tuple[int, int], int]) -> list[tuple[int, int, float]]:
    """Return leaf, target and weight of each vote."""
    weights = _numbers(attributes, f"{kind}_weights")
    keys = zip(attributes[f"{kind}_treeids"], attributes[f"{kind}_nodeids"], strict=True)
    targets = attributes[f"{kind}_ids"]
    return [(place[key], target, float(weight)) for key, target, weight in zip(keys, targets, weights, strict=True)]


def _aggregate(leaves: Any, votes: Sequence[tuple[int, int, float]], targets: int, how: str) -> Any:
    """Return the sum, average, least or largest of the votes of each row for each target; 0 where there is none."""
    start = {"MIN": math.inf, "MAX": -math.inf}.get(how, 0.0)
    result = np.full((len(leaves), targets), start)
    has_any = np.zeros(result.shape, bool)
    for leaf, target, weight in votes:
        for tree in range(leaves.shape[1]):
            is_here = leaves[:, tree] == leaf
            has_any[is_here, target] = True
            old = result[is_here, target]
            result[is_here, target] = {"MIN": np.minimum, "MAX": np.maximum}.get(how, np.add)(old, weight)
    if how == "AVERAGE":
        result /= leaves.shape[1]
    return np.where(has_any, result, 0)


def _bases(attributes: dict[str, Any]) -> Any:
    bases = _numbers(attributes, "base_values")
    return None if bases is None or not len(bases) else np.array(bases, np.float64)


class TreeEnsembleRegressor(OpRun):  # type: ignore[misc]
    """TreeEnsembleRegressor; ONNX's knows few transforms, and gives the largest number where a target has no vote."""

    def _run(self, x: Any, *, n_targets: int = 1, aggregate_function: str = "SUM", post_transform: str = "NONE",
             **attributes: Any) -> tuple[Any]:  # fmt: skip
        forest, place = _of_lists(attributes)
        scores = _aggregate(forest.leaves(x), _votes(attributes, "target", place), n_targets, aggregate_function)
        base = _bases(attributes)
        scores = scores if base is None else scores + base
        return (transformed(scores.astype(real_type(x)), post_transform),)


class TreeEnsemble(OpRun):  # type: ignore[misc]
    """TreeEnsemble; ONNX's ignores the transform, and gives the largest number where a target has no vote."""

    def _run(self, x: Any, *, n_targets: int, aggregate_function: int = 1, post_transform: int = 0,
             **attributes: Any) -> tuple[Any]:  # fmt: skip
        inner = len(attributes["nodes_featureids"])
        weights = np.asarray(attributes["leaf_weights"], np.float64)
        ways = np.stack([
            np.where(np.array(attributes[f"nodes_{which}leafs"], bool), inner, 0)
            + np.array(attributes[f"nodes_{which}nodeids"])
            for which in ("false", "true")
        ], axis=1)  # fmt: skip
        modes = np.asarray(attributes["nodes_modes"]).astype(int)
        tracks = attributes.get("nodes_missing_value_tracks_true") or [0] * inner
        members = _members(modes, attributes.get("membership_values"))
        forest = _Forest(
            attributes["tree_roots"],
            np.concatenate([modes, np.full(len(weights), _LEAF)]),
            np.array([*attributes["nodes_featureids"], *[0] * len(weights)]),
            np.concatenate([np.asarray(attributes["nodes_splits"], np.float64), np.zeros(len(weights))]),
            members,
            np.concatenate([ways, np.zeros((len(weights), 2), np.int64)]),
            np.array([*tracks, *[0] * len(weights)], bool),
        )
        targets = zip(attributes["leaf_targetids"], weights, strict=True)
        votes = [(inner + at, target, float(weight)) for at, (target, weight) in enumerate(targets)]
        scores = _aggregate(forest.leaves(x), votes, n_targets, _SUMS[aggregate_function])
        return (transformed(scores.astype(x.dtype), _TRANSFORMS[post_transform]),)


def _members(modes: Any, values: Any) -> dict[int, Any]:
    """Return the set of each node that has one; the sets stand one after the other, with NaN between them."""
    if values is None:
        return {}
    array = np.asarray(values, np.float64)
    ends = np.flatnonzero(np.isnan(array))
    sets = [part[~np.isnan(part)] for part in np.split(array, ends)]
    return dict(zip(np.flatnonzero(modes == _MEMBER).tolist(), sets, strict=False))


class TreeEnsembleClassifier(OpRun):  # type: ignore[misc]
    """TreeEnsembleClassifier; where all votes are for one of two classes, ONNX's makes other scores of them."""

    def _run(self, x: Any, *, post_transform: str = "NONE", classlabels_int64s: Any = None,
             classlabels_strings: Any = None, **attributes: Any) -> tuple[Any, Any]:  # fmt: skip
        labels = classlabels_strings or classlabels_int64s
        forest, place = _of_lists(attributes)
        votes = _votes(attributes, "class", place)
        scores = _aggregate(forest.leaves(x), votes, len(labels), "SUM")
        base = _bases(attributes)
        dtype = real_type(x)
        targets = {target for _, target, _ in votes}
        if len(labels) == _TWO and targets == {0}:
            return self._of_one_score(scores[:, :1], base, votes, labels, post_transform, dtype)
        scores = (scores if base is None else scores + base).astype(dtype)
        chosen = scores.argmax(axis=1)
        if len(labels) == _TWO and targets == {1}:
            chosen = _is_second(scores[:, 1], votes)
        return labels_of(chosen, labels), transformed(scores, post_transform)

    @staticmethod
    def _of_one_score(column: Any, base: Any, votes: Any, labels: Any, transform: str, dtype: Any) -> tuple[Any, Any]:
        """Return labels and scores where all votes are for the first of two classes, and are meant for the second."""
        summed = (column if base is None else column + base[-1]).astype(dtype)
        is_share = all(weight >= 0 for _, _, weight in votes)
        return (
            labels_of(_is_second(summed[:, 0], votes), labels),
            with_second_class(summed, transform, is_share=is_share),
        )


def _is_second(score: Any, votes: Any) -> Any:
    """Return 1 where the second class wins: with more than a half where no vote is negative."""
    return (score > (0.5 if all(weight >= 0 for _, _, weight in votes) else 0)).astype(int)


_TWO = 2
