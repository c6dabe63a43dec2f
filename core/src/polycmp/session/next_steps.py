"""The commands that look further into a difference: those of plugins that ask to be named after a failed run."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from polycmp.errors import EXIT_DIFFERENT, PolycmpError
from polycmp.graph import final_outputs, same_structure
from polycmp.plan import Plan
from polycmp.plan.build import without_written_files
from polycmp.plan.text import to_words
from polycmp.results.outcome import NextStep, Outcome

if TYPE_CHECKING:
    from polycmp.graph import ModelGraph
    from polycmp.plugins import Registry
    from polycmp.runs.resolve import Resolved, ResolvedBackend


def next_steps(
    plan: Plan, resolved: Resolved, outcome: Outcome, instead: Mapping[str, Any] | Sequence[str] = ()
) -> list[NextStep]:
    """Return the commands to run next; none unless two backends that show tensors inside the same model differ.

    Args:
        plan: The run's plan.
        resolved: Its backends and models.
        outcome: What the run found.
        instead: The options that make the feed which failed, and no other.
    """
    if outcome.exit_code != EXIT_DIFFERENT or not _differ_inside(resolved.backends, outcome):
        return []
    return list(_commands(plan, resolved.registry, instead))


def _commands(plan: Plan, registry: Registry, instead: Mapping[str, Any] | Sequence[str]) -> Iterator[NextStep]:
    alone = without_written_files(replace(plan, files=replace(plan.files, load_outputs=())))
    for item in registry.commands.values():
        if not item.spec.after_difference:
            continue
        try:
            table = registry.load(item).table_of(registry)
            words = to_words(alone, registry, instead, command=item.spec.path, table=table)
        except PolycmpError:  # a value that no text means, or a broken plugin: there is no command to type
            continue
        yield NextStep(shlex.join(["polycmp", *words]), item.spec.summary)


def _differ_inside(backends: Iterable[ResolvedBackend], outcome: Outcome) -> bool:
    """Return whether all backends run parts of models with the same operators, and two of them differ."""
    live = {backend.label: backend for backend in backends}
    if not any({pair.candidate, pair.reference} <= live.keys() for pair in outcome.comparisons if not pair.passed):
        return False
    if not all(backend.runs_parts for backend in live.values()):
        return False
    try:
        graphs = [model.graph() for model in {item.model.path: item.model for item in live.values()}.values()]
    except PolycmpError:
        return False
    first = graphs[0]
    return (
        first is not None
        and _has_inner(first)
        and all(graph is not None and same_structure(first, graph) for graph in graphs[1:])
    )


def _has_inner(graph: ModelGraph) -> bool:
    """Return whether operators make tensors that are no outputs of the model."""
    final = set(final_outputs(graph))
    return any(name not in final for node in graph.nodes for name in node.outputs)
