"""Options of the core's own compare functions and data loaders."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from polycmp.spec import opt, parse_range

STATISTICS = ("elemwise", "max", "mean", "median", "quantile")
NAN_POLICIES = ("forbid", "equal", "differ")


def _number(text: str | float) -> float:
    value = float(text)
    if math.isnan(value):
        raise ValueError("NaN is not a number to compare with")
    return value


def _tolerance(text: str | float) -> float:
    value = _number(text)
    if value < 0:
        raise ValueError(f"{text} is negative; a tolerance is 0 or more")
    if value == math.inf:
        raise ValueError(f"{text} lets everything pass; a tolerance is finite")
    return value


def _decibels(text: str | float) -> float:
    value = _number(text)
    if value == -math.inf:
        raise ValueError(f"{text} lets everything pass; a smallest value is above -inf")
    return value


def _index_tolerance(text: str | int) -> int:
    value = int(text)
    if value != float(text):
        raise ValueError(f"{text} is no whole number")
    if value < 0:
        raise ValueError(f"{text} is negative; a tolerance is 0 or more")
    return value


def _quantile(text: str | float) -> float:
    value = _number(text)
    if not 0 <= value <= 1:
        raise ValueError(f"{text} is not a quantile; it lies between 0 and 1")
    return value


def _similarity(text: str | float) -> float:
    value = _number(text)
    if not -1 <= value <= 1:
        raise ValueError(f"{text} is not a cosine; it lies between -1 and 1")
    return value


def _statistic(text: str) -> str:
    if text not in STATISTICS:
        raise ValueError(f"{text!r} is no statistic; use one of {', '.join(STATISTICS)}")
    return text


def _check(values: Mapping[str, object], check: Callable[..., object], field: str) -> None:
    for name, value in values.items():
        _check_one(value, check, f"{field} of {name!r}" if name else field)


def _check_one(value: object, check: Callable[..., object], what: str) -> None:
    try:
        for item in value if isinstance(value, tuple) else (value,):
            check(item)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{what}: {error}") from None


@dataclass(frozen=True)
class SimpleOptions:
    """Options of `simple`."""

    rtol: Mapping[str, float] = opt(
        {},
        help="Relative tolerance, for all outputs or NAME:VALUE; 1e-5, and 0 for whole numbers.",
        alias=("--rtol", "--rel-tol"),
        metavar="[OUTPUT:]FLOAT",
        parse=_tolerance,
    )
    atol: Mapping[str, float] = opt(
        {},
        help="Absolute tolerance, for all outputs or NAME:VALUE; 1e-5, and 0 for whole numbers.",
        alias=("--atol", "--abs-tol"),
        metavar="[OUTPUT:]FLOAT",
        parse=_tolerance,
    )
    check_error_stat: Mapping[str, tuple[str, ...]] = opt(
        {"": ("elemwise",)},
        help=f"Statistic of the errors that is held against the tolerances: {', '.join(STATISTICS)}. "
        "Several are all checked.",
        alias="--check-error-stat",
        metavar="[OUTPUT:]STATISTIC",
        parse=_statistic,
    )
    error_quantile: Mapping[str, float] = opt(
        {"": 0.99},
        help="The quantile that the statistic `quantile` looks at.",
        alias="--error-quantile",
        metavar="[OUTPUT:]FLOAT",
        parse=_quantile,
    )
    infinities_compare_equal: bool = opt(
        False, help="Infinities of the same sign at the same position are equal.", alias="--infinities-compare-equal"
    )
    nan: str = opt(
        "differ",
        help="NaN: forbid it anywhere, take it as equal where both sides have it, or as differing.",
        choices=NAN_POLICIES,
        alias="--nan",
    )
    scale_atol: bool = opt(
        False,
        help="Take the absolute tolerance in units of the output's largest value where that exceeds 1: what rounding "
        "leaves of large numbers that cancel is no difference then.",
        alias="--scale-atol",
    )

    def __post_init__(self) -> None:
        _check(self.rtol, _tolerance, "rtol")
        _check(self.atol, _tolerance, "atol")
        _check(self.check_error_stat, _statistic, "check_error_stat")
        for name, statistics in self.check_error_stat.items():
            if not statistics:
                what = f"check_error_stat of {name!r}" if name else "check_error_stat"
                raise ValueError(f"{what}: without a statistic everything passes; name some of {', '.join(STATISTICS)}")
        _check(self.error_quantile, _quantile, "error_quantile")
        if self.nan not in NAN_POLICIES:
            raise ValueError(f"nan: {self.nan!r} is none of {', '.join(NAN_POLICIES)}")


@dataclass(frozen=True)
class IndicesOptions:
    """Options of `indices`."""

    tolerance: Mapping[str, int] = opt(
        {"": 0},
        help="By how many places an index may move in its list.",
        alias="--index-tolerance",
        metavar="[OUTPUT:]INT",
        parse=_index_tolerance,
    )

    def __post_init__(self) -> None:
        _check(self.tolerance, _index_tolerance, "tolerance")


@dataclass(frozen=True)
class L2Options:
    """Options of `l2`."""

    threshold: Mapping[str, float] = opt(
        {"": 1e-5},
        help="Largest Euclidean norm of the difference that passes.",
        alias=("--l2-threshold", "--l2-tolerance"),
        metavar="[OUTPUT:]FLOAT",
        parse=_tolerance,
    )

    def __post_init__(self) -> None:
        _check(self.threshold, _tolerance, "threshold")


@dataclass(frozen=True)
class CosineOptions:
    """Options of `cosine_similarity`."""

    threshold: Mapping[str, float] = opt(
        {"": 0.997},
        help="Smallest cosine of the angle between the two outputs that passes.",
        alias="--cosine-similarity-threshold",
        metavar="[OUTPUT:]FLOAT",
        parse=_similarity,
    )

    def __post_init__(self) -> None:
        _check(self.threshold, _similarity, "threshold")


@dataclass(frozen=True)
class PsnrOptions:
    """Options of `psnr`."""

    threshold: Mapping[str, float] = opt(
        {"": 30.0},
        help="Smallest peak signal-to-noise ratio that passes, in dB.",
        alias=("--psnr-threshold", "--psnr-tolerance"),
        metavar="[OUTPUT:]DB",
        parse=_decibels,
    )

    def __post_init__(self) -> None:
        _check(self.threshold, _decibels, "threshold")


@dataclass(frozen=True)
class SnrOptions:
    """Options of `snr`."""

    threshold: Mapping[str, float] = opt(
        {"": 20.0},
        help="Smallest signal-to-noise ratio that passes, in dB.",
        alias=("--snr-threshold", "--snr-tolerance"),
        metavar="[OUTPUT:]DB",
        parse=_decibels,
    )

    def __post_init__(self) -> None:
        _check(self.threshold, _decibels, "threshold")


@dataclass(frozen=True)
class UlpOptions:
    """Options of `ulp`."""

    tolerance: Mapping[str, int] = opt(
        {"": 4},
        help="Largest distance that passes, in representable numbers of the coarser of the two types.",
        metavar="[OUTPUT:]INT",
        parse=_index_tolerance,
    )

    def __post_init__(self) -> None:
        _check(self.tolerance, _index_tolerance, "tolerance")


@dataclass(frozen=True)
class RandomOptions:
    """Options of the data loader `random`."""

    seed: int = opt(1, help="Seed of the first iteration; each further one adds 1.", alias="--seed")
    val_range: Mapping[str, tuple[float, float]] = opt(
        {},
        help="Range of the values, for all inputs or NAME:[LOW,HIGH]; whole numbers include both ends. By default "
        "[0,1], the rows of the table for indices, and ones with padding at the end for masks.",
        alias="--val-range",
        metavar="[INPUT:][LOW,HIGH]",
        parse=parse_range,
    )
    iterations: int = opt(1, help="Number of iterations.", alias=("--iterations", "--iters"))
    backend_module: str = opt(
        "numpy",
        help="Library whose arrays are made, and whose generator draws the numbers.",
        choices=("numpy", "torch"),
        alias="--data-loader-backend-module",
    )

    def __post_init__(self) -> None:
        if not 0 <= self.seed < 2**32:
            raise ValueError(f"seed: {self.seed} does not lie between 0 and 2**32 - 1")
        if self.iterations < 1:
            raise ValueError(f"iterations: {self.iterations} is less than the 1 that a result needs")
        for name, (low, high) in self.val_range.items():
            if not low <= high:
                raise ValueError(f"val_range{f' of {name!r}' if name else ''}: [{low}, {high}] is empty")
