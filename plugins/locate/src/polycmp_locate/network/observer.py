"""Notes on what the files of a run's models tell of a difference, without a run: the observer `files`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from polycmp.errors import ModelError, PolycmpError
from polycmp.graph import RANDOM_OPERATORS, GraphNode, ModelGraph, weight_values
from polycmp.sentences import shortened
from polycmp.spec import RunObserver

if TYPE_CHECKING:
    from polycmp.compare import PairComparison
    from polycmp.model import Model
    from polycmp.results import Outcome
    from polycmp.runs import Resolved


def watch(resolved: Resolved) -> FileNotes:
    """Make the observer that looks at the files of a run's models."""
    return FileNotes(resolved)


class FileNotes(RunObserver):
    """Adds notes on what the files of candidate and reference differ by, and on random numbers where outputs differ.

    Args:
        resolved: The run.
    """

    def __init__(self, resolved: Resolved) -> None:
        self._resolved = resolved

    def finish(self, outcome: Outcome) -> None:
        """Add the notes before all others, each once."""
        models = {backend.label: backend.model for backend in self._resolved.backends}
        notes = dict.fromkeys(self._on_differences(outcome, models) if len(self._resolved.models) > 1 else ())
        differ = [pair for pair in outcome.comparisons if not pair.passed]
        drawing = {models[label].path: models[label] for pair in differ for label in _sides(pair) if label in models}
        for model in drawing.values():
            notes.update(dict.fromkeys(_on_draws(model)))
        outcome.notes[:0] = notes

    def _on_differences(self, outcome: Outcome, models: dict[str, Model]) -> Iterator[str]:
        from polycmp_locate.network.words import network_notes  # a run of one file needs none of this

        compare = self._resolved.compare_networks
        for pair in outcome.comparisons:
            one, two = (models.get(label) for label in _sides(pair))
            if one is None or two is None or one.path == two.path:
                continue
            try:
                candidate, reference = one.graph(), two.graph()
                differences = (
                    compare(candidate, reference)
                    if compare is not None and candidate is not None and reference is not None
                    else None
                )
            except ModelError:
                continue  # the run itself says what is wrong with a file
            if differences is not None:
                yield from network_notes(differences.faults, differences.notes)


def _sides(pair: PairComparison) -> tuple[str, str]:
    return pair.candidate, pair.reference


def _on_draws(model: Model) -> Iterator[str]:
    """Yield a note on the operators of a file that draw random numbers; nothing where it has none or shows none."""
    try:
        graph = model.graph()
        nodes = [node for node in graph.nodes if _draws(node, graph)] if graph is not None else []
    except PolycmpError:
        return
    if nodes:
        operators = shortened([node.label for node in nodes], 1)
        yield (
            f"{operators} of {model.path} {'draws' if len(nodes) == 1 else 'draw'} random numbers, others in each "
            "backend and run: polycmp locate gives the same to both sides and compares all else"
        )


def _draws(node: GraphNode, graph: ModelGraph) -> bool:
    """Return whether an operator draws as the file says, a Dropout among them that trains."""
    if node.domain:
        return False
    trains = node.inputs[2] if node.op_type == "Dropout" and len(node.inputs) > 2 else ""
    return node.op_type in RANDOM_OPERATORS or (
        trains in graph.weights and bool(weight_values(graph, [trains])[trains].any())
    )
