"""Models behind an inference server as a polycmp backend, by the Open Inference Protocol v2.

The names below are imported when they are first used, so that describing the plugin costs neither NumPy nor urllib3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polycmp.spec import lazy_names

if TYPE_CHECKING:
    from polycmp_oip.runner import OipRunner

__all__ = ["OipRunner"]

if not TYPE_CHECKING:  # a type checker would take every misspelt name for this one
    __getattr__, __dir__ = lazy_names(__name__, {"runner": ["OipRunner"]})
