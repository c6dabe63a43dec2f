"""`polycmp locate`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from polycmp.cli.run import TableCommand, common_params, current_command
from polycmp.plan.flags import FlagTable, Target, build_table
from polycmp.plan.sections import SECTIONS
from polycmp.spec import opt

EPILOG = """\b
The last backend is the reference, unless --reference names one:
  polycmp locate model.onnx -b onnxrt -b onnx
  polycmp locate new.onnx -b onnxrt -b onnxrt:model=old.onnx
  polycmp locate model.onnx -b onnxrt -b onnx --save-repro case
Exit status: 0 nothing found, 1 found, 2 wrong usage, 3 could not compare."""


@dataclass(frozen=True)
class LocateSection:
    """Locating."""

    bisect: bool = opt(False, help="Look at few tensors instead of all: for models where a run is dear.")
    explain: bool = opt(False, help="Show the figures behind the verdict.")
    save_repro: str = opt(
        "", help="Save the smallest part of the model that still shows it, with inputs and outputs.", metavar="DIR"
    )
    keep_tap: str = opt(
        "", help="If looking inside makes the fault go away, save the model with that output kept.", metavar="FILE"
    )
    no_float64: bool = opt(False, help="Do not calculate anything in float64 for comparison.")


#: Options of `run` that have no meaning here.
_NOT_HERE = {
    "data": ("save_inputs", "save_input_blob"),
    "run": ("warm_up", "sequential_runners"),
    "compare": (
        "compare_func_script", "map_output", "no_shape_check", "postprocess", "postprocess_func_script", "validate",
        "fail_fast", "check_average",
    ),
    "result": (
        "save_outputs", "load_outputs", "save_accuracy_results", "gen_script", "config", "write_config",
    ),
}  # fmt: skip


class LocateCommand(TableCommand):
    """`TableCommand` without the options that only `run` has a use for."""

    @cached_property
    def table(self) -> FlagTable:
        """All options."""
        whole = build_table(self.registry, self.sections, watching=self.watching)

        def fits(target: Target) -> bool:
            return target.key.kind != "core" or target.key.field not in _NOT_HERE.get(target.key.owner, ())

        return replace(
            whole,
            targets={key: target for key, target in whole.targets.items() if fits(target)},
            by_flag={flag: target for flag, target in whole.by_flag.items() if fits(target)},
        )


def _locate(**_: Any) -> None:
    # None of this is needed for a help text, which has to come at once.
    from polycmp.cli.build import build_plan, convert
    from polycmp.cli.carry import start_logging
    from polycmp.locate.engine import LocateOptions, locate
    from polycmp.locate.face import result_of
    from polycmp.locate.repro import save_cases
    from polycmp.report.progress import progress
    from polycmp.report.writers import find_writers, present

    ctx, command = current_command()
    given = command.given(ctx)
    settings = convert(given, command.table, command.sections)
    plan = build_plan(given, settings, command.registry)
    section = settings.core["locate"]
    writers = find_writers(plan.files.reports, command.registry, plan.report_options)
    start_logging(settings, ctx.params)
    options = LocateOptions(section.bisect, not section.no_float64)
    with progress(silent=settings.core["log"].silent) as on_stage:
        found = locate(plan, command.registry, options, on_stage)
        save_cases(found, plan, command.registry, section.save_repro, section.keep_tap)
    result = result_of(found, explain=section.explain)
    ctx.exit(present(result, writers, command.registry, verbose=ctx.params.get("verbose", 0) > 0))


locate_command = LocateCommand(
    "locate",
    params=common_params(),
    callback=_locate,
    sections={**SECTIONS, "locate": LocateSection},
    help="Find the first tensor inside MODEL that goes wrong on a backend, in bounded memory.",
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
