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
    mine, other = new.graph(), old.graph()
    found = None if mine is None or other is None else compare(mine, other)
    if mine is None or other is None or found is None:
        which = f"{new.path} and {old.path}"
        raise ModelError(f"cannot compare {which} without a run", hint=f"polycmp run {new.path} {old.path} -b BACKEND")
    alone = [name for name in other.outputs if name not in mine.outputs]
    lacking = tuple(f"{new.path} has no output {name!r}" for name in alone)
    return _result(replace(found, faults=(*lacking, *found.faults)), new.path, old.path)


def _result(found: NetworkDifferences, new: str, old: str) -> Result:
    rerun = f"whether both calculate the same, a run shows: polycmp run {new} {old} -b BACKEND"
    itself = [Note("it is one file: that it agrees with itself shows nothing")] if Path(new).samefile(old) else []
    covered = f"{found.compared} of {counted(found.constants, 'constant')} compared"
    if found.faults or found.other_weights:
        words = found.faults[0] if found.faults else found.notes[0]
        more = len(found.faults) - 1
        verdict: Verdict = "failed"
        sentence = f"another network: {words}" + (f", and {counted(more, 'more difference')}" if more > 0 else "")
    elif found.compared < found.constants or not found.constants:
        verdict = "undecided"
        sentence = f"nothing is wrong in what has a counterpart in the other file, {covered}; {rerun}"
    else:
        verdict = "passed"
        sentence = f"the same network, {covered}; {rerun}"
    document = {
        "verdict": verdict,
        "faults": list(found.faults),
        "made_on_purpose": list(found.made_on_purpose),
        "notes": list(found.notes),
        "compared": found.compared,
        "constants": found.constants,
    }
    return Result(
        "compare",
        verdict,
        verdict.upper(),
        sentence,
        title=f"{new} and {old}",
        content=(*_notes(found), *itself),
        facts=(Fact("constants compared", f"{found.compared} of {found.constants}"),),
        document=document,
    )


def _notes(found: NetworkDifferences) -> Iterator[Note]:
    # The sentence tells the first.
    for label, items in (("differs", found.faults[1:]), ("made on purpose", found.made_on_purpose)):
        for index, words in enumerate(items):
            yield Note(words, label=label, terminal=index < _SHOWN)
        if len(items) > _SHOWN:
            yield Note(f"{len(items) - _SHOWN} more of these; a report in a file has all: --report FILE", label=label)
    for words in found.notes if found.faults or not found.other_weights else found.notes[1:]:
        yield Note(words)
