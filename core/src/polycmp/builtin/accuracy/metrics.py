"""Saved metrics: the figures and verdicts of a comparison, one flat record per output, iteration and function."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class MetricRecord:
    """Verdict of one compare function on one output in one iteration.

    Attributes:
        candidate: Label of the candidate.
        reference: Label of the reference.
        iteration: Counted from 0.
        output: The output's name.
        function: The compare function; empty for what no function decides, such as a missing output.
        passed: The verdict; None if the file leaves it to the settings.
        reason: The verdict in words.
        metrics: Figures by name.
        settings: The function's options as far as they concern this output.
        candidate_type: Element type and shape of the candidate's output; empty if it has none.
        reference_type: Likewise of the reference's.
        reference_output: The output's name in the reference.
        inconclusive: `blind` or `undecided` where the verdict is neither.
    """

    candidate: str
    reference: str
    iteration: int
    output: str
    function: str = ""
    passed: bool | None = None
    reason: str = ""
    metrics: Mapping[str, float] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    candidate_type: str = ""
    reference_type: str = ""
    reference_output: str | None = None
    inconclusive: str = ""


@dataclass(frozen=True)
class PairRecord:
    """One candidate and its reference.

    Attributes:
        candidate: Label of the candidate.
        reference: Label of the reference.
        reason: The fault of the pair as a whole; empty if there is none.
    """

    candidate: str
    reference: str
    reason: str = ""


@dataclass
class MetricsFile:
    """The content of a file of metrics.

    Attributes:
        records: In the order of iterations.
        pairs: All pairs, also those without records.
        errors: The error of each failed run, by its label.
        command: The command that wrote it.
        average: Whether means over iterations were judged.
    """

    records: list[MetricRecord] = field(default_factory=list)
    pairs: list[PairRecord] = field(default_factory=list)
    errors: dict[str, str] = field(default_factory=dict)
    command: str = ""
    average: bool = False
