"""A verdict with the figures behind it, open to every compare function.

A compare function that returns a `DetailedVerdict` instead of a `polycmp.spec.Verdict` fills the columns for the
largest errors, the worst element and the histograms of all reports, as far as its `ErrorStats` hold them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from polycmp.spec import Verdict

__all__ = ["DetailedVerdict", "ErrorStats", "Histogram", "Worst"]


@dataclass(frozen=True)
class Histogram:
    """Counts of absolute errors in bins of equal width on a logarithmic axis.

    Attributes:
        edges: Borders of the bins, one more than counts; the first bin also holds all smaller errors.
        counts: Elements per bin.
    """

    edges: tuple[float, ...]
    counts: tuple[int, ...]


@dataclass(frozen=True)
class Worst:
    """The element that failed by most, or where none failed the one with the largest error.

    Attributes:
        index: Position of the element.
        candidate: The candidate's value as text or number.
        reference: The reference's value.
    """

    index: tuple[int, ...]
    candidate: float | int | str | bool
    reference: float | int | str | bool


@dataclass(frozen=True)
class ErrorStats:
    """Statistics of `|candidate - reference|` and of it divided by `|reference|`, over the elements of one tensor.

    Attributes:
        count: Elements compared.
        failed: Elements beyond both tolerances.
        max_abs: Largest absolute error.
        scale: Largest finite magnitude of the reference; 0 if that holds nothing but zeros, or is not known.
        mean_abs: Mean absolute error.
        max_rel: Largest relative error.
        mean_rel: Mean relative error.
        median_abs: Median absolute error; None unless it was asked for.
        median_rel: Median relative error; None unless it was asked for.
        p90: 90th percentile of the absolute error; None unless a report asked for it; likewise p95 and p99.
        p95: See p90.
        p99: See p90.
        quantile_abs: The quantile asked for, of the absolute error.
        quantile_rel: The quantile asked for, of the relative error.
        required_abs: Smallest atol that alone would have passed.
        required_rel: Smallest rtol that alone would have passed.
        worst: The worst element; None if there is none.
        histogram: Distribution of the absolute error; None unless a report asked for it.
        nan_candidate: NaNs in the candidate.
        nan_reference: NaNs in the reference.
        nan_mismatched: Positions where only one side is NaN.
        nan_failed: NaNs that failed, those at one position of both sides counted once.
        inf_matched: Positions where both sides hold the same infinity.
        inf_forgiven: Number of those that counted as equal.
        whole: Whether both sides hold whole numbers or booleans.
    """

    count: int = 0
    failed: int = 0
    max_abs: float = 0.0
    mean_abs: float = 0.0
    max_rel: float = 0.0
    mean_rel: float = 0.0
    median_abs: float | None = None
    median_rel: float | None = None
    p90: float | None = None
    p95: float | None = None
    p99: float | None = None
    quantile_abs: float | None = None
    quantile_rel: float | None = None
    required_abs: float = 0.0
    required_rel: float = 0.0
    worst: Worst | None = None
    histogram: Histogram | None = None
    nan_candidate: int = 0
    nan_reference: int = 0
    nan_mismatched: int = 0
    nan_failed: int = 0
    inf_matched: int = 0
    inf_forgiven: int = 0
    whole: bool = False
    scale: float = 0.0

    @property
    def share(self) -> float | None:
        """The largest absolute error as a share of the largest magnitude of the reference; None if that is 0."""
        if self.max_abs == 0.0:
            return 0.0
        return self.max_abs / self.scale if self.scale > 0.0 else None


def _figure(metric: str) -> Any:
    """Return a property that reads a metric, None where it was not computed."""
    return property(lambda self: self.figure(metric), doc=f"The metric `{metric}`, under the name of the field.")


class Figures:
    """Reads a verdict as programs of the field do: its figures by their names there, and `verdict == True`."""

    passed: bool

    max_absdiff: float | None = _figure("max_abs")
    max_reldiff: float | None = _figure("max_rel")
    mean_absdiff: float | None = _figure("mean_abs")
    mean_reldiff: float | None = _figure("mean_rel")
    median_absdiff: float | None = _figure("median_abs")
    median_reldiff: float | None = _figure("median_rel")
    quantile_absdiff: float | None = _figure("quantile_abs")
    quantile_reldiff: float | None = _figure("quantile_rel")
    l2_norm: float | None = _figure("l2")
    cosine_similarity: float | None = _figure("cosine_similarity")
    psnr: float | None = _figure("psnr")
    snr: float | None = _figure("snr")

    def figure(self, metric: str) -> float | None:
        """Return a metric; None where it was not computed."""
        raise NotImplementedError(type(self).__name__)

    def __eq__(self, other: object) -> bool:
        """Return whether it passed as a truth value says, or equals another verdict in all that it holds."""
        if isinstance(other, bool):
            return self.passed is other
        return bool(self.__class__ is other.__class__ and vars(self) == vars(other))

    __hash__: ClassVar[None] = None  # type: ignore[assignment]  # it holds mappings


@dataclass(frozen=True, eq=False)
class DetailedVerdict(Figures, Verdict):
    """A verdict with the statistics behind it, which equals a truth value if it says the same.

    Attributes:
        stats: Error statistics; None where none can be computed (another shape, strings).
        tolerance: The tolerances that were applied, for reports: `{"atol": …, "rtol": …}` or `{"threshold": …}`.
    """

    stats: ErrorStats | None = None
    tolerance: Mapping[str, float] = field(default_factory=dict)

    def figure(self, metric: str) -> float | None:
        """Return a metric; None where it was not computed."""
        return self.metrics.get(metric)
