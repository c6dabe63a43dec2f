"""`polycmp locate`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from polycmp.command import BackendCommand, common_params, examples
from polycmp.spec import opt
from polycmp_locate.options import JUDGING, MODEL_AND_INPUTS

if TYPE_CHECKING:
    from polycmp.command import Invocation
    from polycmp.plan import Plan

EPILOG = """\b
Exit status: 0 nothing found, 1 found, 2 wrong usage, 3 could not compare, or undecided."""


@dataclass(frozen=True)
class LocateSection:
    """Locating."""

    bisect: bool = opt(
        False, help="Look at a few tensors instead of all of them, for models that are expensive to run."
    )
    explain: bool = opt(False, help="Show the figures behind the verdict.")
    save_repro: str = opt(
        "",
        help="Save the smallest part of the model that still shows the fault, with inputs and outputs.",
        metavar="DIR",
        writes=True,
    )
    save_marked: str = opt(
        "",
        help="If looking inside makes the fault disappear, save the model with that tensor as an extra output.",
        alias="--keep-tap",
        metavar="FILE",
        writes=True,
    )
    rank: bool = opt(
        False,
        help="For a candidate that is the reference model in a smaller type: rank its layers by how much that type "
        "harms them.",
    )
    save_mixed: str = opt(
        "",
        help="Find the fewest layers that must stay in float to meet the tolerance, and save that model. Implies "
        "--rank.",
        metavar="FILE",
        writes=True,
    )
    max_runs: int = opt(
        0,
        help="Maximum number of models that --save-mixed may try; by default 24, or a tenth of the number of layers.",
        metavar="N",
    )
    save_fixed: str = opt(
        "",
        help="For a candidate that was made from the reference model: replace its wrong layers with the "
        "reference's, and save the model once it is within tolerance, with a list of the changes.",
        metavar="FILE",
        writes=True,
    )
    no_float64: bool = opt(False, help="Do not compute anything in float64 to compare with.")


#: Core options that apply to tensors inside a model.
OPTIONS = (
    *MODEL_AND_INPUTS,
    "run.max_memory",
    *JUDGING,
    "result.load_outputs",
    "result.report",
    "log",
    LocateSection,
)


def _locate(call: Invocation) -> int:
    # None of this is needed for a help text, which has to come at once.
    from polycmp_locate.report.presentation import result_of
    from polycmp_locate.repro import save_cases
    from polycmp_locate.search import LocateOptions, locate

    plan, section = call.plan(), call.section(LocateSection)
    call.begin(plan)
    if section.save_fixed:
        return _repair(call, plan, section)
    if section.rank or section.save_mixed:
        return _rank(call, plan, section)
    options = LocateOptions(section.bisect, not section.no_float64)
    with call.progress() as on_stage:
        located = locate(plan, call.registry, options, on_stage)
        save_cases(located, plan, call.registry, section.save_repro, section.save_marked)
    return call.present(result_of(located, explain=section.explain), located.errors)


def _repair(call: Invocation, plan: Plan, section: LocateSection) -> int:
    from polycmp.errors import UsageError
    from polycmp_locate.precision.repair.presentation import result_of
    from polycmp_locate.precision.repair.repair import repair

    if section.rank or section.save_mixed:
        raise UsageError(
            "--save-fixed mends a fault, --save-mixed chooses between types", hint="use one after the other"
        )
    with call.progress() as on_stage:
        repaired = repair(plan, call.registry, section.save_fixed, on_stage)
    return call.present(result_of(repaired))


def _rank(call: Invocation, plan: Plan, section: LocateSection) -> int:
    from polycmp_locate.precision.rank.presentation import result_of
    from polycmp_locate.precision.rank.ranking import RankOptions, rank

    with call.progress() as on_stage:
        ranking = rank(
            plan,
            call.registry,
            RankOptions(search=bool(section.save_mixed), save=section.save_mixed, max_runs=section.max_runs),
            on_stage,
        )
    return call.present(result_of(ranking, "locate"))


locate_command = BackendCommand(
    "locate",
    _locate,
    options=OPTIONS,
    params=common_params(two_models=True),
    help="Find the first tensor inside MODEL that goes wrong on a backend, in bounded memory. The last backend is the "
    "reference, unless --reference names one."
    + examples(
        "polycmp locate model.onnx -b onnxrt -b onnx",
        "polycmp locate new.onnx old.onnx -b onnxrt",
        "polycmp locate model.onnx -b onnxrt -b onnx --save-repro case",
        "polycmp locate int8.onnx float.onnx -b onnxrt --atol 0.1 --save-mixed mixed.onnx",
    ),
    epilog=EPILOG,
)
