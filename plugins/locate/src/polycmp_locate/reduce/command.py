"""`polycmp debug reduce`."""

from __future__ import annotations

import logging
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from polycmp.command import common_params, examples
from polycmp.debug import CheckingCommand, CheckSection, ReplaySection, check_option
from polycmp.spec import opt
from polycmp_locate.options import JUDGING, MODEL_AND_INPUTS

if TYPE_CHECKING:
    from polycmp.command import Invocation
    from polycmp.debug import Replay
    from polycmp_locate.reduce.reduction import Reduction
    from polycmp_locate.reduce.search import ReduceOptions
    from polycmp_locate.reduce.searching import OutputFiles

_LOG = logging.getLogger("polycmp.locate")

EPILOG = """\b
The last backend is the reference, unless --reference names one. With --check, each step writes polycmp_debug.onnx
for the command.
Exit status: 0 reduced, or nothing fails; 2 wrong usage; 3 could not search."""


@dataclass(frozen=True)
class ReduceSection:
    """Reducing."""

    mode: str = opt(
        "bisect",
        help="Halve the model, or go operator by operator (linear), for faults that come and go along the model.",
        choices=("bisect", "linear"),
    )
    min_good: str = opt(
        "",
        help="Also write the passing part that is closest in size.",
        alias="--minimal-good",
        metavar="FILE",
        writes=True,
    )
    no_reduce_inputs: bool = opt(False, help="Keep the model's inputs.")
    no_reduce_outputs: bool = opt(False, help="Keep the model's outputs.")
    save_repro: str = opt(
        "", help="Save the failing part with inputs, expected outputs and a script.", metavar="DIR", writes=True
    )
    model_input_shapes: tuple[str, ...] = opt(
        (), help="The same as --input-shapes.", alias="--model-inputs", metavar="NAME:[D0,D1,…]", hidden=True
    )
    force_fallback_shape_inference: bool = opt(
        False, help="With --check: find the shapes inside the model by running it instead of inferring them."
    )
    no_shape_inference: bool = opt(
        False, help="Of no effect: a part needs the shapes of the tensors inside the model.", hidden=True
    )


#: Core options that apply to parts of a model.
OPTIONS = (
    *MODEL_AND_INPUTS,
    "run.sequential_runners",
    *JUDGING,
    "result.report",
    "log",
    ReduceSection,
    CheckSection,
    ReplaySection,
)


def _reduce(call: Invocation) -> int:
    with_backends = call.options.backends and not call.params["check"]
    reduction = _with_backends(call) if with_backends else _with_check(call)
    from polycmp_locate.reduce.presentation import result_of
    from polycmp_locate.reduce.reduction import recording_problem

    if call.params["output"] and reduction.failing is None and reduction.problem is None:
        with recording_problem(reduction):
            _write_whole(call, reduction, call.params["output"])
    return call.present(result_of(reduction))


def _write_whole(call: Invocation, reduction: Reduction, path: str) -> None:
    """Write the unreduced model: commands that follow in a script read the output file."""
    from polycmp_locate.reduce.writing import write_model

    model = call.open_model(input_shapes=call.section(ReduceSection).model_input_shapes)
    reduction.wrote("the whole model", path, write_model(model, model.load(model.kind), path))


def _search_options(call: Invocation) -> tuple[ReduceOptions, OutputFiles, Replay]:
    """Return the options of the search, the files to write, and the record of steps."""
    # None of this is needed for a help text, which has to come at once.
    from polycmp.debug import Replay
    from polycmp_locate.reduce.search import ReduceOptions
    from polycmp_locate.reduce.searching import OutputFiles

    section, replays = call.section(ReduceSection), call.section(ReplaySection)
    directions = (not section.no_reduce_outputs, not section.no_reduce_inputs)
    options = ReduceOptions(section.mode == "linear", *directions, around=bool(section.min_good))
    output_files = OutputFiles(_output(call), section.min_good, section.save_repro)
    return options, output_files, Replay(replays.load_debug_replay, replays.save_debug_replay)


def _with_backends(call: Invocation) -> Reduction:
    from polycmp_locate.reduce.with_backends import reduce_with_backends

    options, output_files, replay = _search_options(call)
    plan = call.plan()
    call.begin(plan)
    with call.progress() as on_stage:
        return reduce_with_backends(plan, call.registry, options, output_files, replay, on_stage)


def _with_check(call: Invocation) -> Reduction:
    from polycmp.debug import Stepper, artifact_of, make_check
    from polycmp.errors import UsageError

    if call.options.backends:
        raise UsageError("backends and --check both say what fails", hint="give two backends, or --check COMMAND …")
    section, check = call.section(ReduceSection), call.params["check"]
    checking = call.section(CheckSection)
    suffix = Path(call.options.model).suffix
    artifact = checking.iter_artifact or artifact_of(check, [suffix.lower()], f"polycmp_debug{suffix}")
    from polycmp_locate.reduce.saved import SavedTensors

    saved = SavedTensors(check, call.registry)
    stepper = Stepper(make_check(saved.words, checking, call.registry), checking, artifact)
    with closing(saved), closing(stepper):
        model = call.open_model(input_shapes=section.model_input_shapes)
        if section.no_shape_inference:
            _LOG.warning("--no-shape-inference has no effect: a part needs the shapes of the tensors inside the model")
        model.describe()  # imports what reads models
        stepper.start()
        from polycmp_locate.reduce.checked import reduce_with_check

        saved.read()
        options, output_files, replay = _search_options(call)
        run = section.force_fallback_shape_inference
        with call.progress() as on_stage:
            reduction = reduce_with_check(
                model, stepper, options, output_files, replay, check, saved, run=run, on_stage=on_stage
            )
    reduction.command = call.options.command
    return reduction


def _output(call: Invocation) -> str:
    """Return the file for the failing model: by default in this folder, under the model's name with `_reduced`."""
    model = Path(call.options.model)
    return call.params["output"] or f"{model.stem}_reduced{model.suffix}"


reduce_command = CheckingCommand(
    "reduce",
    _reduce,
    options=OPTIONS,
    params=[
        *common_params(two_models=True),
        click.Option(
            ["-o", "--output"],
            metavar="FILE",
            help="File for the failing part, or for the whole model if nothing fails; by default MODEL_reduced.onnx, "
            "and none if nothing fails.",
        ),
        check_option(),
    ],
    help="Make MODEL as small as possible while a backend still differs from the reference or fails, or a command "
    "still fails."
    + examples(
        "polycmp debug reduce model.onnx -b onnxrt -b onnx",
        "polycmp debug reduce model.onnx -b trt:fp16 -b onnxrt -o small.onnx --save-repro case",
        "polycmp debug reduce model.onnx --check polycmp run polycmp_debug.onnx -b trt -b onnxrt",
    ),
    epilog=EPILOG,
)
