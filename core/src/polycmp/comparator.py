"""Compare backends in a Python program: `Comparator`, `CompareFunc`, `DataLoader`, `RunResults`."""

from __future__ import annotations

from polycmp.builtin.api.comparator import (
    AccuracyResult,
    AccuracyResults,
    Comparator,
    CompareFunc,
    CosineSimilarityCompareFunc,
    DataLoader,
    IndicesCompareFunc,
    IterationResult,
    L2CompareFunc,
    PostprocessFunc,
    PsnrCompareFunc,
    RunResults,
    SimpleCompareFunc,
    SnrCompareFunc,
    StreamingDataLoader,
    TopKPostprocessFunc,
    parse_postprocess,
)

__all__ = [
    "AccuracyResult",
    "AccuracyResults",
    "Comparator",
    "CompareFunc",
    "CosineSimilarityCompareFunc",
    "DataLoader",
    "IndicesCompareFunc",
    "IterationResult",
    "L2CompareFunc",
    "PostprocessFunc",
    "PsnrCompareFunc",
    "RunResults",
    "SimpleCompareFunc",
    "SnrCompareFunc",
    "StreamingDataLoader",
    "TopKPostprocessFunc",
    "parse_postprocess",
]
