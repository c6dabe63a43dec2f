"""JAX as a backend of polycmp."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polycmp.spec import lazy_names

if TYPE_CHECKING:
    from polycmp_jax.model import JaxFromFile, JaxFromScript
    from polycmp_jax.runner import JaxRunner

__all__ = ["JaxFromFile", "JaxFromScript", "JaxRunner"]

if not TYPE_CHECKING:  # a type checker would take every misspelt name for this one
    __getattr__, __dir__ = lazy_names(__name__, {"model": ["JaxFromFile", "JaxFromScript"], "runner": ["JaxRunner"]})
