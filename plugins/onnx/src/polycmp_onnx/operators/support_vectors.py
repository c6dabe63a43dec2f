"""Support vector machines of ai.onnx.ml, as libsvm has them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from onnx.reference.op_run import OpRun

from polycmp_onnx.operators.scores import labels_of, real_type, transformed, with_second_class

#: Probabilities of pairs keep this distance from 0 and 1.
_MARGIN = 1e-7


def _kernel(x: Any, vectors: Any, kind: str, parameters: Any) -> Any:
    """Return the kernel of every row with every support vector."""
    gamma, shift, degree = (list(parameters or ()) + [0.0] * 3)[:3]
    if kind == "RBF":
        return np.exp(-gamma * np.square(x[:, None] - vectors).sum(axis=-1))
    product = x @ vectors.T
    if kind == "POLY":
        return (gamma * product + shift) ** degree
    return np.tanh(gamma * product + shift) if kind == "SIGMOID" else product


class SVMRegressor(OpRun):  # type: ignore[misc]
    """SVMRegressor; ONNX's knows no transform."""

    def _run(self, x: Any, *, coefficients: Any, rho: Any, support_vectors: Any = None, n_supports: int = 0,
             kernel_type: str = "LINEAR", kernel_params: Any = None, one_class: int = 0,
             post_transform: str = "NONE") -> tuple[Any]:  # fmt: skip
        wide = x.astype(real_type(x))
        factors = np.array(coefficients, wide.dtype)
        if n_supports:
            vectors = np.reshape(support_vectors, (n_supports, -1)).astype(wide.dtype)
            values = _kernel(wide, vectors, kernel_type, kernel_params) @ factors
        else:
            values = wide @ factors
        scores = (values + np.array(rho[0], wide.dtype))[:, None].astype(wide.dtype)
        if one_class:
            return (np.where(scores > 0, 1, -1).astype(wide.dtype),)
        return (transformed(scores, post_transform),)


class SVMClassifier(OpRun):  # type: ignore[misc]
    """SVMClassifier; ONNX's multiplies the wrong pairs where it makes probabilities of more than two classes."""

    def _run(self, x: Any, *, coefficients: Any, rho: Any, support_vectors: Any = None, vectors_per_class: Any = None,
             kernel_type: str = "LINEAR", kernel_params: Any = None, post_transform: str = "NONE", prob_a: Any = None,
             prob_b: Any = None, classlabels_ints: Any = None, classlabels_strings: Any = None) -> tuple[Any,
                 Any]:  # fmt: skip
        wide = x.astype(real_type(x))
        labels = classlabels_strings or classlabels_ints
        count = len(labels)
        if not vectors_per_class or not sum(vectors_per_class):
            factors = np.reshape(coefficients, (count, -1)).astype(wide.dtype)
            scores = wide @ factors.T + np.array(rho[0], wide.dtype)
            chosen = scores.argmax(axis=1)
            if count == _TWO:
                is_positive = min(coefficients) >= 0
                best = scores.max(axis=1)
                chosen = np.where((best >= 0.5) if is_positive else (best > 0), 1, chosen)
            return labels_of(chosen, labels), transformed(scores, post_transform)
        scores, votes = _pairs(wide, np.reshape(coefficients, (count - 1, -1)), np.reshape(
            support_vectors, (sum(vectors_per_class), -1)), vectors_per_class, rho, kernel_type,
                kernel_params)  # fmt: skip
        chosen = votes.argmax(axis=1)
        if prob_a:
            scores = _probabilities(scores, count, np.array(prob_a), np.array(prob_b)).astype(wide.dtype)
            chosen = scores.argmax(axis=1)
        if scores.shape[1] > 1:
            return labels_of(chosen, labels), transformed(scores, post_transform)
        return labels_of(chosen, labels), with_second_class(scores, post_transform, is_share=post_transform != "NONE")


_TWO = 2


def _pairs(x: Any, factors: Any, vectors: Any, counts: Any, rho: Any, kind: str, parameters: Any) -> tuple[Any, Any]:
    """Return the decision of each pair of classes, and how many of them each class wins."""
    kernels = _kernel(x, vectors.astype(x.dtype), kind, parameters)
    ends = np.cumsum([0, *counts])
    decisions = []
    votes = np.zeros((len(x), len(counts)))
    for place, (i, j) in enumerate(itertools.combinations(range(len(counts)), 2)):
        of_i, of_j = slice(ends[i], ends[i + 1]), slice(ends[j], ends[j + 1])
        value = rho[place] + kernels[:, of_i] @ factors[j - 1, of_i] + kernels[:, of_j] @ factors[i, of_j]
        votes[np.arange(len(x)), np.where(value > 0, i, j)] += 1
        decisions.append(value)
    return np.stack(decisions, axis=1).astype(x.dtype), votes


def _probabilities(decisions: Any, count: int, a: Any, b: Any) -> Any:
    """Return probabilities of classes, made of those of pairs."""
    of_pairs = (1 / (1 + np.exp(decisions * a + b))).clip(_MARGIN, 1 - _MARGIN)
    result = []
    for row in of_pairs:
        r = np.zeros((count, count))
        for value, (i, j) in zip(row, itertools.combinations(range(count), 2), strict=True):
            r[i, j], r[j, i] = value, 1 - value
        result.append(_coupled(r))
    return np.array(result)


def _coupled(r: Any) -> Any:
    """Return what `multiclass_probability` of libsvm does, with its limits."""
    count = len(r)
    q = -r.T * r
    np.fill_diagonal(q, np.square(r).sum(axis=0))
    p = np.full(count, 1 / count)
    for _ in range(max(100, count)):
        product = q @ p
        total = p @ product
        if np.abs(product - total).max() < 0.005 / count:
            break
        for t in range(count):
            step = (total - product[t]) / q[t, t]
            p[t] += step
            total = (total + step * (step * q[t, t] + 2 * product[t])) / (1 + step) ** 2
            product = (product + step * q[t]) / (1 + step)
            p /= 1 + step
    return p
