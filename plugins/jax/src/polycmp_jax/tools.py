"""Abilities of the backend and the loader besides running and loading; each method imports what it needs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from polycmp.spec import LoaderTools, RunnerTools, Switch

if TYPE_CHECKING:
    from polycmp.loader import Loader
    from polycmp.spec import ModelHandle
    from polycmp_jax.plugin import Options


class JaxTools(RunnerTools):
    """A compiler of whole functions, which shows no tensors inside them."""

    runs_parts = False
    exclusive = ("device",)
    switches = (Switch("jit", values=(False,)),)

    def precision(self, model: ModelHandle, options: Options) -> str:
        """Return the type that products of matrices may be rounded to."""
        return "bfloat16" if options.precision == "bfloat16" else ""


class JaxLoaderTools(LoaderTools):
    """Text of programs."""

    def inspect(self, loader: Loader[Any], show: Iterable[str]) -> str:
        """Return a program as text."""
        from polycmp_jax.model import inspect

        return inspect(loader)
