"""From option values to a plan, and from those of a run file: plain values in TOML, under the names of options."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polycmp.command.paths import refuse_collisions
from polycmp.errors import FileError, UsageError, describe_exception
from polycmp.files import atomic_write
from polycmp.options import make_options
from polycmp.plan import Plan
from polycmp.plan.backends import plan_backends
from polycmp.plan.build import Settings, make_plan, settings_of
from polycmp.plan.flags import FlagTable, Key, Target
from polycmp.plan.sections import SECTIONS
from polycmp.plan.text import Asked, read_values
from polycmp.records import dataclass
from polycmp.toml import parse_toml

if TYPE_CHECKING:
    from polycmp.plugins import Registry

Occurrences = Sequence[Sequence[str]]


@dataclass
class Given:
    """What the user asked for, as text.

    Attributes:
        model: The model file.
        backends: The instances.
        values: For each option, the texts of each use of it.
        command: The command line.
        run_file: What a run file asks for; the rest wins.
    """

    model: str = ""
    backends: tuple[str, ...] = ()
    values: dict[Key, Occurrences] = field(default_factory=dict)
    command: str = ""
    run_file: Asked = field(default_factory=Asked)


def convert(given: Given, table: FlagTable, sections: Mapping[str, type] = SECTIONS) -> Settings:
    """Turn the texts into values.

    Raises:
        UsageError: A text cannot be its option's value.
    """
    typed = {key: convert_one(table.targets[key], occurrences) for key, occurrences in given.values.items()}
    return settings_of({**given.run_file.values, **typed}, sections)


def convert_one(target: Target, occurrences: Occurrences) -> Any:
    """Turn the texts of one option into its value.

    Raises:
        UsageError: A text cannot be its value.
    """
    try:
        return target.field.convert(occurrences)
    except UsageError as error:
        raise UsageError(error.what, whose=target.flags[0], why=error.why, hint=error.hint) from None


def build_plan(given: Given, settings: Settings, registry: Registry) -> Plan:
    """Return the plan of a run.

    Raises:
        UsageError: Options contradict each other or their values cannot be right.
        PluginError: Something asked for by name is not there.
    """
    defaults = settings.of_kind("runner")
    if given.backends:
        backends = plan_backends(given.backends, defaults, registry)
    else:
        typed = _typed_for_backends(given, defaults)
        backends = plan_backends(given.run_file.backends, defaults, registry, typed, given.run_file.whose)
    plan = make_plan(given.model or given.run_file.model, backends, settings, registry, given.command)
    _check(plan)
    refuse_collisions(settings, plan)
    return plan


def _typed_for_backends(given: Given, values: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the options of backends on the command line, which win over what a run file says of its instances."""
    found: dict[str, dict[str, Any]] = {}
    for key in given.values:
        if key.kind == "runner":
            found.setdefault(key.owner, {})[key.field] = values[key.owner][key.field]
    return found


def _check(plan: Plan) -> None:
    if not plan.backends and not plan.files.load_outputs:
        raise UsageError("no backend given", hint="polycmp run MODEL -b onnxrt -b onnx")
    if plan.backends and not plan.model and not all(backend.model for backend in plan.backends):
        raise UsageError("no model given", hint="polycmp run MODEL -b BACKEND (put the model first)")
    if plan.data.script and plan.data.files:
        raise UsageError("--data-loader-script and --load-inputs both say where inputs come from", hint="give one")


def unused_options(settings: Settings, plan: Plan, table: FlagTable) -> list[str]:
    """Return in words which options were given for backends that do not take part."""
    used = {backend.backend for backend in plan.backends}
    return [
        f"--{owner} is not among the backends, so nothing uses "
        + ", ".join(table.targets[Key("runner", owner, name)].flags[0] for name in values)
        for owner, values in settings.of_kind("runner").items()
        if owner not in used
    ]


def runner_options(settings: Settings, registry: Registry) -> dict[str, Any]:
    """Return an options instance per backend that was given any."""
    return {
        name: make_options(registry.find_runner(name).spec.options, values, f"backend {name}")
        for name, values in settings.of_kind("runner").items()
    }


def read_run_file(path: str, table: FlagTable) -> Asked:
    """Return what a run file asks for.

    Raises:
        FileError: The file cannot be read or is no TOML.
        UsageError: A key is no option, or a value cannot be one.
    """
    try:
        content = parse_toml(Path(path).read_bytes().decode())
    except OSError as error:
        raise FileError(f"cannot read the run file {path}", why=describe_exception(error)) from error
    except ValueError as error:
        raise FileError(f"{path} is no TOML", why=str(error)) from error
    asked = read_values(content, table, path)
    for key, value in content.items():
        if key == "backend":
            continue
        target = table.by_flag.get("--" + key.replace("_", "-"))
        if _says_nothing(value) and not (value == [] and target is not None and target.field.bare == ""):
            raise UsageError(f"{key!r} needs a value", whose=path, hint="leave the key out to have the default")
    return asked


def _says_nothing(value: Any) -> bool:
    """Return whether a value, or one of several, is empty: not the same as one that was not given."""
    if isinstance(value, str):
        return not value.strip()
    if isinstance(value, (list, Mapping)):
        items = value if isinstance(value, list) else list(value.values())
        return not items or any(map(_says_nothing, items))
    return False


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
        raise FileError(f"cannot write the run file {path}", why=f"{error.object!r} is no valid text") from error
    with atomic_write(path) as file:
        file.write(text)
