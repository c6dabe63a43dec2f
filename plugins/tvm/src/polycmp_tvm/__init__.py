"""Apache TVM as a backend of polycmp."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polycmp.spec import lazy_names

if TYPE_CHECKING:
    from polycmp_tvm.runner import TvmRunner

__all__ = ["TvmRunner"]

if not TYPE_CHECKING:  # a type checker would take every misspelt name for this one
    __getattr__, __dir__ = lazy_names(__name__, {"runner": ["TvmRunner"]})
