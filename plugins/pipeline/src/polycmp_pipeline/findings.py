"""What is found of a pipeline, stage by stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from polycmp_pipeline.file import Stage
from polycmp_pipeline.values import Values

Verdict = Literal["passed", "failed", "blind", "undecided", "error", "skipped"]


@dataclass(frozen=True)
class Made:
    """What both sides of a stage made of each sample.

    Attributes:
        reference: What the reference made.
        equal: What the new side made of the same inputs; None where it failed on any.
        free: What the new side made of what its own earlier stages made; None for samples that it did not reach.
        failure: Why the new side failed on equal inputs; empty if it did not.
        lost: Why it failed on its own; empty if it did not.
        hint: What to do about a failure.
        notes: Remarks of its backends.
    """

    reference: Sequence[Values]
    equal: Sequence[Values] | None
    free: Sequence[Values | None]
    failure: str = ""
    lost: str = ""
    hint: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class ValueVerdict:
    """What was found of one of a stage's values, over all samples.

    Attributes:
        name: Its name.
        verdict: The verdict on it.
        reason: The reason in words; empty if there is none to give.
        brief: The same in a few words.
        share: The largest error as a share of what its numbers span; None where they are no such numbers.
        items: Number of items, all samples together.
        differing: Number of those that did not pass.
    """

    name: str
    verdict: Verdict
    reason: str = ""
    brief: str = ""
    share: float | None = 0.0
    items: int = 0
    differing: int = 0


@dataclass(frozen=True)
class EndToEnd:
    """How far a stage's results are apart where each side goes on with its own.

    Attributes:
        text: In words.
        differs: Whether by more than a comparison of arrays lets pass.
        share: The largest error as a share of what numbers span; infinite where a decision differs.
        decides: Whether texts, whole numbers, shapes or numbers of items differ.
        name: The value that differs most; empty where none does.
        reached: Whether the new side got here with every sample.
    """

    text: str
    differs: bool = False
    share: float = 0.0
    decides: bool = False
    name: str = ""
    reached: bool = True


@dataclass(frozen=True)
class StageFinding:
    """What was found of one stage.

    Attributes:
        stage: The stage.
        verdict: The verdict on equal inputs.
        reason: The reason in words.
        brief: The same in a few words.
        values: Its values.
        end_to_end: How its results differ where each side goes on with its own.
        hint: What to do about a failure.
        notes: Remarks.
        inputs: Folder with what the reference gave it; empty where that was not saved.
    """

    stage: Stage
    verdict: Verdict
    reason: str = ""
    brief: str = ""
    values: tuple[ValueVerdict, ...] = ()
    end_to_end: EndToEnd = EndToEnd("equal")
    hint: str = ""
    notes: tuple[str, ...] = ()
    inputs: str = ""

    @property
    def share(self) -> float:
        """The largest error on equal inputs, as a share; infinite where that is no number."""
        shares = [value.share for value in self.values]
        return max((float("inf") if share is None else share for share in shares), default=0.0)


@dataclass(frozen=True)
class Findings:
    """What was found of a pipeline.

    Attributes:
        stages: What was found of its stages, up to one whose reference failed.
        left: Names of the stages behind that.
        samples: Number of samples.
        environment: Versions and machine.
    """

    stages: tuple[StageFinding, ...]
    left: tuple[str, ...]
    samples: int
    environment: Mapping[str, str]
