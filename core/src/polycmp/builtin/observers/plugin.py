"""Observers of a run. Light: only the standard library and `polycmp.spec` are imported here."""

from __future__ import annotations

from collections.abc import Iterable

from polycmp.spec import ObserverSpec, hookimpl

_OBSERVERS = (
    ("averages", "Means of metrics over the iterations", True),
    ("postprocessing", "Functions applied to outputs", True),
    ("saved_environments", "What outputs that were saved elsewhere were made with", False),
    ("follow_ups", "Commands to type after a failure", False),
)


@hookimpl
def polycmp_run_observers() -> Iterable[ObserverSpec]:
    """Contribute what takes part in runs."""
    for name, summary, changes in _OBSERVERS:
        yield ObserverSpec(name, summary, f"polycmp.builtin.observers.factories:{name}", changes)
