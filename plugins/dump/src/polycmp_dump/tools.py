"""What is special about a backend that shows a run which is over; each method imports what it needs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from polycmp.spec import RunnerTools

if TYPE_CHECKING:
    from polycmp.graph import ModelGraph
    from polycmp.spec import ModelHandle
    from polycmp.tensors import Feed
    from polycmp_dump.plugin import DumpOptions


class DumpTools(RunnerTools):
    """A run that is over: it shows the tensors that there are, and calculates nothing."""

    runs_parts = False

    def precision(self, model: ModelHandle, options: DumpOptions) -> str:
        """Return the coarsest type in which the program calculated, as far as the map and the files say."""
        from polycmp_dump.runner import open_dump

        return open_dump(model, options).precision

    def inside(self, model: ModelHandle, options: DumpOptions) -> ModelGraph:
        """Return the model between the tensors that were dumped."""
        from polycmp_dump.graph import DumpGraph
        from polycmp_dump.runner import open_dump

        return DumpGraph(open_dump(model, options))

    def recorded_inputs(self, model: ModelHandle, options: DumpOptions) -> Iterable[Feed] | None:
        """Return the inputs that were dumped; None where some are missing."""
        from polycmp_dump.runner import open_dump

        return open_dump(model, options).feeds
