"""The compare functions beside `simple`. Light: only the standard library and `polycmp.spec` are imported here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from polycmp.builtin.functions.metric_options import IouMatchOptions, KlDivergenceOptions, TopkAgreementOptions
from polycmp.builtin.functions.options import (
    CosineOptions,
    IndicesOptions,
    L2Options,
    PsnrOptions,
    SnrOptions,
    UlpOptions,
)
from polycmp.spec import CompareFuncSpec, hookimpl

_DB = {"larger_is_better": True, "groups": ("quality_metrics",)}
#: Functions that Python programs make with a method of `CompareFunc`, too, which `--gen-script` writes.
_FUNCTIONS: tuple[tuple[str, str, str, type, Mapping[str, Any]], ...] = (
    ("indices", "indices:Indices", "Lists of indices, such as those of a top-k", IndicesOptions, {"rejudges": False}),
    ("l2", "norms:L2", "Euclidean norm of the difference", L2Options, {"groups": ("distance_metrics",)}),
    (
        "cosine_similarity",
        "norms:CosineSimilarity",
        "Cosine of the angle between both outputs",
        CosineOptions,
        {"larger_is_better": True, "groups": ("distance_metrics",)},
    ),
    ("psnr", "norms:Psnr", "Peak signal-to-noise ratio in dB", PsnrOptions, _DB),
    ("snr", "norms:Snr", "Signal-to-noise ratio in dB", SnrOptions, _DB),
    ("ulp", "ulp:Ulp", "Distance in representable numbers", UlpOptions, {}),
)


@hookimpl
def polycmp_compare_funcs() -> Iterable[CompareFuncSpec]:
    """Contribute compare functions for all tensors, and for what a model is for."""
    for name, factory, summary, options, facts in _FUNCTIONS:
        python = f"polycmp.comparator:CompareFunc.{name}"
        further = {"rejudges": True, **facts}
        yield CompareFuncSpec(name, summary, f"polycmp.builtin.functions.{factory}", options, python=python, **further)
    yield CompareFuncSpec(
        name="topk_agreement",
        summary="Share of the K largest entries on which both sides agree",
        factory="polycmp.builtin.functions.metrics:TopkAgreement",
        options=TopkAgreementOptions,
        rejudges=True,
        larger_is_better=True,
    )
    yield CompareFuncSpec(
        name="kl_divergence",
        summary="Kullback-Leibler divergence of the distributions",
        factory="polycmp.builtin.functions.metrics:KlDivergence",
        options=KlDivergenceOptions,
        rejudges=True,
    )
    yield CompareFuncSpec(
        name="iou_match",
        summary="Share of boxes that overlap with one of the other side",
        factory="polycmp.builtin.functions.metrics:IouMatch",
        options=IouMatchOptions,
        rejudges=True,
        larger_is_better=True,
        any_shape=True,
    )
