"""Compare backends in a Python program: `Comparator`, `CompareFunc`, `DataLoader`, `RunResults`.

The names are those that Polygraphy's users know; each is defined by the built-in plugin that it belongs to.
"""

from __future__ import annotations

from polycmp.builtin.api.accuracy import AccuracyResult, AccuracyResults
from polycmp.builtin.api.comparator import Comparator
from polycmp.builtin.api.compare_functions import CompareFunc
from polycmp.builtin.api.data_loader import DataLoader
from polycmp.builtin.api.named import (
    CosineSimilarityCompareFunc,
    IndicesCompareFunc,
    L2CompareFunc,
    PsnrCompareFunc,
    SimpleCompareFunc,
    SnrCompareFunc,
    TopKPostprocessFunc,
)
from polycmp.builtin.formats.run_results import RunResults, StreamingDataLoader
from polycmp.builtin.observers.postprocess import PostprocessFunc, parse_postprocess
from polycmp.results import IterationResult

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
