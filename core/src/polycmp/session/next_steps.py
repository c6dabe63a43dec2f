"""Commands to type after a run that could not have failed."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

from polycmp._commands import NextStep
from polycmp.plan import Plan
from polycmp.plan.defaults import DEFAULT_DATA_LOADER
from polycmp.results.outcome import Outcome

if TYPE_CHECKING:
    from polycmp.plugins import Registry

#: The data loader of real inputs, where a plugin brings it.
_REAL = "sample"


def out_of_blindness(plan: Plan, outcome: Outcome, registry: Registry) -> Iterator[NextStep]:
    """Yield the commands that compare on inputs which show something, or accept that these show nothing."""
    if outcome.verdict != "blind" or not plan.command:
        return
    made_up = not (plan.data.files or plan.data.script) and plan.data.loader.name == DEFAULT_DATA_LOADER
    if plan.backends and made_up and _REAL in registry.data_loaders:
        yield NextStep(f"{plan.command} --data-loader {_REAL}", "Compare on small real inputs.")
    elif plan.backends:
        yield NextStep(
            f"{plan.command} --load-inputs FILE",
            "Compare on your own inputs; polycmp data from-images makes such a file from pictures.",
        )
    found = [item for pair in outcome.comparisons for item in pair.outputs.values() if item.inconclusive == "blind"]
    names = shlex.join(dict.fromkeys(item.output for item in found))
    yield NextStep(f"{plan.command} --allow-blind {names}", "Accept it: these outputs hold next to nothing.")
