"""`polycmp run`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from polycmp.command import BackendCommand, common_params, examples
from polycmp.plan.flags import PLUGIN_KINDS
from polycmp.plan.sections import ResultSection

if TYPE_CHECKING:
    from polycmp.command import Invocation

HELP = "Run MODEL on several backends and compare all outputs; the last run is the reference." + examples(
    "polycmp run model.onnx -b onnxrt -b onnx",
    "polycmp run new.onnx old.onnx -b onnxrt",
    "polycmp run model.onnx -b onnxrt:optimization=off -b onnxrt:threads=1,name=all",
)
EPILOG = """\b
SPEC is NAME[:KEY=VALUE[,KEY=VALUE]...], where a KEY alone means true. Every backend has the keys
name (label in reports), model (another file), python (another interpreter).
Exit status: 0 equal, 1 different, 2 wrong usage, 3 could not compare."""


def _run(call: Invocation) -> int:
    from polycmp.command.build import unused_options

    plan = call.plan()
    reports = {name: call.registry.find_report(name) for name in plan.report_options}
    instead = {name: write for name, item in reports.items() if (write := call.registry.tools(item).instead)}
    path = call.section(ResultSection).write_config
    if path:
        options = {name: options for name, options in plan.report_options.items() if name not in instead}
        call.write_run_file(replace(plan, report_options=options), path)
    if instead:
        call.start_messages()
    for name, write in instead.items():
        call.registry.require(reports[name])
        with call.registry.explained(reports[name]):
            write(plan.report_options[name], plan, call.registry)
    if instead:
        call.tell_written()
        return 0
    call.begin(plan)
    call.warn(unused_options(call.options, plan, call.table))
    return call.present(call.run(plan))


run_command: BackendCommand = BackendCommand(
    "run",
    _run,
    plugins=PLUGIN_KINDS,
    exports=True,
    params=common_params(two_models=True),
    help=HELP,
    epilog=EPILOG,
)
