"""Scores of classifiers and regressors of ai.onnx.ml, and what transforms them.

The standard names the transforms and says no more of them, nor which scores two classes have where a model gives one.
Both are as ONNX Runtime has them, with which producers of such files test them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

#: The coefficient of the approximation of erf that PROBIT inverts.
_ERF = 0.147
#: Scores as small as this are zero to SOFTMAX_ZERO.
_ZERO = 1e-7


def real_type(x: Any) -> np.dtype[Any]:
    """Return the type in which scores of some data are calculated."""
    return np.dtype(np.float64 if x.dtype == np.float64 else np.float32)


def labels_of(places: Any, labels: Sequence[Any]) -> Any:
    """Return the labels at places."""
    return np.array(labels, object if isinstance(labels[0], (str, bytes)) else np.int64)[places]


def transformed(scores: Any, transform: str) -> Any:
    """Return rows of scores, transformed."""
    if transform == "LOGISTIC":
        return _logistic(scores)
    if transform == "PROBIT":
        return _probit(scores)
    if transform not in {"SOFTMAX", "SOFTMAX_ZERO"}:
        return scores
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    if transform == "SOFTMAX_ZERO":
        powers = np.where(np.abs(scores) > _ZERO, powers, scores * np.exp(-scores.max(axis=1, keepdims=True)))
    total = powers.sum(axis=1, keepdims=True)
    return np.divide(powers, total, out=np.full_like(powers, 0.5), where=total != 0)


def with_second_class(scores: Any, transform: str, *, is_share: bool) -> Any:
    """Return the scores of two classes where a model gives one.

    Args:
        scores: A column of them.
        transform: What transforms scores.
        is_share: Whether the score is that of the second class as a share of 1; else the first has its negative.
    """
    if transform == "LOGISTIC":
        return np.concatenate([_logistic(-scores), _logistic(scores)], axis=1)
    both = np.concatenate([1 - scores if is_share else -scores, scores], axis=1)
    return _probit(both) if transform == "PROBIT" else both


def _logistic(x: Any) -> Any:
    share = 1 / (1 + np.exp(-np.abs(x)))
    return np.where(x < 0, 1 - share, share)


def _probit(x: Any) -> Any:
    y = 2 * x - 1
    log = np.log((1 - y) * (1 + y))
    v = 2 / (math.pi * _ERF) + 0.5 * log
    return math.sqrt(2) * np.sign(y) * np.sqrt(np.sqrt(v * v - log / _ERF) - v)
