"""Comparing in one call: `polycmp.compare`, `polycmp.run` and `polycmp.assert_close`, and what they return."""

from __future__ import annotations

from polycmp.builtin.api.quick.answers import Answer, Comparison, Located, OutputResult, Picture, Run
from polycmp.builtin.api.quick.calls import assert_close, compare, run

__all__ = [
    "Answer",
    "Comparison",
    "Located",
    "OutputResult",
    "Picture",
    "Run",
    "assert_close",
    "compare",
    "run",
]
