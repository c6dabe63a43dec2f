"""What an issue is: a small model, what is right, which release was wrong, which one mended it, what an expert says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from onnx.reference import ReferenceEvaluator

from truth.build import Array, Graph, Net
from truth.history.environments import Environment

#: Makes the right outputs of inputs, by NumPy alone.
Right = Callable[[Mapping[str, Array]], Sequence[Array]]


@dataclass(frozen=True)
class Case:
    """A model as small as it can be, and what has to come out.

    Attributes:
        net: The model and its inputs.
        right: The right outputs by NumPy; None where `onnx`'s own reference is right about this model.
    """

    net: Net
    right: Right | None = None

    def expected(self) -> list[Array]:
        """Return the right outputs."""
        if self.right is not None:
            return [np.asarray(item) for item in self.right(self.net.feed)]
        found = ReferenceEvaluator(self.net.model).run(None, dict(self.net.feed))
        return [np.asarray(item) for item in found]


@dataclass(frozen=True)
class Answer:
    """What an expert says of the release that is wrong, as the issue was resolved.

    Attributes:
        at: What the operators make of which one has to be named.
        says: Regular expressions of which each has to be found in the sentence or a note.
    """

    at: tuple[str, ...] = ()
    says: tuple[str, ...] = ()


@dataclass(frozen=True)
class Issue:
    """One public issue.

    Attributes:
        name: What it is called, in few words.
        producer: Whose fault it was: a runtime's part, or a tool.
        number: The issue, such as "onnxruntime#21455".
        wrong: What was wrong, in one sentence.
        make: Makes the model and its inputs.
        bad: The environment of a release that is wrong.
        good: The environment of a release that mended it.
        answer: What has to be said of the release that is wrong; written down before polycmp was run.
        backend: The backend that runs the model, with options, where the fault is a runtime's.
        tool: What writes the other file, where the fault is a tool's: Python code that reads and writes the files
            `source` and `target`.
        rounds: Whether the good file rounds to few bits, too, so that `run` need not pass it.
        words: Further words of the commands.
        tolerance: How far right outputs may be from `Case.right`, relative to their largest value.
        first: Why the answer was not right when it was first asked; empty if it was.
    """

    name: str
    producer: str
    number: str
    wrong: str
    make: Callable[[], Case]
    bad: Environment
    good: Environment
    answer: Answer
    backend: str = "onnxrt"
    tool: str = ""
    rounds: bool = False
    words: tuple[str, ...] = ()
    tolerance: float = 1e-3
    first: str = ""


def case(graph: Graph, right: Right | None = None) -> Case:
    """Return the case of a finished graph."""
    return Case(graph.net(), right)


def typed(graph: Graph, name: str, kind: int) -> None:
    """Declare an output of a type of ONNX."""
    graph.output(name, kind=kind)


def onnxruntime(version: str) -> Environment:
    """Return the environment of a release of ONNX Runtime."""
    minor = int(version.split(".")[1])
    if minor < 24:
        return Environment((f"onnxruntime=={version}",))
    return Environment((f"onnxruntime=={version}",), "3.11", "numpy>=2")


def openvino(version: str) -> Environment:
    """Return the environment of a release of OpenVINO."""
    return Environment((f"openvino=={version}",))


def onnxscript(version: str, intermediate: str) -> Environment:
    """Return the environment of a release of onnxscript, with one of onnx-ir."""
    return Environment((f"onnxscript=={version}", f"onnx_ir=={intermediate}"))
