"""`polycmp pipeline`."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from polycmp.command import BackendCommand, common_params, examples
from polycmp_pipeline.options import PipelineSection

if TYPE_CHECKING:
    from polycmp.command import Invocation
    from polycmp.report import NextStep
    from polycmp_pipeline.findings import PipelineFindings

#: Where inputs go in the command that is offered.
_FOLDER = "stages"


def _pipeline(call: Invocation) -> int:
    from polycmp_pipeline.face import result_of
    from polycmp_pipeline.file import read_pipeline
    from polycmp_pipeline.stage_search import find

    path, section = call.params["pipeline"], call.section(PipelineSection)
    call.begin(reads=[("PIPELINE.toml", path)])
    pipeline = read_pipeline(path, call.registry, call.options.backends)
    with call.progress() as on_stage:
        findings = find(pipeline, call.registry, section.save_inputs, on_stage)
    return call.present(result_of(findings, path, call.options.command, tuple(_next(call, findings))))


def _next(call: Invocation, findings: PipelineFindings) -> Iterator[NextStep]:
    """Yield the command that searches inside the blamed model, or the one that saves its inputs for that."""
    from polycmp.plan import to_words
    from polycmp.report import NextStep
    from polycmp_pipeline.sentences import blamed

    finding = blamed(findings)
    if finding is None or finding.stage.functions is not None or finding.verdict not in {"failed", "undecided"}:
        return
    if not finding.inputs:
        command = f"{call.options.command} --save-inputs {_FOLDER}"
        yield NextStep(command, "Save what the reference gives each model, for other commands.")
        return
    name = "locate" if "locate" in call.registry.commands else "run"
    item = call.registry.find_command(name)
    table = call.registry.load(item, item.spec.target).table_of(call.registry)
    plan = finding.stage.plan
    plan = replace(plan, data=replace(plan.data, files=(finding.inputs,)))
    words = to_words(plan, call.registry, command=(name,), table=table)
    yield NextStep(shlex.join(["polycmp", *words]), item.spec.summary)


pipeline_command = BackendCommand(
    "pipeline",
    _pipeline,
    options=(PipelineSection, "result.report", "log"),
    plugins=("report",),
    params=[click.Argument(["pipeline"], metavar="PIPELINE.toml"), *common_params()[1:]],
    help="Run the stages of a pipeline, models and functions, end to end and each on the reference's data, and name "
    "the first that goes wrong. Backends given with -b take the place of those in the file."
    + examples("polycmp pipeline pipeline.toml", "polycmp pipeline pipeline.toml -b trt:fp16 -b onnxrt"),
    epilog="Exit status: 0 all stages are right, 1 one is wrong, 2 wrong usage, 3 it cannot be told, or one failed.",
)
