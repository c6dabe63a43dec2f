"""`polycmp locate`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from polycmp.command import BackendCommand
from polycmp.spec import opt

if TYPE_CHECKING:
    from polycmp.command import Invocation

EPILOG = """\b
The last backend is the reference, unless --reference names one:
  polycmp locate model.onnx -b onnxrt -b onnx
  polycmp locate new.onnx -b onnxrt -b onnxrt:model=old.onnx
  polycmp locate model.onnx -b onnxrt -b onnx --save-repro case
Exit status: 0 nothing found, 1 found, 2 wrong usage, 3 could not compare."""


@dataclass(frozen=True)
class LocateSection:
    """Locating."""

    bisect: bool = opt(False, help="Look at few tensors instead of all: for models where a run is expensive.")
    explain: bool = opt(False, help="Show the figures behind the verdict.")
    save_repro: str = opt(
        "",
        help="Save the smallest part of the model that still shows it, with inputs and outputs.",
        metavar="DIR",
        writes=True,
    )
    keep_tap: str = opt(
        "",
        help="If looking inside makes the fault go away, save the model with that output kept.",
        metavar="FILE",
        writes=True,
    )
    no_float64: bool = opt(False, help="Do not calculate anything in float64 for comparison.")


#: What of the core's options has a meaning for tensors inside a model.
OPTIONS = (
    "model",
    "data.input_shapes",
    "data.data_loader",
    "data.data_loader_script",
    "data.data_loader_func_name",
    "data.load_inputs",
    "run.use_subprocess",
    "run.timeout",
    "run.max_memory",
    "compare.compare",
    "compare.reference",
    "result.report",
    "log",
    LocateSection,
)


def _locate(call: Invocation) -> int:
    # None of this is needed for a help text, which has to come at once.
    from polycmp_locate.engine import LocateOptions, locate
    from polycmp_locate.face import result_of
    from polycmp_locate.repro import save_cases

    plan, section = call.plan(), call.section(LocateSection)
    call.begin(plan)
    options = LocateOptions(section.bisect, not section.no_float64)
    with call.progress() as on_stage:
        found = locate(plan, call.registry, options, on_stage)
        save_cases(found, plan, call.registry, section.save_repro, section.keep_tap)
    return call.present(result_of(found, explain=section.explain))


locate_command = BackendCommand(
    "locate",
    _locate,
    options=OPTIONS,
    help="Find the first tensor inside MODEL that goes wrong on a backend, in bounded memory.",
    epilog=EPILOG,
)
