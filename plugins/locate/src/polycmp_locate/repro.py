"""Saving the smallest part of a model that still shows the fault, with inputs and expected outputs."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polycmp.compare import PairComparer
from polycmp.errors import EXIT_DIFFERENT
from polycmp.files import atomic_write, make_folder, to_bytes
from polycmp.graph import ModelGraph, OwnGraph
from polycmp.layerwise import makers, open_partitioned_runs, static_tensors
from polycmp.plan import DataPlan, FilesPlan, Plan, to_words, without_written_files
from polycmp.process import module_words
from polycmp.results.files import InputsWriter, OutputsWriter
from polycmp.runs import make_functions, resolve
from polycmp.tensors import Feed
from polycmp_locate.reduce.case import remade_by
from polycmp_locate.reduce.narrowed import for_outputs, with_numbers
from polycmp_locate.reduce.saving import remaking
from polycmp_locate.reduce.writing import absolute, anywhere
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
    saver = _Saver(located, plan, registry, Path(folder))
    if isinstance(saver.candidate.graph, OwnGraph):
        located.notes.append(f"no case was saved: {located.candidate} runs no part of the model's file")
        return
    size = saver.save()
    if size:
        located.saved = f"{folder}: {size} operator{'s' if size > 1 else ''}; repeat it with: sh {folder}/run.sh"
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

    def __init__(self, located: Located, plan: Plan, registry: Registry, folder: Path) -> None:
        self.located = located
        self.plan = plan
        self.registry = registry
        self.folder = folder
        self.resolved = resolve(plan, registry)
        partitioned_runs = open_partitioned_runs(self.resolved)
        by_label = {partitioned_run.label: partitioned_run for partitioned_run in partitioned_runs}
        self.candidate, self.reference = by_label[located.candidate], by_label[located.reference]
        self.backend = next(item for item in plan.backends if item.label == located.candidate)
        self.functions = make_functions(plan.compare, registry)

    def save(self) -> int:
        """Save the smallest part that shows the fault; return of how many operators it is, 0 if none does."""
        row = self.located.judged.first_bad
        feed = self.located.inputs
        if row is None:
            return 0
        graph = self.reference.graph
        for depth in (0, 1, 2, 4, 8, 16, 32, len(graph.nodes)):
            inputs, operators = part_before(graph, row.tensor, depth)
            tensors = self._reference_tensors(feed, inputs)
            if tensors is None:
                return 0
            expected = self.reference.run_part(tensors, [row.tensor])
            actual = self.candidate.run_part(tensors, [row.tensor])
            if expected is None or actual is None or self._passes(actual, expected):
                continue
            self._write(tensors, expected, row)
            if self._repeats():
                return operators
        return 0

    def _reference_tensors(self, feed: Feed, names: Sequence[str]) -> dict[str, Any] | None:
        inner = [name for name in names if name not in feed]
        computed = self.reference.run_part(feed, inner) if inner else {}
        return None if computed is None else {name: feed[name] if name in feed else computed[name] for name in names}

    def _passes(self, actual: dict[str, Any], expected: dict[str, Any]) -> bool:
        comparer = PairComparer(self.located.candidate, self.located.reference, self.functions)
        return all(item.passed for item in comparer.add(actual, expected))

    def _write(self, tensors: dict[str, Any], expected: dict[str, Any], row: Row) -> None:
        make_folder(self.folder)
        model = self.resolved.backend(self.located.candidate).model
        part = self.candidate.part(tensors, [row.tensor])
        model.save_verified(part, str(self.folder / f"model{Path(model.path).suffix}"))
        self.model = f"model{Path(model.path).suffix}"
        with InputsWriter(str(self.folder / "inputs.npz"), self.registry) as writer:
            writer.add(tensors)
        with OutputsWriter(str(self.folder / "expected.npz"), self.registry) as outputs:
            outputs.add(self.located.reference, expected, 0.0)
        with atomic_write(str(self.folder / "run.sh")) as file:
            file.write(to_bytes(self._script()))
        with atomic_write(str(self.folder / "README.md")) as file:
            file.write(to_bytes(self._readme(row)))

    def _script(self) -> str:
        command = shlex.join(["polycmp", *self._words()])
        remake = remaking(self.plan, self.registry, self.located.reference, self.model)
        lines = ["#!/bin/sh", "# Exit status 1: the fault is there.", *([remade_by(remake)] if remake else [])]
        return "\n".join([*lines, 'cd "$(dirname "$0")" || exit 3', f"exec {command}", ""])

    def _words(self) -> list[str]:
        """Return the words of the command that repeats the fault in the folder."""
        row = self.located.judged.first_bad
        names = [row.tensor] if row is not None else []
        plan = replace(
            self.plan,
            model=self.model,
            loader_options={},
            backends=(anywhere(replace(self.backend, model="")),),
            data=DataPlan(files=("inputs.npz",)),
            compare=with_numbers(for_outputs(replace(self.plan.compare, reference=""), names)),
            files=FilesPlan(load_outputs=("expected.npz",)),
        )
        return to_words(without_written_files(plan), self.registry)

    def _readme(self, row: Row) -> str:
        return (
            f"# {row.node.label}\n\n{self.located.sentence}.\n\n"
            f"Found by `{self.plan.command}`. `{self.model}` computes {row.tensor!r}; `inputs.npz` and `expected.npz` "
            f"hold what the reference, {self.located.reference}, read and made there.\n\n"
            "    sh run.sh\n"
        )

    def _repeats(self) -> bool:
        """Run the command of the script in the folder, and return whether it shows the fault."""
        paths = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
        done = subprocess.run(
            [*module_words("polycmp"), *self._words()],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(map(absolute, paths))},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        return done.returncode == EXIT_DIFFERENT


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
