"""Saving the smallest part of a model that still shows the fault, with inputs and expected outputs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polycmp.compare import PairComparer
from polycmp.errors import EXIT_DIFFERENT
from polycmp.files import make_folder
from polycmp.graph import ModelGraph, OwnGraph
from polycmp.layerwise import makers, open_partitioned_runs, static_tensors
from polycmp.plan import Plan
from polycmp.runs import make_functions, resolve
from polycmp.sentences import counted
from polycmp_locate.reduce.case import EXPECTED, INPUTS, Reproduction
from polycmp_locate.reduce.narrowed import for_outputs, with_numbers
from polycmp_locate.reduce.parts import ReferenceTensors
from polycmp_locate.reduce.saving import remaking, repeating, write_tensors
from polycmp_locate.values.located import Located
from polycmp_locate.values.measured import Row

if TYPE_CHECKING:
    from polycmp.plugins import Registry


def save_cases(located: Located, plan: Plan, registry: Registry, folder: str, marked: str) -> None:
    """Save what repeats the fault, and the model with the output kept that prevents it, as far as asked for.

    Args:
        located: Result of the search; saved files are noted in it.
        plan: The search's plan.
        registry: The plugins.
        folder: Folder of the case; empty for none.
        marked: File for the model with the output that prevents it; empty for none.

    Raises:
        FileError: Something cannot be written.
    """
    if marked:
        _save_marked(located, plan, registry, marked)
    if not folder:
        return
    if plan.files.load_outputs:
        located.notes.append("no case was saved: it takes a reference that can run again, and a saved run cannot")
        return
    if located.judged.first_bad is None:
        located.notes.append("nothing to repeat, so no case was saved")
        return
    saver = _Saver(located, plan, registry, folder)
    if isinstance(saver.candidate.graph, OwnGraph):
        located.notes.append(f"no case was saved: {located.candidate} runs no part of the model's file")
        return
    size = saver.save(located.judged.first_bad)
    if size:
        located.saved = f"{folder}: {counted(size, 'operator')}; repeat it with: sh {folder}/run.sh"
    else:
        located.notes.append("no part of the model repeats the fault by itself, so no case was saved")


def _save_marked(located: Located, plan: Plan, registry: Registry, path: str) -> None:
    judged = located.judged
    cures = judged.seen_probe.cures if judged.seen_probe is not None else ()
    if not cures:
        located.notes.append(f"--save-marked: no output makes the fault go away, so {path} was not written")
        return
    model = resolve(plan, registry).backend(located.candidate).model
    graph = model.graph()
    if graph is not None:
        model.save_verified(graph.mark([*graph.outputs, *cures]), path)
        located.notes.append(f"{path}: the model with {', '.join(map(repr, cures))} as a further output")


class _Saver:
    """Tries ever larger parts of the model until one shows the fault by itself."""

    def __init__(self, located: Located, plan: Plan, registry: Registry, folder: str) -> None:
        self.located, self.plan, self.registry, self.folder = located, plan, registry, folder
        self.resolved = resolve(plan, registry)
        runs = {run.label: run for run in open_partitioned_runs(self.resolved)}
        self.candidate, self.reference = runs[located.candidate], runs[located.reference]
        self.functions = make_functions(plan.compare, registry)

    def save(self, row: Row) -> int:
        """Save the smallest part that shows the fault; return of how many operators it is, 0 if none does."""
        graph, tensors_of = self.reference.graph, ReferenceTensors(self.reference, self.located.inputs)
        for depth in (0, 1, 2, 4, 8, 16, 32, len(graph.nodes)):
            inputs, operators = part_before(graph, row.tensor, depth)
            tensors = tensors_of(inputs)
            if tensors is None:
                return 0
            expected = self.reference.run_part(tensors, [row.tensor])
            actual = self.candidate.run_part(tensors, [row.tensor])
            if expected is None or actual is None or self._passes(actual, expected):
                continue
            if self._write(tensors, expected, row):
                return operators
        return 0

    def _passes(self, actual: dict[str, Any], expected: dict[str, Any]) -> bool:
        comparer = PairComparer(self.located.candidate, self.located.reference, self.functions)
        return all(item.passed for item in comparer.add(actual, expected))

    def _write(self, tensors: dict[str, Any], expected: dict[str, Any], row: Row) -> bool:
        """Write the part that makes a tensor of others as a case; return whether that shows the fault."""
        plan, registry, located, folder = self.plan, self.registry, self.located, make_folder(self.folder)
        model = self.resolved.backend(located.candidate).model
        name = f"model{Path(model.path).suffix}"
        model.save_verified(self.candidate.part(tensors, [row.tensor]), str(folder / name))
        write_tensors(folder, registry, tensors, located.reference, expected)
        compare = with_numbers(for_outputs(replace(plan.compare, reference=""), [row.tensor]))
        case = Reproduction(
            repeating(plan, registry, located.candidate, name, compare),
            EXIT_DIFFERENT,
            located.sentence,
            plan.command,
            remaking(plan, registry, located.reference, name),
            title=row.node.label,
            content=f"`{name}` computes {row.tensor!r}; `{INPUTS}` and `{EXPECTED}` hold what the reference, "
            f"{located.reference}, read and made there.",
        )
        case.write(folder)
        return case.shows_the_fault(folder)


def part_before(graph: ModelGraph, tensor: str, depth: int) -> tuple[list[str], int]:
    """Return the inputs of a part that ends with a tensor, and its number of operators.

    Args:
        graph: The model.
        tensor: Output of the part.
        depth: Number of operators in a row before the one that makes the tensor.
    """
    maker, static = makers(graph.nodes), static_tensors(graph)
    level: list[str] = [tensor]
    chosen: set[int] = set()
    for _ in range(depth + 1):
        makers_before = {maker[name] for name in level if name in maker and name not in static} - chosen
        chosen |= makers_before
        level = [name for index in makers_before for name in graph.nodes[index].inputs]
    border = dict.fromkeys(
        name
        for index in sorted(chosen)
        for name in graph.nodes[index].inputs
        if name not in static and maker.get(name, -1) not in chosen
    )
    return list(border), len(chosen)
