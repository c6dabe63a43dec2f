"""An installed `trtexec` as a polycmp backend.

The name below is imported when it is first used: this module is loaded with the light module `plugin`, and so by every
`polycmp run --help`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from polycmp_trtexec.runner import TrtexecRunner

__all__ = ["TrtexecRunner"]


if not TYPE_CHECKING:  # a type checker would take every misspelt name for this one

    def __getattr__(name: str) -> Any:
        if name != "TrtexecRunner":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return import_module(f"{__name__}.runner").TrtexecRunner
