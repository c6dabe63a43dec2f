"""Context that reports show beside a result: the models' identity, both sides' environment, the graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from polycmp.plan import Plan
from polycmp.report import Result
from polycmp_report.environment import environments
from polycmp_report.identity import identify
from polycmp_report.surroundings import with_graph

if TYPE_CHECKING:
    from polycmp.plugins import Registry


def complete(result: Result, registry: Registry, plan: Plan | None, model: str, /) -> Result:
    """Return a result with what reports of files show besides; see `ReportTools.completes`."""
    models = _models(plan) if plan is not None else [model]
    known = identify(models, registry)
    named = {path: known[path].words if path in known else "" for path in dict.fromkeys(models) if path}
    result = replace(result, models=named)
    if plan is None:
        return result
    sides = environments(plan, registry)
    if sides:  # they have the result's facts about the process that compared, and more
        result = replace(result, content=(*result.content, *sides), environment={})
    return with_graph(result, plan, registry)


def _models(plan: Plan) -> Sequence[str]:
    """Return the models that the backends run, in their order; where nothing runs, the files that are compared."""
    run = [backend.model or plan.model for backend in plan.backends] or [plan.model]
    return run if any(run) else plan.files.load_outputs
