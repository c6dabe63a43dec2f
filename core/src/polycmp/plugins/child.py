"""The other side of `isolated`: runs in a process of its own and says on a pipe, line by line, what it finds."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

from polycmp.errors import PluginError, describe_exception
from polycmp.plugins import factories
from polycmp.plugins.examination import examine
from polycmp.plugins.records import Contribution
from polycmp.plugins.registry import Registry, with_notes
from polycmp.plugins.rows import row_of

Say = Callable[[dict[str, Any]], None]


def main() -> None:
    """Read one request from stdin and answer it on what was stdout.

    Plugins print, and so do the libraries they load: file descriptor 1 is turned to stderr before any of them is
    imported, so that the answer stays readable.
    """
    request = json.loads(sys.stdin.readline())
    pipe = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def say(message: dict[str, Any]) -> None:
        pipe.write(json.dumps(message) + "\n")
        pipe.flush()

    registry = Registry.discover(request["environ"], reserved=request["reserved"])
    if request["task"] == "list":
        _list(registry, request["skip"], say)
    else:
        _check(registry, request["name"], say)
    say({"done": True})
    # Libraries that were only looked at may hang or crash while they are unloaded; that says nothing of the plugin.
    pipe.close()
    os._exit(0)


def _list(registry: Registry, skip: list[str], say: Say) -> None:
    records = []
    for item in registry.candidates:
        if item.record.name not in skip:
            say({"step": item.record.name})
            records.append(examine(item))
    # What one plugin takes from another is only known of all together.
    for record in with_notes(records, registry.reserved):
        say({"row": row_of(record)})


def _check(registry: Registry, name: str, say: Say) -> None:
    candidate = next(item for item in registry.candidates if item.record.name == name)
    say({"step": f"importing {candidate.record.module}"})
    before = set(sys.modules)
    record = examine(candidate)
    if record.state != "ok":
        say({"problem": record.reason})
        return
    heavy = _foreign_modules(set(sys.modules) - before, record.module)
    if heavy:
        say({"problem": f"its light module {record.module} also imports {', '.join(heavy)}: import that in factories"})
    for item in record.contributions:
        _check_contribution(item, say)


def _foreign_modules(names: set[str], module: str) -> list[str]:
    allowed = {"polycmp", "pluggy", module.partition(".")[0], *sys.stdlib_module_names}
    return sorted({name.partition(".")[0] for name in names} - allowed)


def _check_contribution(item: Contribution, say: Say) -> None:
    try:
        factories.require(item)
    except PluginError as error:
        say({"problem": f"{item.label} {describe_exception(error)}", "hint": error.hint})
        return
    for target in _import_strings(item.spec):
        say({"step": f"loading {target}"})
        try:
            value = factories.load(item, target)
        except PluginError as error:
            say({"problem": f"{item.label}: {describe_exception(error)}", "hint": error.hint})
            continue
        if not callable(value):
            say({"problem": f"{item.label}: {target} is {type(value).__name__}, not callable"})
        else:
            say({"good": f"{item.label}: {target}"})


def _import_strings(spec: Any) -> Iterator[str]:
    for attribute in ("factory", "target", "describe", "inspect", "save", "graph", "hints", "remarks", "watch"):
        value = getattr(spec, attribute, "")
        if value:
            yield value
