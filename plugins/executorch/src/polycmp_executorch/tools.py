"""Abilities of the backend and the loader besides running and loading; each method imports what it needs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from polycmp.spec import LoaderTools, RunnerTools

if TYPE_CHECKING:
    from polycmp.graph import ModelGraph
    from polycmp.loader import Loader
    from polycmp.spec import ModelHandle
    from polycmp_executorch.plugin import Options


class ExecuTorchTools(RunnerTools):
    """A runtime whose programs can be taken apart."""

    aliases = ("et", "pte")

    def inside(self, model: ModelHandle, options: Options) -> str | ModelGraph:
        """Return how to see the tensors inside: those of the program that was exported, where the file is another."""
        if model.kind == "executorch" and options.program is None:
            return "graph"
        from polycmp_executorch.graph import PteGraph
        from polycmp_executorch.runner import program_of

        return PteGraph(program_of(model, options))


class PteTools(LoaderTools):
    """The view inside a program, and writing it."""

    aliases = ("et", "pte")
    options_of = "executorch"
    takes_model = True

    def graph(self, loader: Loader[Any]) -> ModelGraph:
        """Return a program's operators and tensors."""
        from polycmp_executorch.graph import PteGraph

        return PteGraph(loader)

    def save(self, loader: Loader[Any], path: str) -> None:
        """Write a program."""
        Path(path).write_bytes(loader().program.file.write())
