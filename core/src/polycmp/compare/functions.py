"""The factories of the built-in compare functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polycmp.compare.indices import Indices
from polycmp.compare.norms import Norm, cosine, l2_norm, peak_signal_to_noise, signal_to_noise
from polycmp.compare.simple import Simple
from polycmp.compare.ulp import Ulp

if TYPE_CHECKING:
    from polycmp import builtin_options


def make_simple(options: builtin_options.SimpleOptions, *, detail: bool = False) -> Simple:
    """Return `simple`; with `detail` it also computes what only a report shows."""
    return Simple(options, detail)


def make_indices(options: builtin_options.IndicesOptions) -> Indices:
    """Return `indices`."""
    return Indices(options.tolerance)


def make_l2(options: builtin_options.L2Options) -> Norm:
    """Return `l2`: the Euclidean norm of the difference, not divided by the size."""
    return Norm("l2", l2_norm, options.threshold, 1e-5, at_most=True)


def make_cosine_similarity(options: builtin_options.CosineOptions) -> Norm:
    """Return `cosine_similarity`."""
    return Norm("cosine_similarity", cosine, options.threshold, 0.997, at_most=False)


def make_psnr(options: builtin_options.PsnrOptions) -> Norm:
    """Return `psnr`; the peak is the largest magnitude in the reference."""
    return Norm("psnr", peak_signal_to_noise, options.threshold, 30.0, at_most=False, unit=" dB")


def make_snr(options: builtin_options.SnrOptions) -> Norm:
    """Return `snr`; the signal is the reference."""
    return Norm("snr", signal_to_noise, options.threshold, 20.0, at_most=False, unit=" dB")


def make_ulp(options: builtin_options.UlpOptions) -> Ulp:
    """Return `ulp`."""
    return Ulp(options.tolerance)
