"""What a scenario is: a model, two backends, inputs, what was done wrong, and what an expert would say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from truth.build import Array, Net
from truth.models import net_of

EQUAL, ROUNDING, ILL, UNDECIDED = "equal", "within rounding", "ill-conditioned model", "undecided"
WORSE, WRONG = "worse than this precision explains", "wrong"
BORN, CONSTANT = "NaN/Inf born here", "suspiciously constant"
UNSTEADY = "other numbers in each run"
FUSED, FAILS = "probing removes the fault", "the backend fails here"
OTHER = "another network"
NO_FAULT = "none"

Change = Callable[[onnx.ModelProto], None]


@dataclass(frozen=True)
class Expect:
    """What an expert would say.

    Attributes:
        verdicts: The verdicts to accept.
        at: The operators to accept as the one that is named, by what they make; empty where none may be named.
        exit: The exit status.
        says: Words of which each has to be in the sentence or a note.
    """

    verdicts: tuple[str, ...]
    at: tuple[str, ...] = ()
    exit: int = 1
    says: tuple[str, ...] = ()


SAME = Expect((EQUAL,), exit=0)
NOTHING = Expect((EQUAL, ROUNDING), exit=0)
ILL_CONDITIONED = Expect((ILL,), exit=0)


def at(*operators: str, verdicts: tuple[str, ...] = (WORSE, WRONG, CONSTANT), says: tuple[str, ...] = ()) -> Expect:
    """Return that one of the operators is wrong."""
    return Expect(verdicts, operators, 1, says)


@dataclass(frozen=True)
class Scenario:
    """One case.

    Attributes:
        name: What it is called, in few words.
        architecture: A key of `truth.models.ARCHITECTURES`, or what its own model is.
        fault: What is wrong, in a word or two; `NO_FAULT`.
        expect: What an expert would say.
        candidate: The backend to judge, as on a command line.
        reference: The backend to believe; "good" stands for ONNX Runtime on the file without changes.
        net: Makes the model and its inputs, where that is not the architecture's own.
        feeds: Inputs instead of the model's own, one mapping per iteration.
        changes: What the candidate's file has changed.
        words: Further words of the command.
        fast: Whether it is part of `make test` (one of each kind) and `make test-corpus` (all).
        here: Whether it can be tried on this machine.
        needs: What has to be there for that, in words.
        file: A file to take as it is, without any inputs or other options.
        command: What is run on it: `locate`, or `run`, of which only the exit status is judged.
        pending: Why it is not yet judged rightly; empty if it is.
    """

    name: str
    architecture: str
    fault: str
    expect: Expect
    candidate: str = "onnxrt"
    reference: str = "onnx"
    net: Callable[[], Net] | None = None
    feeds: tuple[Mapping[str, Array], ...] = ()
    changes: tuple[Change, ...] = ()
    words: tuple[str, ...] = ()
    fast: bool = True
    here: bool = True
    needs: str = "another processor or release of ONNX Runtime"
    file: Path | None = None
    command: str = "locate"
    pending: str = ""

    def write(self, folder: Path) -> list[str]:
        """Write model and inputs to a folder and return the words of the command."""
        if self.file is not None:
            folder.mkdir(parents=True, exist_ok=True)
            return [self.command, str(self.file), "-b", self.candidate, "-b", self.reference, *self.words]
        net = self.net() if self.net is not None else net_of(self.architecture)
        path = net.write(folder)
        inputs = [folder / "x.npz"]
        for number, feed in enumerate(self.feeds):
            inputs[number:] = [folder / f"x{number}.npz"]
            np.savez(inputs[number], allow_pickle=False, **feed)
        reference = self.reference
        if self.changes:
            net.write(folder, "good.onnx")
            path = replace(net, model=changed(net.model, self.changes)).write(folder)
            reference = f"onnxrt:name=good,model={folder / 'good.onnx'}" if reference == "good" else reference
        backends = ["-b", self.candidate, "-b", reference]
        return ["locate", str(path), *backends, "--load-inputs", *map(str, inputs), *self.words]


def changed(model: onnx.ModelProto, changes: tuple[Change, ...]) -> onnx.ModelProto:
    """Return a copy of a model with changes."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for change in changes:
        change(copy)
    return copy


def weight(name: str, index: tuple[int, ...], add: float) -> Change:
    """Return the change of one number of a weight."""

    def apply(model: onnx.ModelProto) -> None:
        tensor = next(item for item in model.graph.initializer if item.name == name)
        values = np.array(numpy_helper.to_array(tensor))
        values[index] += np.asarray(add).astype(values.dtype)
        tensor.CopyFrom(numpy_helper.from_array(values, name))

    return apply


def scaled(name: str, factor: float) -> Change:
    """Return the change of a whole weight by a factor."""

    def apply(model: onnx.ModelProto) -> None:
        tensor = next(item for item in model.graph.initializer if item.name == name)
        values = numpy_helper.to_array(tensor)
        tensor.CopyFrom(numpy_helper.from_array((values * factor).astype(values.dtype), name))

    return apply


def attribute(node: str, name: str, value: Any) -> Change:
    """Return the change of an attribute."""

    def apply(model: onnx.ModelProto) -> None:
        found = next(item for item in model.graph.node if item.name == node)
        kept = [item for item in found.attribute if item.name != name]
        del found.attribute[:]
        found.attribute.extend([*kept, helper.make_attribute(name, value)])

    return apply
