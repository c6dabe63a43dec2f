"""The compare functions beside `simple`. Light: only the standard library and `polycmp.spec` are imported here."""

from __future__ import annotations

from collections.abc import Iterable

from polycmp.builtin.functions.metric_options import IouMatchOptions, KlDivergenceOptions, TopkAgreementOptions
from polycmp.builtin.functions.options import (
    CosineOptions,
    IndicesOptions,
    L2Options,
    PsnrOptions,
    SnrOptions,
    UlpOptions,
)
from polycmp.spec import CompareFuncSpec, CompareFuncTools, hookimpl

#: The functions: name, factory, summary, options, and tools.
_FUNCTIONS: tuple[tuple[str, str, str, type, str], ...] = (
    ("indices", "indices:Indices", "Lists of indices, such as those of a top-k", IndicesOptions, "IndicesTools"),
    ("l2", "norms:L2", "Euclidean norm of the difference", L2Options, "L2Tools"),
    (
        "cosine_similarity",
        "norms:CosineSimilarity",
        "Cosine of the angle between both outputs",
        CosineOptions,
        "CosineTools",
    ),
    ("psnr", "norms:Psnr", "Peak signal-to-noise ratio in dB", PsnrOptions, "PsnrTools"),
    ("snr", "norms:Snr", "Signal-to-noise ratio in dB", SnrOptions, "SnrTools"),
    ("ulp", "ulp:Ulp", "Distance in representable numbers", UlpOptions, "UlpTools"),
    (
        "topk_agreement",
        "metrics:TopkAgreement",
        "Share of the K largest entries on which both sides agree",
        TopkAgreementOptions,
        "SimilarityTools",
    ),
    (
        "kl_divergence",
        "metrics:KlDivergence",
        "Kullback-Leibler divergence of the distributions",
        KlDivergenceOptions,
        "MetricTools",
    ),
    (
        "iou_match",
        "metrics:IouMatch",
        "Share of boxes that overlap with one of the other side",
        IouMatchOptions,
        "IouMatchTools",
    ),
)


@hookimpl
def polycmp_compare_funcs() -> Iterable[CompareFuncSpec]:
    """Contribute compare functions for all tensors, and for what a model is for."""
    for name, factory, summary, options, tools in _FUNCTIONS:
        yield CompareFuncSpec(
            name, summary, f"polycmp.builtin.functions.{factory}", options, tools=f"{__name__}:{tools}"
        )


class MetricTools(CompareFuncTools):
    """A metric, which can be judged again."""

    rejudges = True


class SimilarityTools(MetricTools):
    """A metric of which a larger one is better."""

    larger_is_better = True


class IouMatchTools(SimilarityTools):
    """Any number of boxes."""

    any_shape = True


class IndicesTools(CompareFuncTools):
    """Also a method of `CompareFunc` for programs, as those below."""

    python = "polycmp.comparator:CompareFunc.indices"


class L2Tools(MetricTools):
    """A distance."""

    groups: tuple[str, ...] = ("distance_metrics",)
    python = "polycmp.comparator:CompareFunc.l2"


class CosineTools(SimilarityTools):
    """A distance by its name, and larger where vectors are closer."""

    groups: tuple[str, ...] = ("distance_metrics",)
    python = "polycmp.comparator:CompareFunc.cosine_similarity"


class PsnrTools(SimilarityTools):
    """A quality in dB."""

    groups: tuple[str, ...] = ("quality_metrics",)
    python = "polycmp.comparator:CompareFunc.psnr"


class SnrTools(SimilarityTools):
    """A quality in dB."""

    groups: tuple[str, ...] = ("quality_metrics",)
    python = "polycmp.comparator:CompareFunc.snr"


class UlpTools(MetricTools):
    """A metric of numbers."""

    python = "polycmp.comparator:CompareFunc.ulp"
