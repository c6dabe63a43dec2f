"""Commands to type after a run that could not have failed."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from polycmp._builtin_options import SimpleOptions
from polycmp._commands import NextStep
from polycmp.compare import OutputComparison
from polycmp.plan import Plan, to_command
from polycmp.plan.defaults import DEFAULT_DATA_LOADER
from polycmp.results.outcome import Outcome
from polycmp.spec import Verdict

if TYPE_CHECKING:
    from polycmp.plugins import Registry

#: The data loader of real inputs, which a package brings.
_REAL = "sample"
#: Tolerance where none was typed, and the error of the impostor that hides best: a tenth of every value.
_DEFAULT, _LARGER = 1e-5, 0.1


def out_of_blindness(plan: Plan, outcome: Outcome, registry: Registry) -> Iterator[NextStep]:
    """Yield the commands that compare on inputs which show something, or accept that these show nothing."""
    if outcome.verdict != "blind" or not plan.command:
        return
    blind = [item for pair in outcome.comparisons for item in pair.outputs.values() if item.inconclusive == "blind"]
    stricter = _with_default_tolerances(plan) if all(map(_passes_anything, blind)) else None
    made_up = not (plan.data.files or plan.data.script) and plan.data.loader.name == DEFAULT_DATA_LOADER
    if stricter is not None:
        yield NextStep(to_command(stricter, registry), "Compare with tolerances that an error could exceed.")
    elif plan.backends and made_up and _REAL in registry.data_loaders:
        yield NextStep(f"{plan.command} --data-loader {_REAL}", "Compare on small real inputs.")
    elif plan.backends:
        if made_up:
            from polycmp.plugins import known_names

            _, install = known_names().brought["data_loader"][_REAL]
            yield NextStep(install, "Small real inputs, which a run takes where they show more.")
        others = replace(plan, data=replace(plan.data, files=("FILE",), script=""))
        user_data = plan.data.files or plan.data.script
        yield NextStep(
            to_command(others, registry) if user_data else f"{plan.command} --load-inputs FILE",
            "Compare on your own inputs; polycmp data from-images makes such a file from pictures.",
        )
    names = shlex.join(dict.fromkeys(item.output for item in blind))
    yield NextStep(f"{plan.command} --allow-blind {names}", "Accept it: these outputs hold next to nothing.")


def _passes_anything(item: OutputComparison) -> bool:
    """Return whether the tolerances let an output pass that is larger by a tenth, as those of nobody would."""
    if item.stats is None:
        return False
    allowed = max(
        (
            max(limits["atol"], limits["rtol"] * item.stats.scale)
            for limits in map(_limits, item.verdicts.values())
            if {"atol", "rtol"} <= limits.keys()
        ),
        default=0.0,
    )
    return _DEFAULT < _LARGER * item.stats.scale <= allowed


def _limits(verdict: Verdict) -> Mapping[str, float]:
    return getattr(verdict, "tolerance", {})


def _with_default_tolerances(plan: Plan) -> Plan | None:
    """Return a plan without the tolerances that were typed; None where none was."""
    functions = tuple(
        replace(choice, options=replace(choice.options, atol={}, rtol={}))
        if isinstance(choice.options, SimpleOptions)
        else choice
        for choice in plan.compare.functions
    )
    changed = replace(plan, compare=replace(plan.compare, functions=functions))
    return None if changed == plan else changed
