"""`polycmp run`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from polycmp.command import BackendCommand
from polycmp.plan.sections import ResultSection

if TYPE_CHECKING:
    from polycmp.command import Invocation
    from polycmp.plan import Plan
    from polycmp.plugins import Registry

EPILOG = """\b
SPEC is NAME[:KEY=VALUE[,KEY=VALUE]...], a KEY alone means true:
  polycmp run model.onnx -b onnxrt -b onnx
  polycmp run model.onnx -b onnxrt:optimization=off -b onnxrt:optimization=all,threads=1
  polycmp run new.onnx -b onnxrt -b onnxrt:model=old.onnx
Keys of every backend: name (label in reports), model (another file), python (another interpreter).
The last run is the reference, unless --reference names one.
Exit status: 0 equal, 1 different, 2 wrong usage, 3 could not compare."""


def _run(call: Invocation) -> int:
    from polycmp.command.build import unused_options

    plan = call.plan()
    result = call.section(ResultSection)
    if result.write_config:
        call.write_run_file(plan, result.write_config)
    if result.gen_script:
        return _export(plan, call.registry, result.gen_script)
    call.begin(plan)
    call.warn(unused_options(call.settings, plan, call.table))
    return call.present(call.run(plan))


def _export(plan: Plan, registry: Registry, path: str) -> int:
    """Write the plan as a Python script, or print it for the path `-`; return the exit status.

    Raises:
        UsageError: The plan holds something that a script cannot say.
        FileError: The file cannot be written.
    """
    from polycmp.files import atomic_write, to_bytes
    from polycmp.session.export import script_of

    source = script_of(plan, registry)
    if path == "-":
        click.echo(source, nl=False)
        return 0
    with atomic_write(path) as file:
        file.write(to_bytes(source))
    Path(path).chmod(Path(path).stat().st_mode | 0o111)
    return 0


run_command = BackendCommand(
    "run",
    _run,
    watching=True,
    help="Run MODEL on several backends and compare all outputs.",
    epilog=EPILOG,
)
