"""The pages of a run: an index, and a page per case."""

from __future__ import annotations

from polycmp_suite.page.index import write_index

__all__ = ["write_index"]
