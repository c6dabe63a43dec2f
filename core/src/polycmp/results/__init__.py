"""Results of runs: outcomes in memory, and the forms in which formats of plugins read and write them."""

from __future__ import annotations

from polycmp.results.formats import (
    ARRAYS,
    INPUTS,
    OUTPUTS,
    TEXT_SUFFIX,
    Formats,
    FormatWriter,
    Stored,
    StoredRun,
    format_code,
)
from polycmp.results.named import ALONE, iterations_of
from polycmp.results.outcome import BackendResult, Invalid, Outcome, Timing, describe_environment
from polycmp.results.packing import STRING, pack, read_npy_header, texts_as_objects, unpack
from polycmp.results.runs import IterationResult, LazyArray

__all__ = [
    "ALONE",
    "ARRAYS",
    "INPUTS",
    "OUTPUTS",
    "STRING",
    "TEXT_SUFFIX",
    "BackendResult",
    "FormatWriter",
    "Formats",
    "Invalid",
    "IterationResult",
    "LazyArray",
    "Outcome",
    "Stored",
    "StoredRun",
    "Timing",
    "describe_environment",
    "format_code",
    "iterations_of",
    "pack",
    "read_npy_header",
    "texts_as_objects",
    "unpack",
]
