"""The core's view of a model's graph: its operators in order, what they read and make, and parts cut out of it."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

from polycmp.loader import Loader
from polycmp.tensors import TensorMetadata

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "RANDOM_OPERATORS",
    "Constant",
    "DeclaredGraph",
    "GraphNode",
    "ModelGraph",
    "NestingGraph",
    "OwnGraph",
    "PerturbableGraph",
    "Rounding",
    "random_inputs",
    "weight_values",
]


#: Types of operators that draw random numbers, which no two backends have in common.
RANDOM_OPERATORS = frozenset(
    {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}
)
#: From how many places of the random numbers the inputs of a perturbed model take theirs. A prime number, so that
#: inputs of one size come round to a place again after as many (choice).
_PLACES = 65537
#: Target of a rounding: a type, by its name in `polycmp.precision`, or steps of this size; "" for no rounding. A weight
#: may have steps of another size in each slice along its first axis.
Rounding: TypeAlias = "str | float | tuple[float, ...]"


@dataclass(frozen=True)
class GraphNode:
    """One operator of a model.

    Attributes:
        op_type: Type of the operator: `Conv`.
        name: Name of the operator; may be empty.
        domain: Domain that defines the operator; empty for the format's own.
        inputs: Names of the tensors it reads, those that its inner graphs take from around them included.
        outputs: Names of the tensors it makes.
        attributes: Attributes of the operator as plain values; large ones as a short text.
        metadata: Other metadata in the file, by key: an exporter may write the line of source there.
        operands: Operands by position: one name may occur twice, and an omitted one is empty. Empty where
            `inputs` says as much.
    """

    op_type: str
    name: str = ""
    domain: str = ""
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    attributes: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, str] = field(default_factory=dict)
    operands: tuple[str, ...] = ()

    def operand(self, place: int) -> str:
        """Return the name of the operator's input at an index; empty if there is none.

        Args:
            place: From 0 on.
        """
        operands = self.operands or self.inputs
        return operands[place] if place < len(operands) else ""

    @property
    def label(self) -> str:
        """The operator for people: its type, and its name or else what it makes."""
        return f"{self.op_type} {self.name or next(iter(self.outputs), '')!r}"


class ModelGraph(Protocol):
    """A model seen as a graph; `LoaderTools.graph` makes it of a loader.

    A class that derives from it needs four members, `inputs`, `outputs`, `nodes` and `cut`; the others have defaults.
    """

    @property
    @abstractmethod
    def inputs(self) -> TensorMetadata:
        """The inputs that a caller feeds."""

    @property
    @abstractmethod
    def outputs(self) -> tuple[str, ...]:
        """The model's outputs, as the loader's options ask for them."""

    @property
    @abstractmethod
    def nodes(self) -> Sequence[GraphNode]:
        """The operators in an order in which they can run; those that only hold a constant are weights instead."""

    @abstractmethod
    def cut(self, inputs: TensorMetadata, outputs: Sequence[str]) -> Loader[Any]:
        """Return a loader of the part that computes `outputs` from `inputs`, with no more weights than it needs."""

    @property
    def weights(self) -> Mapping[str, int]:
        """Name and bytes of every tensor that the model itself holds; by default none."""
        return {}

    @property
    def opaque(self) -> frozenset[str]:
        """Names of what is no tensor (sequences, optionals) and can therefore not be fed or compared."""
        return frozenset()

    def types(self, inputs: TensorMetadata) -> TensorMetadata:
        """Infer the types and shapes of tensors for inputs of these shapes, as far as they are known."""
        return inputs

    def mark(self, outputs: Sequence[str]) -> Loader[Any]:
        """Return a loader of the whole model with these outputs instead of its own."""
        return self.cut(self.inputs, outputs)


@runtime_checkable
class PerturbableGraph(ModelGraph, Protocol):
    """A graph whose tensors can be perturbed as rounding does; a `ModelGraph` need not be one."""

    def perturbed(
        self, kinds: Mapping[str, Rounding], seed: int, inputs: TensorMetadata, times: float = 1.0
    ) -> ModelGraph | None:
        """Return the model with tensors that are perturbed at random by up to what rounding changes them.

        Inputs are left as they are: the caller perturbs what it feeds.

        Args:
            kinds: Type that each tensor is rounded to, by name; that of all others under the empty name.
            seed: Seed of the random numbers.
            inputs: Types and shapes of what the caller will feed.
            times: How many times as far tensors are moved as rounding moves them.

        Returns:
            The model, with the same names; None if this model cannot be changed so. Inputs that it has more are random
            numbers: see `random_inputs`.
        """


@runtime_checkable
class NestingGraph(ModelGraph, Protocol):
    """A graph of which operators may run graphs inside themselves; a `ModelGraph` need not be one."""

    def enter(
        self, node: GraphNode, held: Mapping[str, NDArray[Any]]
    ) -> tuple[ModelGraph, Mapping[str, NDArray[Any]]] | None:
        """Return the graph inside an operator as it runs first, and what that is fed; None where nothing runs inside.

        Args:
            node: The operator.
            held: Values of what it reads, and the graph inside from around it, that are no weights.
        """


@dataclass(frozen=True, eq=False)
class Constant:
    """A constant as an operator calculates with it, and the grid on which the file holds it.

    A number x was rounded by at most `unit` |x| + `step` / 2.

    Attributes:
        name: Name of the tensor in the file.
        values: The numbers; codes are multiplied out.
        unit: Unit roundoff of the type; 0 for whole numbers that represent no others.
        step: The distance of neighbouring numbers where it does not shrink with them: the smallest number of a type,
            or the step of a scale, which may differ along axes. Its shape can be broadcast to that of `values`.
        kind: Name of the type that the file declares: `float16`, `int8`.
        coded: Whether the file holds codes, which represent the numbers by a scale.
        clipped: Which of the codes are at an end of their type, so that what they represent may lie beyond; None where
            none is.
    """

    name: str
    values: NDArray[Any]
    unit: float
    step: NDArray[Any]
    kind: str
    coded: bool = False
    clipped: NDArray[Any] | None = None


@runtime_checkable
class DeclaredGraph(ModelGraph, Protocol):
    """A graph that tells what its operators calculate in terms that two files share; a `ModelGraph` need not be one."""

    def settings(self, node: GraphNode) -> Mapping[str, Any]:
        """Return what an operator is told to do, whichever way and version of the format says so.

        Defaults are written out, axes are counted from 0, and what some versions hold in an attribute and others in an
        input is under one name. What has no effect on the result is left out.
        """

    def constants(self, node: GraphNode) -> Mapping[str, Constant]:
        """Return the constants that an operator reads, by the part they play in it.

        A product has a `weight`, with the inner dimension first where it is a matrix, and maybe a `bias`. What an
        operator reads of constants through others that only move, round or scale them is their result.
        """


def random_inputs(perturbed: ModelGraph, graph: ModelGraph, seed: int) -> dict[str, NDArray[Any]]:
    """Return what a perturbed model reads more than the model does: random numbers from -1 to 1, by name.

    All of them are views of one array, each from another place on: drawing a number takes longer than what it is for.

    Args:
        perturbed: What `PerturbableGraph.perturbed` made.
        graph: The model that it was made of.
        seed: Seed of the random numbers.
    """
    import numpy as np

    more = {
        name: tuple(map(int, entry.shape or ())) for name, entry in perturbed.inputs.items() if name not in graph.inputs
    }
    sizes = [math.prod(shape) for shape in more.values()]
    count = min(sum(sizes), max(sizes, default=0) + _PLACES)
    numbers = 2.0 * np.random.default_rng(seed).random(count, np.float32) - np.float32(1.0)
    views, start = {}, 0
    for (name, shape), size in zip(more.items(), sizes, strict=True):
        views[name] = numbers[start : start + size].reshape(shape)
        start = (start + size) % _PLACES
    return views


def weight_values(graph: ModelGraph, names: Iterable[str]) -> dict[str, NDArray[Any]]:
    """Return the values of small weights, such as scales, by name; without those that a graph does not tell.

    Args:
        graph: The model. It tells them if it has a method `values(names)` that returns a mapping.
        names: Names of the weights.
    """
    tell = getattr(graph, "values", None)
    return dict(tell(list(names))) if callable(tell) else {}


class OwnGraph:
    """Base of the graphs that `RunnerTools.inside` returns: of what a backend runs in place of the model's file."""

    def causes(self, tensor: str, made: Any, feed: Mapping[str, Any]) -> Sequence[str]:
        """Return the reasons why a file exported from this program is wrong, each confirmed by a trial.

        Args:
            tensor: The first tensor that is different, by this graph's name.
            made: Values of that tensor as the file's model computes it.
            feed: The inputs.
        """
        return ()
