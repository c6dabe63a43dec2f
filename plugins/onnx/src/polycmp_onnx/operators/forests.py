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


@dataclass(frozen=True)
class _Votes:
    """Votes of leaves, in the order of the leaves.

    Attributes:
        leaves: The leaf of each vote.
        targets: What it votes for.
        weights: Its weight.
    """

    leaves: Any
    targets: Any
    weights: Any

    @classmethod
    def of(cls, leaves: Any, targets: Any, weights: Any) -> _Votes:
        """Make votes that come in any order."""
        order = np.argsort(leaves, kind="stable")
        columns = leaves, np.asarray(targets, np.int64), np.asarray(weights, np.float64)
        return cls(*(column[order] for column in columns))

    @property
    def are_shares(self) -> bool:
        """Whether no vote is negative."""
        return bool((self.weights >= 0).all())

    def aggregate(self, reached: Any, targets: int, how: str) -> Any:
        """Return the sum, average, least or largest of the votes of each row for each target; 0 where there is none.

        Args:
            reached: The leaf of each row in each tree.
            targets: How many targets there are.
            how: `SUM`, `AVERAGE`, `MIN` or `MAX`.
        """
        first, last = (np.searchsorted(self.leaves, reached, side) for side in ("left", "right"))
        counts = (last - first).ravel()
        # The votes of each leaf that was reached, one leaf after the other.
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        chosen = np.repeat(first.ravel(), counts) + within
        cells = np.repeat(np.arange(len(reached)), counts.reshape(reached.shape).sum(axis=1)), self.targets[chosen]
        result = np.full((len(reached), targets), {"MIN": math.inf, "MAX": -math.inf}.get(how, 0.0))
        {"MIN": np.minimum, "MAX": np.maximum}.get(how, np.add).at(result, cells, self.weights[chosen])
        has_any = np.zeros(result.shape, bool)
        has_any[cells] = True
        if how == "AVERAGE":
            result /= reached.shape[1]
        return np.where(has_any, result, 0)


def _votes(attributes: dict[str, Any], kind: str, place: dict[tuple[int, int], int]) -> _Votes:
    """Return the votes of attributes that name leaves by tree and number."""
    keys = zip(attributes[f"{kind}_treeids"], attributes[f"{kind}_nodeids"], strict=True)
    return _Votes.of(
        np.array([place[key] for key in keys], np.int64),
        attributes[f"{kind}_ids"],
        _numbers(attributes, f"{kind}_weights"),
    )


def _bases(attributes: dict[str, Any]) -> Any:
    bases = _numbers(attributes, "base_values")
    return None if bases is None or not len(bases) else np.array(bases, np.float64)


class TreeEnsembleRegressor(OpRun):  # type: ignore[misc]
    """TreeEnsembleRegressor; ONNX's knows few transforms, and gives the largest number where a target has no vote."""

    def _run(self, x: Any, *, n_targets: int = 1, aggregate_function: str = "SUM", post_transform: str = "NONE",
             **attributes: Any) -> tuple[Any]:  # fmt: skip
        forest, place = _of_lists(attributes)
        votes = _votes(attributes, "target", place)
        scores = votes.aggregate(forest.leaves(x), n_targets, aggregate_function)
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
        votes = _Votes.of(inner + np.arange(len(weights)), attributes["leaf_targetids"], weights)
        scores = votes.aggregate(forest.leaves(x), n_targets, _SUMS[aggregate_function])
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
        scores = votes.aggregate(forest.leaves(x), len(labels), "SUM")
        base = _bases(attributes)
        dtype = real_type(x)
        targets = set(votes.targets.tolist())
        if len(labels) == _TWO and targets == {0}:
            return self._of_one_score(scores[:, :1], base, votes, labels, post_transform, dtype)
        scores = (scores if base is None else scores + base).astype(dtype)
        chosen = scores.argmax(axis=1)
        if len(labels) == _TWO and targets == {1}:
            chosen = _is_second(scores[:, 1], votes)
        return labels_of(chosen, labels), transformed(scores, post_transform)

    @staticmethod
    def _of_one_score(
        column: Any, base: Any, votes: _Votes, labels: Any, transform: str, dtype: Any
    ) -> tuple[Any, Any]:
        """Return labels and scores where all votes are for the first of two classes, and are meant for the second."""
        summed = (column if base is None else column + base[-1]).astype(dtype)
        return (
            labels_of(_is_second(summed[:, 0], votes), labels),
            with_second_class(summed, transform, is_share=votes.are_shares),
        )


def _is_second(score: Any, votes: _Votes) -> Any:
    """Return 1 where the second class wins: with more than a half where no vote is negative."""
    return (score > (0.5 if votes.are_shares else 0)).astype(int)


_TWO = 2
