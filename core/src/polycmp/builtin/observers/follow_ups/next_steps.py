"""Whether a look inside the model may tell more of a difference."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from polycmp.errors import PolycmpError
from polycmp.results import Outcome

if TYPE_CHECKING:
    from polycmp.runs import ResolvedBackend


def may_tell_more(backends: Iterable[ResolvedBackend], outcome: Outcome) -> bool:
    """Return whether all backends show what is inside a model, and two differ, one from a saved run, or one fails."""
    live = {backend.label: backend for backend in backends}
    compared = live.keys() if len(live) > 1 else {*live, *(pair.reference for pair in outcome.comparisons)}
    differ = any({pair.candidate, pair.reference} <= compared for pair in outcome.comparisons if not pair.passed)
    if not differ and not _fails_alone(outcome):
        return False
    if any(backend.contribution is None or backend.inside in ("none", "elsewhere") for backend in live.values()):
        return False
    models = {item.model.path: item.model for item in live.values() if item.runs_parts}
    try:
        graphs = [model.graph() for model in models.values()]  # to make one of a backend's own may take a run
    except PolycmpError:
        return False
    return all(graph is not None and graph.nodes for graph in graphs)


def _fails_alone(outcome: Outcome) -> bool:
    """Return whether a backend failed without a word on what to do about it, and another one ran."""
    failing = [item for item in outcome.failed_backends if not item.hint]
    return bool(failing) and any(item.iterations and item not in failing for item in outcome.backends)
