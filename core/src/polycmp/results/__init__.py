"""Results of runs: outcomes in memory, and the forms in which formats of plugins read and write them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polycmp.results.outcome import BackendResult, Invalid, Outcome, Timing, describe_environment
from polycmp.results.runs import IterationResult, LazyArray
from polycmp.spec import lazy_names

if TYPE_CHECKING:
    from polycmp.results.formats import (
        ARRAYS,
        INPUTS,
        OUTPUTS,
        Formats,
        FormatWriter,
        Stored,
        StoredRun,
    )
    from polycmp.results.machine import device_here
    from polycmp.results.named import ALONE, iterations_of
    from polycmp.results.packing import STRING, pack, read_npy_header, texts_as_objects, unpack

__all__ = [
    "ALONE",
    "ARRAYS",
    "INPUTS",
    "OUTPUTS",
    "STRING",
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
    "device_here",
    "iterations_of",
    "pack",
    "read_npy_header",
    "texts_as_objects",
    "unpack",
]

if not TYPE_CHECKING:  # files of inputs and outputs, which few runs read or write
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "formats": (
                *("ARRAYS", "INPUTS", "OUTPUTS"),
                *("Formats", "FormatWriter", "Stored", "StoredRun"),
            ),
            "machine": ("device_here",),
            "named": ("ALONE", "iterations_of"),
            "packing": ("STRING", "pack", "read_npy_header", "texts_as_objects", "unpack"),
        },
    )
