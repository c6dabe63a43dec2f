"""Options of the compare functions that judge by one number, or by places. Light: a help text needs them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from polycmp.spec import check_values, opt, parse_real, parse_tolerance


def _decibels(text: str | float) -> float:
    value = parse_real(text)
    if value == -math.inf:
        raise ValueError(f"{text} lets everything pass; a smallest value is above -inf")
    return value


def _index_tolerance(text: str | int) -> int:
    value = int(text)
    if value != float(text):
        raise ValueError(f"{text} is not a whole number")
    if value < 0:
        raise ValueError(f"{text} is negative; a tolerance is 0 or more")
    return value


def _similarity(text: str | float) -> float:
    value = parse_real(text)
    if not -1 <= value <= 1:
        raise ValueError(f"{text} is not a cosine; it lies between -1 and 1")
    return value


@dataclass(frozen=True)
class IndicesOptions:
    """Options of `indices`."""

    tolerance: Mapping[str, int] = opt(
        {"": 0},
        help="How many places an index may move within its list.",
        alias="--index-tolerance",
        metavar="[OUTPUT:]INT",
        parse=_index_tolerance,
    )

    def __post_init__(self) -> None:
        check_values(self.tolerance, _index_tolerance, "tolerance")


@dataclass(frozen=True)
class L2Options:
    """Options of `l2`."""

    threshold: Mapping[str, float] = opt(
        {"": 1e-5},
        help="Largest Euclidean norm of the difference that passes.",
        alias=("--l2-threshold", "--l2-tolerance"),
        metavar="[OUTPUT:]FLOAT",
        parse=parse_tolerance,
    )

    def __post_init__(self) -> None:
        check_values(self.threshold, parse_tolerance, "threshold")


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
        check_values(self.threshold, _similarity, "threshold")


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
        check_values(self.threshold, _decibels, "threshold")


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
        check_values(self.threshold, _decibels, "threshold")


@dataclass(frozen=True)
class UlpOptions:
    """Options of `ulp`."""

    tolerance: Mapping[str, int] = opt(
        {"": 4},
        help="Largest distance that passes, counted in representable numbers of the coarser of the two types.",
        metavar="[OUTPUT:]INT",
        parse=_index_tolerance,
    )

    def __post_init__(self) -> None:
        check_values(self.tolerance, _index_tolerance, "tolerance")
