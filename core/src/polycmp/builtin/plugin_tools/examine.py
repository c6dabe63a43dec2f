"""Import everything that a plugin names, in another process, which may hang or die without harm to this one.

The upper half asks, the lower half, from `main` on, is the child that answers. It imports little itself, since it tells
which modules a plugin's light module brings in.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from polycmp.errors import PluginError, describe_exception
from polycmp.plugins import Contribution, PluginRecord, Registry, validate
from polycmp.process import DiedError, Say, answer_one, ask_child

CHECK_TIMEOUT = 120.0
"""Seconds that one heavy import may take; the first import of a GPU library may need tens."""


@dataclass(frozen=True)
class CheckResult:
    """Findings of `check_plugin`.

    Attributes:
        name: The plugin.
        loaded: Modules and objects that could be imported, one line each.
        problems: Faults, one line each; empty if there are none.
        hints: Commands that would help.
    """

    name: str
    loaded: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()


def check_plugin(record: PluginRecord, environ: Mapping[str, str], *, timeout: float = CHECK_TIMEOUT) -> CheckResult:
    """Import everything that a plugin names, in a process of its own, and return what is wrong.

    Args:
        record: The plugin, as discovered; one that is unusable by its metadata is not imported.
        environ: Environment variables.
        timeout: Seconds that one import may take.
    """
    if record.state != "ok":
        return CheckResult(record.name, problems=(f"{record.state}: {record.reason}",))
    answers: dict[str, list[str]] = {"good": [], "problem": [], "hint": []}
    try:
        for message in ask_child("polycmp.builtin.plugin_tools.examine", {"name": record.name}, environ, timeout):
            for key, lines in answers.items():
                if key in message:
                    lines.append(message[key])
    except DiedError as death:
        answers["problem"].append(f"{death.step}: the process {death.how}")
    hints = tuple(dict.fromkeys(hint for hint in answers["hint"] if not hint.startswith("polycmp plugins check")))
    return CheckResult(record.name, tuple(answers["good"]), tuple(answers["problem"]), hints)


def main(arguments: list[str]) -> None:
    """Answer one request, as the child.

    Args:
        arguments: The number of the parent process.
    """
    answer_one(int(arguments[0]), _check)


def _check(request: Mapping[str, Any], say: Say) -> None:
    registry = Registry.discover()
    candidate = next(item for item in registry.candidates if item.record.name == request["name"])
    say({"step": f"importing {candidate.record.module}"})
    before = set(sys.modules)
    record = validate(candidate)
    if record.state != "ok":
        say({"problem": record.reason})
        return
    heavy = _foreign_modules(set(sys.modules) - before, record.module)
    if heavy:
        say({"problem": f"its light module {record.module} also imports {', '.join(heavy)}: import that in factories"})
    for item in record.contributions:
        _check_contribution(registry, item, say)


def _foreign_modules(names: set[str], module: str) -> list[str]:
    allowed = {"polycmp", "pluggy", module.partition(".")[0], *sys.stdlib_module_names}
    return sorted({name.partition(".")[0] for name in names} - allowed)


def _check_contribution(registry: Registry, item: Contribution, say: Say) -> None:
    try:
        registry.require(item)
    except PluginError as error:
        say({"problem": f"{item.label} {describe_exception(error)}", "hint": error.hint})
        return
    for target in _import_strings(item.spec):
        say({"step": f"loading {target}"})
        try:
            value = registry.load(item, target)
        except PluginError as error:
            say({"problem": f"{item.label}: {describe_exception(error)}", "hint": error.hint})
            continue
        if not callable(value):
            say({"problem": f"{item.label}: {target} is {type(value).__name__}, not callable"})
        else:
            say({"good": f"{item.label}: {target}"})
    if getattr(item.spec, "tools", ""):
        try:
            registry.tools(item)
        except PluginError as error:
            say({"problem": f"{item.label}: {describe_exception(error)}", "hint": error.hint})


def _import_strings(spec: Any) -> Iterator[str]:
    for attribute in ("factory", "target", "tools", "reader", "writer"):
        value = getattr(spec, attribute, "")
        if value:
            yield value
    for name in getattr(spec, "former_functions", ()):
        if spec.former.get(name):
            yield spec.former[name]
