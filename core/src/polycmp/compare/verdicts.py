"""What comparing says: figures for one pair of tensors, one output over all iterations, one pair of runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from polycmp.spec import Verdict


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
        index: Its position.
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
        worst: Where it is worst.
        histogram: Distribution of the absolute error; None unless a report asked for it.
        nan_candidate: NaNs in the candidate.
        nan_reference: NaNs in the reference.
        nan_mismatched: Positions where only one side is NaN.
        nan_failed: NaNs that failed, those at one position of both sides counted once.
        inf_matched: Positions where both sides hold the same infinity.
        inf_forgiven: How many of those counted as equal.
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


@dataclass(frozen=True)
class DetailedVerdict(Verdict):
    """A verdict with the statistics behind it.

    Attributes:
        stats: Error statistics; None where none can be computed (another shape, strings).
        tolerance: The tolerances that were applied, for reports: `{"atol": …, "rtol": …}` or `{"threshold": …}`.
    """

    stats: ErrorStats | None = None
    tolerance: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class OutputComparison:
    """One output of one pair of runs, over all iterations.

    Attributes:
        output: The output's name in the candidate, or in the reference where only that has it.
        reference_output: Its name in the reference; None where it has none.
        passed: Whether all functions passed in all iterations.
        reason: Why not, in words, for the worst iteration.
        verdicts: The verdict of each compare function in the worst iteration, by the function's name.
        iterations: Iterations compared.
        failed_iterations: Iterations that failed.
        worst_iteration: The iteration that `reason` and `verdicts` speak of.
        candidate_type: Element type and shape of the candidate's output, as text.
        reference_type: Likewise of the reference's.
    """

    output: str
    reference_output: str | None
    passed: bool
    reason: str = ""
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    iterations: int = 1
    failed_iterations: int = 0
    worst_iteration: int = 0
    candidate_type: str = ""
    reference_type: str = ""

    @property
    def stats(self) -> ErrorStats | None:
        """The error statistics of the first compare function that has any."""
        for verdict in self.verdicts.values():
            if isinstance(verdict, DetailedVerdict) and verdict.stats is not None:
                return verdict.stats
        return None


@dataclass(frozen=True)
class PairComparison:
    """All outputs of one candidate against the reference.

    Attributes:
        candidate: Label of the candidate.
        reference: Label of the reference.
        passed: Whether every output passed and both ran the same number of iterations.
        outputs: By output name, in the candidate's order, those that only the reference has at the end.
        iterations: Iterations compared.
        reason: What is wrong with the pair as a whole (unequal iterations, nothing in common); else empty.
    """

    candidate: str
    reference: str
    passed: bool
    outputs: Mapping[str, OutputComparison]
    iterations: int
    reason: str = ""
