"""The built-in compare functions under the class names that the field has for them.

Each returns what `CompareFunc` returns; a threshold may be one number or a mapping from output to number.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polycmp.builtin.api.compare_functions import CompareFunc, PerOutput, refuse
from polycmp.builtin.functions.indices import Indices
from polycmp.builtin.functions.norms import L2, CosineSimilarity, Psnr, Snr
from polycmp.builtin.observers.postprocess import Postprocess, PostprocessFunc
from polycmp.compare import Simple

__all__ = [
    "CosineSimilarityCompareFunc",
    "IndicesCompareFunc",
    "L2CompareFunc",
    "PsnrCompareFunc",
    "SimpleCompareFunc",
    "SnrCompareFunc",
    "TopKPostprocessFunc",
]


def SimpleCompareFunc(  # noqa: N802
    check_shapes: bool | None = None,
    rtol: PerOutput = None,
    atol: PerOutput = None,
    fail_fast: bool | None = None,
    find_output_func: Any = None,
    check_error_stat: Any = None,
    infinities_compare_equal: bool | None = None,
    error_quantile: PerOutput = None,
    **others: Any,
) -> Simple:
    """Return `CompareFunc.simple` with the same keywords, in the order that programs for other tools rely on."""
    return CompareFunc.simple(
        check_error_stat,
        rtol=rtol,
        atol=atol,
        error_quantile=error_quantile,
        infinities_compare_equal=bool(infinities_compare_equal),
        check_shapes=check_shapes,
        fail_fast=fail_fast,
        find_output_func=find_output_func,
        **others,
    )


def IndicesCompareFunc(  # noqa: N802
    index_tolerance: int | Mapping[str, int] | None = None, fail_fast: bool | None = None
) -> Indices:
    """Return `CompareFunc.indices`."""
    return CompareFunc.indices(index_tolerance, fail_fast)


def L2CompareFunc(  # noqa: N802
    l2_threshold: PerOutput = None,
    check_shapes: bool | None = None,
    fail_fast: bool | None = None,
    find_output_func: Any = None,
) -> L2:
    """Return `CompareFunc.l2`."""
    refuse({"find_output_func": find_output_func})
    return CompareFunc.l2(l2_threshold, check_shapes, fail_fast)


def CosineSimilarityCompareFunc(  # noqa: N802
    cosine_similarity_threshold: PerOutput = None,
    check_shapes: bool | None = None,
    fail_fast: bool | None = None,
    find_output_func: Any = None,
) -> CosineSimilarity:
    """Return `CompareFunc.cosine_similarity`."""
    refuse({"find_output_func": find_output_func})
    return CompareFunc.cosine_similarity(cosine_similarity_threshold, check_shapes, fail_fast)


def PsnrCompareFunc(  # noqa: N802
    psnr_threshold: PerOutput = None,
    check_shapes: bool | None = None,
    fail_fast: bool | None = None,
    find_output_func: Any = None,
) -> Psnr:
    """Return `CompareFunc.psnr`."""
    refuse({"find_output_func": find_output_func})
    return CompareFunc.psnr(psnr_threshold, check_shapes, fail_fast)


def SnrCompareFunc(  # noqa: N802
    snr_threshold: PerOutput = None,
    check_shapes: bool | None = None,
    fail_fast: bool | None = None,
    find_output_func: Any = None,
) -> Snr:
    """Return `CompareFunc.snr`."""
    refuse({"find_output_func": find_output_func})
    return CompareFunc.snr(snr_threshold, check_shapes, fail_fast)


def TopKPostprocessFunc(  # noqa: N802
    k: int | tuple[int, int] | Mapping[str, int | tuple[int, int]] | None = None,
) -> Postprocess:
    """Return `PostprocessFunc.top_k`; None means 10."""
    return PostprocessFunc.top_k(10 if k is None else k)
