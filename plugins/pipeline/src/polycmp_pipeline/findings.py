"""Findings on a pipeline, stage by stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from polycmp_pipeline.file import Stage
from polycmp_pipeline.values import Values

Verdict = Literal["passed", "failed", "blind", "undecided", "error", "skipped"]


@dataclass(frozen=True)
class StageResults:
    """Results of both sides of a stage for each sample.

    Attributes:
        reference: The reference's results.
        equal: The new side's results for the same inputs; None where it failed on any.
        free: The new side's results for the results of its own earlier stages; None for samples that it did not reach.
        failure: Why the new side failed on equal inputs; empty if it did not.
        free_failure: Why the new side failed on its own values; empty if it did not.
        hint: What to do about a failure.
        notes: Remarks of its backends.
    """

    reference: Sequence[Values]
    equal: Sequence[Values] | None
    free: Sequence[Values | None]
    failure: str = ""
    free_failure: str = ""
    hint: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class ValueVerdict:
    """Finding on one of a stage's values, over all samples.

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
    """Difference of a stage's results where each side feeds on its own earlier results.

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
    """Finding on one stage.

    Attributes:
        stage: The stage.
        verdict: The verdict on equal inputs.
        reason: The reason in words.
        brief: The same in a few words.
        values: Its values.
        end_to_end: How its results differ where each side goes on with its own.
        hint: What to do about a failure.
        notes: Remarks.
        inputs: Folder with its inputs from the reference; empty if they were not saved.
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
class PipelineFindings:
    """Findings on a pipeline.

    Attributes:
        stages: Findings on its stages, up to one whose reference failed.
        not_reached: Names of the stages after that.
        samples: Number of samples.
        environment: Versions and machine.
    """

    stages: tuple[StageFinding, ...]
    not_reached: tuple[str, ...]
    samples: int
    environment: Mapping[str, str]
