"""Search for the first wrong stage: each runs on the reference's data, and the new side on its own beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from polycmp.errors import PolycmpError
from polycmp.results import describe_environment
from polycmp_pipeline.file import Pipeline, Stage
from polycmp_pipeline.findings import EndToEnd, PipelineFindings, StageFinding, StageResults, ValueVerdict, Verdict
from polycmp_pipeline.functions import run_function
from polycmp_pipeline.judging import ItemJudge, compare_end_to_end, judge_values, verdict_on
from polycmp_pipeline.models import ModelStage
from polycmp_pipeline.samples import open_samples
from polycmp_pipeline.values import Values

if TYPE_CHECKING:
    from polycmp.plugins import Registry

Tell = Callable[[str], None]


@dataclass
class _Data:
    """The values of each sample so far.

    Attributes:
        samples: Names of the samples.
        reference: The reference's values.
        candidate: The new side's values; None for samples that it did not reach.
    """

    samples: Sequence[str]
    reference: list[Values]
    candidate: list[Values | None]

    def take(self, results: StageResults) -> None:
        """Add a stage's results."""
        for values, more in zip(self.reference, results.reference, strict=True):
            values.update(more)
        for place, further in enumerate(results.free):
            known = self.candidate[place]
            self.candidate[place] = None if known is None or further is None else {**known, **further}


def find(
    pipeline: Pipeline, registry: Registry, save_inputs: str = "", on_stage: Tell = lambda _: None
) -> PipelineFindings:
    """Run a pipeline stage by stage.

    Args:
        pipeline: The pipeline.
        registry: The plugins.
        save_inputs: Folder for what the reference gives each model; empty to save nothing.
        on_stage: Told in words what happens next.

    Raises:
        PolycmpError: There are no samples, or the file does not fit its models.
    """
    samples = open_samples(pipeline.source, registry)
    reference, candidate = ([dict(values) for values in samples.values()] for _ in range(2))
    data = _Data(tuple(samples), reference, list(candidate))
    stage_findings: list[StageFinding] = []
    for number, stage in enumerate(pipeline.stages, start=1):
        on_stage(f"stage {number} of {len(pipeline.stages)}: {stage.name}")
        folder = str(Path(save_inputs, stage.name)) if save_inputs and stage.functions is None else ""
        try:
            stage_findings.append(
                _of_function(stage, registry, data)
                if stage.functions
                else _of_model(stage, registry, data, folder, on_stage)
            )
        except PolycmpError as error:
            if error.exit_code != PolycmpError.exit_code:
                raise
            whose = f"{error.whose}: " if error.whose and repr(stage.name) not in error.whose else ""
            why = f" ({error.why})" if error.why else ""
            nothing = EndToEnd("not reached", reached=False)
            reason = f"{whose}{error.what}{why}"
            stage_findings.append(StageFinding(stage, "error", reason, reason, end_to_end=nothing, hint=error.hint))
            break
    not_reached = tuple(stage.name for stage in pipeline.stages[len(stage_findings) :])
    environment = {name: str(value) for name, value in describe_environment().items()}
    return PipelineFindings(tuple(stage_findings), not_reached, len(samples), environment)


def _of_function(stage: Stage, registry: Registry, data: _Data) -> StageFinding:
    results = run_function(stage, data.reference, data.candidate)
    judge = ItemJudge(stage.plan.compare, registry)
    if results.equal is None:
        return _finding(stage, judge, results, data, "error")
    values = judge_values(judge, results.equal, results.reference, data.samples)
    verdict = verdict_on(values)
    before = "the same function makes something else of the same inputs: " if stage.is_same else ""
    return _finding(stage, judge, results, data, verdict, values, before)


def _of_model(stage: Stage, registry: Registry, data: _Data, folder: str, on_stage: Tell) -> StageFinding:
    model = ModelStage(stage, registry, data.samples, on_stage)
    results = model.run(data.reference, data.candidate, folder)
    judge = ItemJudge(stage.plan.compare, registry)
    if results.equal is None:
        return _finding(stage, judge, results, data, "error")
    verdict, reason, values, notes = model.judge(folder)
    finding = _finding(stage, judge, replace(results, notes=(*results.notes, *notes)), data, verdict, values)
    return replace(finding, reason=reason or finding.reason, brief=reason or finding.brief, inputs=folder)


def _finding(
    stage: Stage, judge: ItemJudge, results: StageResults, data: _Data, verdict: Verdict,
    values: tuple[ValueVerdict, ...] = (), before: str = "",
) -> StageFinding:  # fmt: skip
    apart = compare_end_to_end(judge, results.free, results.reference, results.free_failure)
    data.take(results)
    decisive = next((value for value in values if value.verdict == verdict and value.reason), None)
    reason, brief = (decisive.reason, decisive.brief) if decisive is not None else (results.failure, results.failure)
    if verdict == "passed":
        before = reason = brief = ""
    return StageFinding(stage, verdict, before + reason, before + brief, values, apart, results.hint, results.notes)
