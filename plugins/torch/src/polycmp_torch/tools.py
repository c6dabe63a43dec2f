"""Abilities of the backend and the loader besides running and loading; each method imports what it needs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from polycmp.spec import LoaderTools, RunnerTools, Switch
from polycmp_torch.compiled import COMPILERS, OPTIMIZATIONS

if TYPE_CHECKING:
    from polycmp.graph import ModelGraph
    from polycmp.loader import Loader
    from polycmp.runner import Runner
    from polycmp.spec import ModelHandle
    from polycmp_torch.options import Options


class TorchRunnerTools(RunnerTools):
    """A framework that shows its own graph, and whose compiler can be switched off."""

    precise = (("dtype", "float64"),)
    narrows = (("dtype", ""),)
    threads = "threads"
    aliases = ("pytorch",)
    switches = (
        Switch("fallback_random", (True,), values_from="polycmp_torch.compiled:own_random_numbers"),
        Switch("disable", OPTIMIZATIONS, values_from="polycmp_torch.compiled:optimizations"),
        Switch("compiler", COMPILERS, values_from="polycmp_torch.compiled:compilers"),
        Switch("compile", (False,)),
    )

    def inside(self, model: ModelHandle, options: Options) -> str | ModelGraph:
        """Return the graph of the program that runs, or how else to see the tensors inside."""
        from polycmp_torch.inside import inside

        return inside(model, options)

    def perturbed(
        self, model: ModelHandle, options: Options, kind: str, seed: int, times: float, *, name: str
    ) -> Runner:
        """Return a runner of the module in eager mode, the results of whose operators move."""
        from polycmp_torch.perturbation import make_perturbed

        return make_perturbed(model, options, kind, seed, times, name=name)


class TorchLoaderTools(LoaderTools):
    """Text of programs."""

    aliases = ("pytorch",)

    def inspect(self, loader: Loader[Any], show: Iterable[str]) -> str:
        """Return a program as text."""
        from polycmp_torch.model import inspect

        return inspect(loader, show)
