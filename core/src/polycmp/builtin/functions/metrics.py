"""Compare functions for what a model is for: classes, distributions, boxes.

A small error may change all of it, and a large one nothing.

Each judges one output of one iteration; over a data set their metrics are averaged with `--check-average`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from polycmp.builtin.functions.boxes import corners, match
from polycmp.builtin.functions.metric_options import IouMatchOptions, KlDivergenceOptions, TopkAgreementOptions
from polycmp.options import pick
from polycmp.spec import Verdict
from polycmp.tensors import to_numpy

Floats = NDArray[np.float64]

#: Distance of the sum of probabilities from 1 that is allowed: the rounding of a thousand of them in float16.
_SUM = 1e-2


def _real(array: Any) -> Floats:
    """Return an array in float64.

    Raises:
        ValueError: It does not hold real numbers.
    """
    numbers = np.asarray(to_numpy(array))
    if numbers.dtype.kind in "OSUcM":
        raise ValueError(f"{numbers.dtype} is not a type of real numbers")
    return numbers.astype(np.float64)


def _pair(candidate: Any, reference: Any) -> tuple[Floats, Floats] | Verdict:
    """Return both sides in float64; a verdict where they cannot be compared."""
    try:
        return _real(candidate), _real(reference)
    except ValueError as error:
        return Verdict(False, str(error))


def _rows(array: Floats, axis: int) -> Floats:
    """Return an array as rows along an axis."""
    moved = np.moveaxis(np.atleast_1d(array), axis, -1)
    return np.ascontiguousarray(moved).reshape(-1, moved.shape[-1])


def _row_pair(candidate: Any, reference: Any, axis: int) -> tuple[Floats, Floats] | Verdict:
    pair = _pair(candidate, reference)
    if isinstance(pair, Verdict):
        return pair
    a, b = pair
    if a.shape != b.shape:
        return Verdict(False, f"shapes differ: {list(a.shape)} and {list(b.shape)}")
    if not -max(a.ndim, 1) <= axis < max(a.ndim, 1):
        return Verdict(False, f"there is no axis {axis} in the shape {list(a.shape)}")
    if not a.size:
        return a.reshape(0, 1), b.reshape(0, 1)
    return _rows(a, axis), _rows(b, axis)


@dataclass(frozen=True)
class TopkAgreement:
    """The share of the candidate's K largest entries that are among the reference's K largest.

    An entry counts as one of the reference's where the reference's own value there is no smaller than its K-th
    largest: among equal values the order says nothing. Rows that hold NaN on either side agree in nothing.

    Args:
        options: Number of entries, axis, and smallest share that passes.
    """

    options: TopkAgreementOptions
    #: A factor changes no order, and that of equal values says nothing.
    ignores: ClassVar[frozenset[str]] = frozenset({"zeros", "constant", "halved", "larger"})

    def __call__(self, candidate: Any, reference: Any, *, output: str = "") -> Verdict:
        """Return the verdict on one output; metrics are `agreement`, and `worst_row` for the least of a row."""
        pair = _row_pair(candidate, reference, self.options.axis)
        if isinstance(pair, Verdict):
            return pair
        a, b = pair
        if not a.size:
            return self.judge_metrics({"agreement": 1.0, "worst_row": 1.0}, output=output)
        k = min(self.options.k, a.shape[1])
        with np.errstate(invalid="ignore"):
            chosen = np.argsort(-a, axis=1, kind="stable")[:, :k]
            least = np.partition(b, b.shape[1] - k, axis=1)[:, b.shape[1] - k]
            hits = np.take_along_axis(b, chosen, axis=1) >= least[:, None]
        share = hits.mean(axis=1)
        share[np.isnan(a).any(axis=1) | np.isnan(b).any(axis=1)] = 0.0
        worst = int(share.argmin())
        metrics = {"agreement": float(share.mean()), "worst_row": float(share[worst])}
        verdict = self.judge_metrics(metrics, output=output)
        if verdict.passed:
            return verdict
        return Verdict(False, f"{verdict.reason}; the worst is row {worst} with {share[worst]:.3g}", metrics)

    def judge_metrics(self, metrics: Mapping[str, float], /, *, output: str = "") -> Verdict:
        """Return the verdict on metrics."""
        wanted, agreement = pick(self.options.threshold, output, 1.0), metrics["agreement"]
        if agreement >= wanted:
            return Verdict(True, "", metrics)
        return Verdict(False, f"{agreement:.4g} of the top {self.options.k} agree, and {wanted:g} must", metrics)


@dataclass(frozen=True)
class KlDivergence:
    """The Kullback-Leibler divergence of the candidate's distribution from the reference's, in nats.

    `sum(p * log(p / q))` along an axis, with p the reference (Kullback and Leibler, On Information and Sufficiency,
    1951). It is infinite where the candidate gives no probability to what the reference thinks possible.

    Args:
        options: Form of the outputs, axis, and largest divergence that passes.
    """

    options: KlDivergenceOptions
    ignores: ClassVar[frozenset[str]] = frozenset()

    def __call__(self, candidate: Any, reference: Any, *, output: str = "") -> Verdict:
        """Return the verdict on one output; metrics are `mean` and `max` over the distributions in it."""
        pair = _row_pair(candidate, reference, self.options.axis)
        if isinstance(pair, Verdict):
            return pair
        a, b = pair
        if not a.size:
            return self.judge_metrics({"mean": 0.0, "max": 0.0}, output=output)
        if self.options.of == "probabilities":
            for side, rows in (("candidate", a), ("reference", b)):
                if not (np.isfinite(rows).all() and (rows >= 0).all() and (abs(rows.sum(axis=1) - 1) <= _SUM).all()):
                    hint = "--kl-divergence-of logits applies a softmax first"
                    return Verdict(False, f"the {side}'s rows are no probabilities, which add up to 1; {hint}")
            with np.errstate(divide="ignore"):
                log_q, log_p = np.log(a), np.log(b)
        else:
            log_q, log_p = _log_softmax(a), _log_softmax(b)
        divergences = _divergences(log_p, log_q)
        worst = int(np.nan_to_num(divergences, nan=np.inf).argmax())
        verdict = self.judge_metrics(
            {"mean": float(divergences.mean()), "max": float(divergences[worst])}, output=output
        )
        if verdict.passed:
            return verdict
        return Verdict(
            False, f"{verdict.reason}; the worst is row {worst} with {divergences[worst]:.3g}", verdict.metrics
        )

    def judge_metrics(self, metrics: Mapping[str, float], /, *, output: str = "") -> Verdict:
        """Return the verdict on metrics."""
        allowed, mean = pick(self.options.threshold, output, 1e-3), metrics["mean"]
        if mean <= allowed:
            return Verdict(True, "", metrics)
        return Verdict(False, f"the divergence is {mean:.4g} nats in the mean, and {allowed:g} is allowed", metrics)


def _divergences(log_p: Floats, log_q: Floats) -> Floats:
    """Return the divergence of each row; what has no probability in the reference adds nothing."""
    with np.errstate(invalid="ignore", over="ignore"):
        terms = np.exp(log_p) * (log_p - log_q)
    terms[np.isneginf(log_p)] = 0.0
    sums: Floats = np.maximum(terms.sum(axis=1), 0.0)  # rounding alone makes it negative
    return sums


def _log_softmax(rows: Floats) -> Floats:
    with np.errstate(invalid="ignore"):
        shifted = rows - rows.max(axis=1, keepdims=True)
        logarithms: Floats = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return logarithms


@dataclass(frozen=True)
class IouMatch:
    """Boxes matched by their overlap, in any order and number.

    Pairs are made greedily, the largest intersection over union first, within each image. A box that has no partner
    with at least `min_iou` is unmatched, on either side. Boxes without area and those that hold NaN are padding on
    which nothing depends if the reference has them, too; the candidate's count as unmatched only if they have area.

    Args:
        options: Form of the boxes, and smallest share that must match.
    """

    options: IouMatchOptions
    #: Boxes that are a tenth larger overlap, and those of one image have no order.
    ignores: ClassVar[frozenset[str]] = frozenset({"halved", "larger", "row"})

    def __call__(self, candidate: Any, reference: Any, *, output: str = "") -> Verdict:
        """Return the verdict on one output.

        Args:
            candidate: Boxes of shape (boxes, 4 or more) or (images, boxes, 4 or more); columns after the fourth are
                not looked at.
            reference: Likewise; the number of boxes may differ.
            output: The output's name, for a threshold of its own.
        """
        pair = _pair(candidate, reference)
        if isinstance(pair, Verdict):
            return pair
        for array in pair:
            if array.ndim not in {2, 3} or array.shape[-1] < 4:
                shape = list(array.shape)
                return Verdict(False, f"boxes have the shape (boxes, 4) or (images, boxes, 4), and this is {shape}")
        a, b = (array if array.ndim == 3 else array[None] for array in pair)
        if len(a) != len(b):
            return Verdict(False, f"there are boxes for {len(a)} images instead of {len(b)}")
        form, least = self.options.form, self.options.min_iou
        matches = [
            match(corners(candidate_boxes, form), corners(reference_boxes, form), least)
            for candidate_boxes, reference_boxes in zip(a, b, strict=True)
        ]
        overlaps = np.concatenate([item.overlaps for item in matches]) if matches else np.zeros(0)
        total = sum(item.total for item in matches)
        metrics = {
            "matched": 2 * len(overlaps) / total if total else 1.0,
            "mean_iou": float(overlaps.mean()) if len(overlaps) else 1.0,
            "min_iou": float(overlaps.min()) if len(overlaps) else 1.0,
        }
        verdict = self.judge_metrics(metrics, output=output)
        lost = next((f"box {item.lost[0]} of image {image}" for image, item in enumerate(matches) if item.lost), "")
        if verdict.passed or not lost:
            return verdict
        return Verdict(False, f"{verdict.reason}; the reference's {lost} has no partner", metrics)

    def judge_metrics(self, metrics: Mapping[str, float], /, *, output: str = "") -> Verdict:
        """Return the verdict on metrics."""
        wanted, matched = pick(self.options.threshold, output, 1.0), metrics["matched"]
        if matched >= wanted:
            return Verdict(True, "", metrics)
        reason = f"{matched:.4g} of the boxes overlap by {self.options.min_iou:g} or more, and {wanted:g} must"
        return Verdict(False, reason, metrics)
