"""From a plan to the smallest part that fails, with two backends in this process."""

from __future__ import annotations

import shlex
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from polycmp.debug import Replay
from polycmp.model import Model
from polycmp.plan import Plan, to_words, without_written_files
from polycmp.report import Problem, backend_failure
from polycmp.runs import resolve
from polycmp_locate.reduce.judging import BackendJudge, WholeModelRuns, needs_outputs
from polycmp_locate.reduce.parts import ModelPart, PartCutter
from polycmp_locate.reduce.reduction import Reduction, recording_problem
from polycmp_locate.reduce.saving import save_case
from polycmp_locate.reduce.search import ReduceOptions
from polycmp_locate.reduce.searching import OutputFiles, RecordedSearch, Stage
from polycmp_locate.reduce.writing import write_model
from polycmp_locate.whole_outputs import refuse_means

if TYPE_CHECKING:
    from polycmp.plugins import Registry

_WHOLE_UNANSWERED = {
    "blind": "nothing could have differed in the whole model, so it is not known whether it fails",
    "undecided": "whether the whole model fails could not be decided",
}


def reduce_with_backends(
    plan: Plan,
    registry: Registry,
    options: ReduceOptions,
    output_files: OutputFiles,
    replay: Replay,
    on_stage: Stage = lambda _: None,
) -> Reduction:
    """Reduce a model on which a backend differs from another, or fails; write what was found.

    Args:
        plan: Model, backends, inputs and tolerances.
        registry: The plugins.
        options: Options of the search.
        output_files: Files to write.
        replay: Keeps the steps.
        on_stage: Told what happens next.

    Raises:
        UsageError: There are not two backends, or one of them runs no parts of a model.
        ModelError: The backends' models have different operators, or cannot be read.
        PolycmpError: Anything else that keeps the search from starting.
    """
    start = time.perf_counter()
    refuse_means(plan.compare, "debug reduce")
    resolved = resolve(plan, registry)
    whole = WholeModelRuns(resolved, plan, on_stage)
    failure = whole.find()
    if failure is None:
        graph = resolved.backends[-1].model.graph()
        assert graph is not None  # or it could not have been opened
        reduction = Reduction(graph, notes=[f"compared on {whole.iterations} inputs"])
        failed = [item for item in whole.results if item.error]
        if failed:
            reduction.problem = backend_failure(failed[0].label, failed[0].error, failed[0].hint)
        elif whole.unanswered:
            verdict, why = next(iter(whole.unanswered.items()))
            judged = to_words(without_written_files(plan), registry)
            reduction.problem = Problem(_WHOLE_UNANSWERED[verdict], why, shlex.join(["polycmp", *judged]))
    else:
        judge, graph = BackendJudge(failure, resolved), failure.reference.graph
        fixed = needs_outputs(plan.compare) and options.outputs
        options = replace(options, outputs=False) if fixed else options
        reduction = RecordedSearch(graph, PartCutter(graph), judge, options, replay, on_stage).run()
        reduction.sentence = failure.sentence
        reduction.notes += ["the outputs stay as they are, since postprocessing reads them"] if fixed else []
        if failure.iteration:
            reduction.notes.append(f"on input {failure.iteration}, counted from 0; those before it pass")
        if reduction.failing is None:
            inside = to_words(without_written_files(plan), registry, command=("locate",))
            reduction.problem = Problem(
                "the model fails, yet not when all of it is cut out of its file, so no part can be smaller",
                failure.sentence,
                shlex.join(["polycmp", *inside]),
            )
        else:
            model = resolved.backend(failure.candidate.label).model
            with recording_problem(reduction):
                _write(reduction, output_files, plan, registry, judge, model)
    reduction.command, reduction.seconds = plan.command, time.perf_counter() - start
    return reduction


def _write(
    reduction: Reduction, output_files: OutputFiles, plan: Plan, registry: Registry, judge: BackendJudge, model: Model
) -> None:
    def write(part: ModelPart, path: str) -> str:
        return write_model(model, judge.failure.candidate.part(judge.tensors(part.inputs) or {}, part.outputs), path)

    reduction.write_parts(output_files.output, output_files.passing, write)
    if output_files.folder and reduction.failing is not None:
        shown = save_case(output_files.folder, plan, registry, judge, reduction.failing, model)
        reduction.wrote_case(output_files.folder, shown=shown)
