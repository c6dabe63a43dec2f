"""`polycmp compare` of two model files: whether they hold the same network, told without a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from polycmp.errors import ModelError, PolycmpError, UsageError
from polycmp.model import Model
from polycmp.report import Fact, Note, Result, Verdict
from polycmp.runs import NetworkDifferences
from polycmp.sentences import counted

if TYPE_CHECKING:
    from polycmp.plugins import Registry
    from polycmp.runs import CompareNetworks

#: Differences that a terminal lists; a report in a file has all of them.
_SHOWN = 10


def models_of(files: Sequence[str], others: Sequence[str], registry: Registry) -> list[Model]:
    """Return the two models to compare; none where none of the files is a model.

    Args:
        files: The files that hold no saved outputs.
        others: Those that do.
        registry: The plugins.

    Raises:
        ModelError: One is a model, and another cannot be read as one.
        UsageError: They are not two, or saved outputs are among them.
    """
    opened = [_opened(path, registry) for path in files]
    models = [item for item in opened if isinstance(item, Model)]
    if not models:
        return []
    for item in opened:
        if isinstance(item, PolycmpError):
            raise item
    if others:
        why, hint = (
            "saved outputs are among them",
            f"polycmp run {models[0].path} -b BACKEND --load-outputs {others[0]}",
        )
    else:
        why, hint = f"{counted(len(models), 'model file')} given", "polycmp compare NEW.onnx OLD.onnx"
    if others or len(models) != 2:
        raise UsageError("models are compared without a run two at a time, the second as reference", why=why, hint=hint)
    return models


def _opened(path: str, registry: Registry) -> Model | PolycmpError:
    try:
        return Model(path, registry)
    except PolycmpError as error:
        return error


def compare_models(new: Model, old: Model) -> Result:
    """Return whether two files hold the same network.

    Args:
        new: The file to judge.
        old: The file to believe.

    Raises:
        PluginError: No installed plugin compares files.
        ModelError: A file cannot be read, or does not tell what its operators calculate with.
    """
    registry = new.registry
    compare: CompareNetworks = registry.load(registry.find_service("networks"))
    new_graph, old_graph = new.graph(), old.graph()
    differences = None if new_graph is None or old_graph is None else compare(new_graph, old_graph)
    if new_graph is None or old_graph is None or differences is None:
        which = f"{new.path} and {old.path}"
        raise ModelError(f"cannot compare {which} without a run", hint=f"polycmp run {new.path} {old.path} -b BACKEND")
    alone = [name for name in old_graph.outputs if name not in new_graph.outputs]
    lacking = tuple(f"{new.path} has no output {name!r}" for name in alone)
    return _result(replace(differences, faults=(*lacking, *differences.faults)), new.path, old.path)


def _result(differences: NetworkDifferences, new: str, old: str) -> Result:
    rerun = f"whether both calculate the same, a run shows: polycmp run {new} {old} -b BACKEND"
    itself = [Note("it is one file: that it agrees with itself shows nothing")] if Path(new).samefile(old) else []
    covered = f"{differences.compared} of {counted(differences.constants, 'constant')} compared"
    if differences.faults or differences.other_weights:
        words = differences.faults[0] if differences.faults else differences.notes[0]
        more = len(differences.faults) - 1
        verdict: Verdict = "failed"
        sentence = f"another network: {words}" + (f", and {counted(more, 'more difference')}" if more > 0 else "")
    elif differences.compared < differences.constants or not differences.constants:
        verdict = "undecided"
        sentence = f"nothing is wrong in what has a counterpart in the other file, {covered}; {rerun}"
    else:
        verdict = "passed"
        sentence = f"the same network, {covered}; {rerun}"
    document = {
        "verdict": verdict,
        "faults": list(differences.faults),
        "made_on_purpose": list(differences.made_on_purpose),
        "notes": list(differences.notes),
        "compared": differences.compared,
        "constants": differences.constants,
    }
    return Result(
        "compare",
        verdict,
        verdict.upper(),
        sentence,
        title=f"{new} and {old}",
        content=(*_notes(differences), *itself),
        facts=(Fact("constants compared", f"{differences.compared} of {differences.constants}"),),
        document=document,
    )


def _notes(differences: NetworkDifferences) -> Iterator[Note]:
    # The sentence tells the first.
    for label, items in (("differs", differences.faults[1:]), ("made on purpose", differences.made_on_purpose)):
        for index, words in enumerate(items):
            yield Note(words, label=label, terminal=index < _SHOWN)
        if len(items) > _SHOWN:
            yield Note(f"{len(items) - _SHOWN} more of these; a report in a file has all: --report FILE", label=label)
    for words in differences.notes if differences.faults or not differences.other_weights else differences.notes[1:]:
        yield Note(words)
