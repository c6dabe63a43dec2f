"""An installed `trtexec` as a polycmp backend.

The name below is imported when it is first used: this module is loaded with the light module `plugin`, and so by every
`polycmp run --help`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polycmp.spec import lazy_names

if TYPE_CHECKING:
    from polycmp_trtexec.runner import TrtexecRunner

__all__ = ["TrtexecRunner"]

if not TYPE_CHECKING:  # a type checker would take every misspelt name for this one
    __getattr__, __dir__ = lazy_names(__name__, {"runner": ["TrtexecRunner"]})
