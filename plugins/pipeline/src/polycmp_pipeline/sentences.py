"""Sentences on a pipeline: which stage is to blame, and what follows from it."""

from __future__ import annotations

from collections.abc import Sequence

from polycmp.report import Verdict
from polycmp.sentences import counted
from polycmp_pipeline.findings import PipelineFindings, StageFinding

#: A share of what numbers span above which a difference that rounding explains is not passed in silence: as of outputs.
_REPORTED_SHARE = 0.05


def blamed(findings: PipelineFindings) -> StageFinding | None:
    """Return the first stage that is wrong on equal inputs, or else the first that could not be decided.

    Args:
        findings: What was found.
    """
    for verdicts in (("failed", "error"), ("undecided",), ("blind",)):
        for stage in findings.stages:
            if stage.verdict in verdicts:
                return stage
    return None


def turning(findings: PipelineFindings) -> StageFinding | None:
    """Return the first stage whose end-to-end results differ by much or in a decision.

    Args:
        findings: What was found; with no stage to blame.
    """
    for stage in findings.stages:
        apart = stage.end_to_end
        if apart.decides or (apart.differs and apart.share > _REPORTED_SHARE):
            return stage
    return None


def verdict_of(findings: PipelineFindings) -> Verdict:
    """Return the verdict on the whole."""
    stage = blamed(findings)
    if stage is not None and stage.verdict != "skipped":
        return stage.verdict
    if turning(findings) is not None:
        return "undecided"
    return "passed" if any(stage.verdict == "passed" for stage in findings.stages) else "blind"


def inherited_from(finding: StageFinding, findings: PipelineFindings) -> str:
    """Return the name of the stage whose fault a stage passes on; empty where it passes on none.

    Args:
        finding: The stage.
        findings: The findings on all stages.
    """
    stage = blamed(findings)
    if stage is None or finding.verdict not in {"passed", "skipped"} or not finding.end_to_end.differs:
        return ""
    names = [item.stage.name for item in findings.stages]
    return stage.stage.name if names.index(stage.stage.name) < names.index(finding.stage.name) else ""


def sentence(findings: PipelineFindings) -> str:
    """Describe the findings in one sentence."""
    stage = blamed(findings)
    if stage is None:
        return _right(findings)
    name = stage.stage.name
    verdict_words = {
        "failed": "is wrong on equal inputs", "error": "fails on equal inputs",
        "undecided": "cannot be decided on equal inputs", "blind": "was compared blindly",
    }[stage.verdict]  # fmt: skip
    place = findings.stages.index(stage)
    before, after = findings.stages[:place], findings.stages[place + 1 :]
    words = [f"{name!r} {verdict_words}: {stage.brief}"]
    right = _names([item for item in before if item.verdict == "passed"])
    words += [f"right before it: {right}"] if right else []
    heirs = _names([item for item in after if inherited_from(item, findings)])
    words += [f"right on equal inputs, and passing it on: {heirs}"] if heirs else []
    well = _names([item for item in after if item.verdict == "passed" and not inherited_from(item, findings)])
    words += [f"right after it: {well}"] if well else []
    too = _names([item for item in after if item.verdict in {"failed", "error"}])
    words += [f"wrong, too: {too}"] if too else []
    last = findings.stages[-1]
    if heirs and last.end_to_end.differs and last.end_to_end.reached:
        words.append(f"end to end: {last.end_to_end.text}")
    return "; ".join(words)


def _right(findings: PipelineFindings) -> str:
    stages = [stage for stage in findings.stages if stage.verdict == "passed"]
    if not stages:
        return "nothing was there to run the stages on"
    right = f"all {len(stages)} stages are right" if len(stages) > 1 else f"{stages[0].stage.name!r} is right"
    right += " on equal inputs"
    turn = turning(findings)
    if turn is None:
        last = findings.stages[-1]
        return f"{right}; end to end {last.stage.name!r} is {_apart(last)}, with {counted(findings.samples, 'sample')}"
    names = [stage.stage.name for stage in findings.stages]
    earlier = [stage for stage in findings.stages[: names.index(turn.stage.name)] if stage.end_to_end.share]
    origin = f" what rounding leaves of {earlier[0].stage.name!r}" if earlier else " rounding"
    return f"{right}, but {turn.stage.name!r} turns{origin} into something else: {turn.end_to_end.text}"


def _apart(stage: StageFinding) -> str:
    text = stage.end_to_end.text
    return text if text == "equal" else f"not bit for bit equal ({text})"


def _names(stages: Sequence[StageFinding]) -> str:
    names = [repr(stage.stage.name) for stage in stages]
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))
