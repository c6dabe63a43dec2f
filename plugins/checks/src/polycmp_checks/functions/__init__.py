"""Compare functions for all tensors: `indices`, `l2`, `cosine_similarity`, `psnr`, `snr`, `ulp`."""

from __future__ import annotations

from polycmp_checks.function_options import (
    CosineOptions,
    IndicesOptions,
    L2Options,
    PsnrOptions,
    SnrOptions,
    UlpOptions,
)
from polycmp_checks.functions.indices import Indices
from polycmp_checks.functions.norms import L2, CosineSimilarity, Psnr, Snr
from polycmp_checks.functions.ulp import Ulp

__all__ = [
    "L2",
    "CosineOptions",
    "CosineSimilarity",
    "Indices",
    "IndicesOptions",
    "L2Options",
    "Psnr",
    "PsnrOptions",
    "Snr",
    "SnrOptions",
    "Ulp",
    "UlpOptions",
]
