"""Result of a repair: findings and changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from polycmp.results import BackendResult
from polycmp_locate.precision.rank.result import MixedTrial

#: Roots of a fault: the inputs that the model expects, a weight, an attribute, or the operators.
Kind = Literal["input", "parameter", "hyperparameter", "graph"]


@dataclass(frozen=True)
class Correction:
    """One thing that differs from the source and was put right.

    Attributes:
        kind: Kind of difference.
        where: The operator, or the input.
        text: Description of the change.
    """

    kind: Kind
    where: str
    text: str


@dataclass(frozen=True)
class Suspect:
    """A layer that is wrong by itself.

    Attributes:
        name: The layer, for people.
        ratio: Signal-to-noise ratio in dB of what it makes of the source's tensors; minus infinity where that has
            another shape, or cannot be run.
        operators: Names of its operators in the source.
    """

    name: str
    ratio: float
    operators: tuple[str, ...] = ()


@dataclass
class Repair:
    """Result of a repair.

    Attributes:
        candidate: The label of the backend that runs the faulty model.
        reference: The label of the one to believe.
        suspects: The layers that are wrong by themselves, the worst first.
        changes: Changes that were made; empty if nothing helped or nothing was wrong.
        before: The faulty model as it is.
        after: The mended model; None if there is none.
        runs: Number of models that were run and judged.
        files: Paths of the files that were written.
    """

    candidate: str
    reference: str
    suspects: Sequence[Suspect] = ()
    changes: Sequence[Correction] = ()
    before: MixedTrial | None = None
    after: MixedTrial | None = None
    runs: int = 0
    notes: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    backends: Sequence[BackendResult] = ()
    command: str = ""
    seconds: float = 0.0
