"""Compare functions under the names of `polygraphy.comparator`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from polycmp.comparator import CompareFunc as _CompareFunc
from polycmp.comparator import CosineSimilarityCompareFunc as CosineSimilarityCompareFunc
from polycmp.comparator import IndicesCompareFunc as IndicesCompareFunc
from polycmp.comparator import L2CompareFunc as L2CompareFunc
from polycmp.comparator import PsnrCompareFunc as PsnrCompareFunc
from polycmp.comparator import SimpleCompareFunc as _Simple
from polycmp.comparator import SnrCompareFunc as SnrCompareFunc


class Both:
    """Asks two compare functions, which have to pass, and gives one verdict with the figures of both."""

    def __init__(self, one: Any, two: Any) -> None:
        self._functions = one, two

    def __call__(self, candidate: Any, reference: Any, *, output: str = "") -> Any:
        """Return the verdict on two arrays, or the verdicts by name on the outputs of two iterations."""
        one, two = (function(candidate, reference, output=output) for function in self._functions)
        if isinstance(one, Mapping):
            return {name: self._joined(verdict, two[name]) for name, verdict in one.items() if name in two}
        return self._joined(one, two)

    @staticmethod
    def _joined(one: Any, two: Any) -> Any:
        return replace(
            one,
            passed=one.passed and two.passed,
            reason="; ".join(filter(None, (one.reason, two.reason))),
            metrics={**one.metrics, **two.metrics},
            inconclusive=one.inconclusive or two.inconclusive,
        )


class CompareFunc(_CompareFunc):
    """Makes compare functions, whose verdicts hold the median, too, without being asked for it."""

    @staticmethod
    def simple(*args: Any, **kwargs: Any) -> Any:
        """Return `polycmp.comparator.CompareFunc.simple` of the same arguments, with all figures."""
        return _CompareFunc.simple(*args, **{"detail": True, **kwargs})

    @staticmethod
    def distance_metrics(
        l2_tolerance: Any = None,
        cosine_similarity_threshold: Any = None,
        check_shapes: bool | None = None,
        fail_fast: bool | None = None,
    ) -> Both:
        """Return the function of 0.49 that asks for a small L2 norm and a large cosine similarity."""
        rules = check_shapes, fail_fast
        return Both(
            _CompareFunc.l2(l2_tolerance, *rules), _CompareFunc.cosine_similarity(cosine_similarity_threshold, *rules)
        )

    @staticmethod
    def quality_metrics(
        psnr_tolerance: Any = None,
        snr_tolerance: Any = None,
        check_shapes: bool | None = None,
        fail_fast: bool | None = None,
    ) -> Both:
        """Return the function of 0.49 that asks for large ratios of signal to noise: PSNR and SNR."""
        rules = check_shapes, fail_fast
        return Both(_CompareFunc.psnr(psnr_tolerance, *rules), _CompareFunc.snr(snr_tolerance, *rules))


def SimpleCompareFunc(*args: Any, **kwargs: Any) -> Any:  # noqa: N802
    """Return `polycmp.comparator.SimpleCompareFunc` of the same arguments, with all figures."""
    return _Simple(*args, **{"detail": True, **kwargs})
