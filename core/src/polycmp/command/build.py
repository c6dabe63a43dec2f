"""From option values to a plan that can be run; run files: plain values in TOML, under the names of options."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polycmp._toml import parse_toml
from polycmp.command.paths import refuse_collisions
from polycmp.errors import FileError, UsageError, describe_exception
from polycmp.files import atomic_write
from polycmp.options import FlagTable, Key, OptionValues, make_options
from polycmp.options.text import read_plain, refuse_empty
from polycmp.plan import Plan
from polycmp.plan.build import make_plan

if TYPE_CHECKING:
    from polycmp.plugins import Registry


def build_plan(values: OptionValues, registry: Registry) -> Plan:
    """Return the plan of a run.

    Raises:
        UsageError: Options contradict each other or their values cannot be right.
        PluginError: Something asked for by name is not there.
    """
    plan = make_plan(values, registry)
    _check(plan)
    refuse_collisions(values, plan)
    return plan


def _check(plan: Plan) -> None:
    if not plan.backends and not plan.files.load_outputs:
        model = shlex.quote(plan.model) if plan.model else "MODEL"
        raise UsageError("no backend given", hint=f"polycmp run {model} -b onnxrt -b onnx")
    if plan.backends and not plan.model and not all(backend.model for backend in plan.backends):
        raise UsageError("no model given", hint="polycmp run MODEL -b BACKEND (put the model first)")
    if plan.data.script and plan.data.files:
        raise UsageError("--data-loader-script and --load-inputs both say where inputs come from", hint="give only one")


def unused_options(values: OptionValues, plan: Plan, table: FlagTable) -> list[str]:
    """Return in words which options were given for backends that do not take part."""
    used = {backend.backend for backend in plan.backends}
    return [
        f"--{owner} is not among the backends, so nothing uses "
        + ", ".join(table.targets[Key("runner", owner, name)].flags[0] for name in fields)
        for owner, fields in values.of_kind("runner").items()
        if owner not in used
    ]


def runner_options(values: OptionValues, registry: Registry) -> dict[str, Any]:
    """Return an options instance per backend that was given any."""
    return {
        name: make_options(registry.find_runner(name).spec.options, fields, f"backend {name}")
        for name, fields in values.of_kind("runner").items()
    }


def read_run_file(path: str, table: FlagTable) -> OptionValues:
    """Return the values of options that a run file gives.

    Raises:
        FileError: The file cannot be read or is no TOML.
        UsageError: A key is no option, or a value cannot be one.
    """
    try:
        content = parse_toml(Path(path).read_bytes().decode())
    except OSError as error:
        raise FileError(f"cannot read the run file {path}", why=describe_exception(error)) from error
    except ValueError as error:
        raise FileError(f"{path} is not valid TOML", why=str(error)) from error
    values = read_plain(content, table, path)
    refuse_empty(content, table, path)
    return values


def write_run_file(values: Mapping[str, Any], path: str) -> None:
    """Write the run file that repeats a run.

    Args:
        values: The plan as plain values.
        path: The file.

    Raises:
        FileError: The file cannot be written, or TOML cannot hold one of the values.
    """
    import tomli_w

    name = Path(path).name
    head = f"# polycmp run --config {shlex.quote(name)}\n\n" if name.isprintable() else ""
    try:
        text = (head + tomli_w.dumps(values)).encode()
    except UnicodeEncodeError as error:  # a file of which a part is replaced would not repeat the run
        raise FileError(f"cannot write the run file {path}", why=f"{error.object!r} is not valid text") from error
    with atomic_write(path) as file:
        file.write(text)
