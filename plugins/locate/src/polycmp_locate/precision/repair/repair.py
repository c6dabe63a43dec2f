"""From a plan to a mended model: what is wrong by itself is taken from the source, and the result is judged."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polycmp.errors import UsageError
from polycmp.files import write_document
from polycmp.options import parse_json
from polycmp.plan import Plan
from polycmp_locate.precision.rank.search import SmallestSet, guided
from polycmp_locate.precision.rank.setup import Cases, Setup, Stage
from polycmp_locate.precision.rank.trials import Trials
from polycmp_locate.precision.repair.changes import changes_of
from polycmp_locate.precision.repair.result import Correction, Repair, Suspect
from polycmp_locate.precision.repair.suspects import errors_alone, is_suspect

if TYPE_CHECKING:
    from polycmp.plugins import Registry
    from polycmp_locate.precision.mixed import Layer

_MAX_RUNS = 32


def repair(plan: Plan, registry: Registry, save: str = "", on_stage: Stage = lambda _: None) -> Repair:
    """Mend the candidate's model from the reference's, with as few layers as possible; write what was verified.

    Args:
        plan: Models, backends, inputs and tolerances.
        registry: The plugins.
        save: File for the mended model; empty for none.
        on_stage: Told in words what happens next.

    Raises:
        UsageError: There are not two backends with a model each.
        ModelError: A model cannot be read, or they have nothing in common.
        PolycmpError: Anything else that keeps the search from starting.
    """
    start = time.perf_counter()
    _refuse_to_overwrite(save)
    setup = Setup(plan, registry, on_stage)
    result = Repair(setup.candidate.label, setup.reference.label)
    result.notes += setup.notes()
    cases = setup.cases()
    trials = setup.trials(setup.mixer.layers, cases)
    result.before, result.runs = trials.trial(frozenset()), 1
    if result.before.passed:
        result.after = result.before
    else:
        _mend(result, setup, cases, save, on_stage)
    result.backends = [trials.result]
    result.command, result.seconds = plan.command, time.perf_counter() - start
    return result


def _mend(result: Repair, setup: Setup, cases: Cases, save: str, on_stage: Stage) -> None:
    opened = _open_inputs(setup, cases)
    layers = setup.mixer.layers
    ratios = errors_alone(setup.mixer, setup.reference_run, setup.candidate, cases[0][0], on_stage)
    order = sorted(range(len(layers)), key=ratios.__getitem__)
    suspects = [index for index in order if is_suspect(setup.mixer, layers[index], ratios[index])]
    result.suspects = [_suspect(setup, layers[index], ratios[index]) for index in suspects]
    trials = setup.trials(layers, cases)
    trials.limit = _MAX_RUNS
    outcome = _search(order, suspects, trials, ratios)
    result.runs += len(trials.done)
    if outcome.layers is None:
        result.notes.append("no layer of the source, put in place of one here, brings the outputs within the tolerance")
        return
    replaced = sorted(outcome.layers)
    result.after = trials.done[frozenset(replaced)]
    result.changes = [*opened, *(change for index in replaced for change in changes_of(setup.mixer, layers[index]))]
    if not outcome.fewest:
        result.notes.append("the search was ended early: some of what was changed may have been right")
    if save:
        setup.save([layers[index] for index in replaced], save)
        _save_changes(result, save)


def _suspect(setup: Setup, layer: Layer, ratio: float) -> Suspect:
    names = tuple(node.name or node.output[0] for node in setup.mixer.exact_nodes(layer))
    return Suspect(layer.label, ratio, names)


def _search(order: Sequence[int], suspects: Sequence[int], trials: Trials, ratios: Sequence[float]) -> SmallestSet:
    """Return the fewest layers to take: among those that are wrong by themselves, else among all that are not exact."""
    if suspects:
        smallest = guided(suspects, trials.passes, len(suspects))
        if smallest.layers is not None:
            return smallest
    inexact = [index for index in order if ratios[index] < math.inf]
    return guided(inexact or order, trials.passes, max(2 * len(suspects), 1))


def _open_inputs(setup: Setup, cases: Cases) -> list[Correction]:
    """Declare the source's input shapes where the model's own refuse the feed; return the changes."""
    model = deepcopy(setup.mixer.reduced)
    source = {value.name: value for value in setup.exact.graph.input}
    changes = []
    for value in model.graph.input:
        array = cases[0][0].get(value.name)
        if array is None or value.name not in source or _fits(value, array.shape):
            continue
        old, new = _shape(value), _shape(source[value.name])
        value.type.tensor_type.shape.CopyFrom(source[value.name].type.tensor_type.shape)
        changes.append(Correction("input", value.name, f"shape {old} -> {new}"))
    if changes:
        outputs = {value.name: value for value in setup.exact.graph.output}
        for value in model.graph.output:
            if value.name in outputs:
                value.type.tensor_type.shape.CopyFrom(outputs[value.name].type.tensor_type.shape)
        del model.graph.value_info[:]  # shapes that follow from the old ones
        setup.use(model)
    return changes


def _fits(value: Any, shape: Sequence[int]) -> bool:
    declared = _shape(value)
    return len(declared) == len(shape) and all(
        not isinstance(size, int) or size == real for size, real in zip(declared, shape, strict=True)
    )


def _shape(value: Any) -> list[int | str]:
    from polycmp_onnx.graph import shape_of

    return ["?" if dim == -1 else dim for dim in shape_of(value) or ()]


def _beside(path: str) -> Path:
    return Path(path).with_suffix(".changes.json")


def _refuse_to_overwrite(path: str) -> None:
    """Refuse to overwrite a file that is no list of changes.

    Raises:
        UsageError: Such a file is where the list would go.
    """
    beside = _beside(path) if path else None
    if beside is None or not beside.exists():
        return
    try:
        document = parse_json(beside.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        document = None
    if not isinstance(document, dict) or document.get("kind") != "repair":
        raise UsageError(
            f"--save-fixed {path}: {beside} would be overwritten",
            why="the list of changes goes there, and what is there is no such list",
            hint="choose another name",
        )


def _save_changes(result: Repair, path: str) -> None:
    """Write the list of changes beside the mended model."""
    from polycmp_locate.precision.repair.presentation import result_of

    beside = str(_beside(path))
    write_document(beside, result_of(result).document)
    result.files += [path, beside]
