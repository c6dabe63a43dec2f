"""`polycmp debug reduce`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from polycmp.command import BackendCommand, common_params
from polycmp.spec import opt

if TYPE_CHECKING:
    from polycmp.command import Invocation

EPILOG = """\b
The last backend is the reference, unless --reference names one:
  polycmp debug reduce model.onnx -b onnxrt -b onnx
  polycmp debug reduce model.onnx -b trt:fp16 -b onnxrt -o small.onnx --save-repro case
Exit status: 0 reduced, or nothing fails; 1 a failure that could not be reduced; 2 wrong usage; 3 could not search."""


@dataclass(frozen=True)
class ReduceSection:
    """Reducing."""

    mode: str = opt(
        "bisect",
        help="Halve, or go operator by operator: for faults that come and go along the model.",
        choices=("bisect", "linear"),
    )
    min_good: str = opt(
        "", help="Write the passing part that is nearest in size.", metavar="FILE", alias="--min-good", writes=True
    )
    no_reduce_inputs: bool = opt(False, help="Leave the inputs where they are.")
    no_reduce_outputs: bool = opt(False, help="Leave the outputs where they are.")
    save_repro: str = opt(
        "", help="Save the failing part with inputs, expected outputs and a script.", metavar="DIR", writes=True
    )
    save_debug_replay: str = opt(
        "", help="Keep every step in this file, so that a search can go on.", metavar="FILE", writes=True
    )
    load_debug_replay: str = opt("", help="Go on after the steps in this file.", metavar="FILE")


#: What of the core's options has a meaning for parts of a model.
OPTIONS = (
    "model",
    "data.input_shapes",
    "data.data_loader",
    "data.data_loader_script",
    "data.data_loader_func_name",
    "data.load_inputs",
    "run.use_subprocess",
    "run.timeout",
    "run.sequential_runners",
    "compare.compare",
    "compare.compare_func_script",
    "compare.reference",
    "compare.map_output",
    "compare.no_shape_check",
    "result.report",
    "log",
    ReduceSection,
)


def _reduce(call: Invocation) -> int:
    # None of this is needed for a help text, which has to come at once.
    from polycmp_locate.debug.replay import Replay
    from polycmp_locate.reduce.engine import Wanted, reduce_with_backends
    from polycmp_locate.reduce.face import result_of
    from polycmp_locate.reduce.search import Wishes

    section = call.section(ReduceSection)
    wishes = Wishes(section.mode == "linear", not section.no_reduce_outputs, not section.no_reduce_inputs)
    plan = call.plan()
    call.begin(plan)
    wanted = Wanted(_output(call), section.min_good, section.save_repro)
    replay = Replay(section.load_debug_replay, section.save_debug_replay)
    with call.progress() as on_stage:
        found = reduce_with_backends(plan, call.registry, wishes, wanted, replay, on_stage)
    return call.present(result_of(found))


def _output(call: Invocation) -> str:
    """Return where the failing model goes: by default into this folder, under the model's name with `_reduced`."""
    model = Path(call.given.model)
    return call.params["output"] or f"{model.stem}_reduced{model.suffix}"


reduce_command = BackendCommand(
    "reduce",
    _reduce,
    options=OPTIONS,
    params=[
        *common_params(),
        click.Option(
            ["-o", "--output"], metavar="FILE", help="Where the failing part goes; by default MODEL_reduced.onnx."
        ),
    ],
    help="Make MODEL smaller, as long as a backend differs from the reference or fails on it.",
    epilog=EPILOG,
)
