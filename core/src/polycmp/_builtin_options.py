"""Options of the core's own compare function and data loader."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from polycmp.spec import check_values, opt, parse_range, parse_real, parse_tolerance

STATISTICS = ("elemwise", "max", "mean", "median", "quantile")
NAN_POLICIES = ("forbid", "equal", "differ")


def _quantile(text: str | float) -> float:
    value = parse_real(text)
    if not 0 <= value <= 1:
        raise ValueError(f"{text} is not a quantile; it lies between 0 and 1")
    return value


def _statistic(text: str) -> str:
    if text not in STATISTICS:
        raise ValueError(f"{text!r} is not a statistic; use one of {', '.join(STATISTICS)}")
    return text


@dataclass(frozen=True)
class SimpleOptions:
    """Options of `simple`."""

    rtol: Mapping[str, float] = opt(
        {},
        help="Relative tolerance, for all outputs or as NAME:VALUE, in place of measured rounding; 1e-5 if only --atol "
        "is given, or no model runs. Applies to integers only if given by NAME.",
        alias=("--rtol", "--rel-tol"),
        metavar="[OUTPUT:]FLOAT",
        parse=parse_tolerance,
    )
    atol: Mapping[str, float] = opt(
        {},
        help="Absolute tolerance, for all outputs or as NAME:VALUE, in place of measured rounding; 1e-5 if only --rtol "
        "is given, or no model runs, and 0 for integers.",
        alias=("--atol", "--abs-tol"),
        metavar="[OUTPUT:]FLOAT",
        parse=parse_tolerance,
    )
    check_error_stat: Mapping[str, tuple[str, ...]] = opt(
        {"": ("elemwise",)},
        help=f"Statistic of the errors to compare with the tolerances: {', '.join(STATISTICS)}. "
        "If several are given, all are checked.",
        alias="--check-error-stat",
        metavar="[OUTPUT:]STATISTIC",
        parse=_statistic,
    )
    error_quantile: Mapping[str, float] = opt(
        {"": 0.99},
        help="Which quantile the statistic `quantile` uses.",
        alias="--error-quantile",
        metavar="[OUTPUT:]FLOAT",
        parse=_quantile,
    )
    infinities_compare_equal: bool = opt(
        False,
        help="Treat infinities of the same sign at the same position as equal.",
        alias="--infinities-compare-equal",
    )
    nan: str = opt(
        "differ",
        help="How to judge NaN: forbid it anywhere, treat it as equal where both sides have it, or as different.",
        choices=NAN_POLICIES,
        alias="--nan",
    )
    scale_atol: bool = opt(
        False,
        help="Multiply the absolute tolerance by the output's largest value if that exceeds 1, so that rounding "
        "errors of large numbers that cancel do not count as differences.",
        alias="--scale-atol",
    )

    def __post_init__(self) -> None:
        check_values(self.rtol, parse_tolerance, "rtol")
        check_values(self.atol, parse_tolerance, "atol")
        check_values(self.check_error_stat, _statistic, "check_error_stat")
        for name, statistics in self.check_error_stat.items():
            if not statistics:
                what = f"check_error_stat of {name!r}" if name else "check_error_stat"
                raise ValueError(f"{what}: without a statistic everything passes; name some of {', '.join(STATISTICS)}")
        check_values(self.error_quantile, _quantile, "error_quantile")
        if self.nan not in NAN_POLICIES:
            raise ValueError(f"nan: {self.nan!r} is none of {', '.join(NAN_POLICIES)}")


@dataclass(frozen=True)
class RandomOptions:
    """Options of the data loader `random`."""

    seed: int = opt(1, help="Seed of the first iteration; each later one adds 1.", alias="--seed")
    val_range: Mapping[str, tuple[float, float]] = opt(
        {},
        help="Range of the values, for all inputs or as NAME:[LOW,HIGH]; integers include both ends. By default "
        "[0,1]; for indices, the rows of the table they index; for masks, ones with padding at the end.",
        alias="--val-range",
        metavar="[INPUT:][LOW,HIGH]",
        parse=parse_range,
    )
    iterations: int = opt(1, help="Number of iterations.", alias=("--iterations", "--iters"))
    backend_module: str = opt(
        "numpy",
        help="Library that draws the numbers, and whose arrays the backends get.",
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
