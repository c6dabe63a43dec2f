"""Look at plugins in another process, which may hang or die without harm to this one.

The upper half asks, the lower half, from `main` on, is the child that answers.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from polycmp.errors import PluginError, describe_exception
from polycmp.plugins.discovery import Candidate, Contribution, PluginRecord, discover
from polycmp.plugins.names import is_hidden, with_notes
from polycmp.plugins.registry import Registry, install_command, lacks, missing_modules
from polycmp.plugins.validation import validate
from polycmp.process import ChildProcess, Connection
from polycmp.records import dataclass, replace

LIST_TIMEOUT = 10.0
"""Seconds that one light module may take; a proper one takes milliseconds."""
CHECK_TIMEOUT = 120.0
"""Seconds that one heavy import may take; the first import of a GPU library may need tens."""


Say = Callable[[dict[str, Any]], None]


class _DiedError(Exception):
    """The child ended, or was ended, during a step.

    Attributes:
        step: What it was doing.
        how: What became of it.
    """

    def __init__(self, step: str, how: str) -> None:
        super().__init__(f"{step}: {how}")
        self.step = step
        self.how = how


def list_plugins(
    environ: Mapping[str, str] = os.environ, *, reserved: Iterable[str] = (), timeout: float = LIST_TIMEOUT
) -> list[dict[str, Any]]:
    """Return the table of plugins, one row each, without importing any of them here.

    Args:
        environ: Environment variables, `POLYCMP_PLUGINS` among them.
        reserved: The core's own options, which no alias can have.
        timeout: Seconds that one light module may take.

    Returns:
        Rows with the keys `name`, `package`, `version`, `module`, `state`, `reason`, `provides` and `notes`; a plugin
        that ends the process or hangs is `"broken"`, and the others are looked at all the same.
    """
    request = {"task": "list", "reserved": list(reserved)}
    candidates = discover(environ)
    rows: dict[str, dict[str, Any]] = {}
    dead: dict[str, dict[str, Any]] = {}
    while True:
        try:
            for message in _answers({**request, "skip": list(dead)}, environ, timeout):
                if "row" in message:
                    rows[_key(message["row"])] = message["row"]
            break
        except _DiedError as death:
            culprits = [item for item in candidates if item.record.name == death.step and death.step not in dead]
            if not culprits:  # not the fault of any plugin: say so in each row that is still open
                culprits = [item for item in candidates if item.record.name not in dead]
            for item in culprits:
                reason = f"while it was imported, the process {death.how}"
                dead[item.record.name] = _row_of(replace(item.record, state="broken", reason=reason))
    found = {**rows, **{_key(row): row for row in dead.values()}}
    return [found[key] for item in candidates if (key := _key_of(item)) in found]


def _key(row: Mapping[str, Any]) -> str:
    return f"{row['name']} {row['package']} {row['module']}"


def _key_of(item: Candidate) -> str:
    return f"{item.record.name} {item.record.distribution} {item.record.module}"


@dataclass(frozen=True)
class CheckResult:
    """What `check_plugin` found.

    Attributes:
        name: The plugin.
        loaded: What could be imported, one line each.
        problems: What is wrong, one line each; empty if all is well.
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
    request = {"task": "check", "reserved": [], "name": record.name}
    answers: dict[str, list[str]] = {"good": [], "problem": [], "hint": []}
    try:
        for message in _answers(request, environ, timeout):
            for key, lines in answers.items():
                if key in message:
                    lines.append(message[key])
    except _DiedError as death:
        answers["problem"].append(f"{death.step}: the process {death.how}")
    hints = tuple(dict.fromkeys(hint for hint in answers["hint"] if not hint.startswith("polycmp plugins check")))
    return CheckResult(record.name, tuple(answers["good"]), tuple(answers["problem"]), hints)


def _answers(request: Mapping[str, Any], environ: Mapping[str, str], timeout: float) -> Iterator[dict[str, Any]]:
    """Send a request to a new child and yield its answers, until it is done.

    Raises:
        _DiedError: The child ended without being done, or was silent for too long.
    """
    step = "starting Python"
    # The child must see exactly the modules that this process sees.
    path = [entry for entry in sys.path if isinstance(entry, str)]
    child = ChildProcess("polycmp.plugins.isolated", path=path, environ=environ)
    try:
        with suppress(BrokenPipeError):  # it died at once; reading its answer tells
            child.send(request)
        while True:
            try:
                message = child.receive(timeout)
            except TimeoutError:
                raise _DiedError(step, f"did not answer for {timeout:g} s and was ended") from None
            if message is None:
                ending = child.ending()
                last = f": {ending.last_line[:200]}" if ending.status >= 0 and ending.last_line else ""
                raise _DiedError(step, f"{ending}{last}")
            if "done" in message:
                return
            step = message.get("step", step)
            yield message
    finally:
        child.kill()
        child.close()


def main(arguments: list[str]) -> None:
    """Answer one request, as the child.

    Args:
        arguments: The number of the parent process.
    """
    connection = Connection(int(arguments[0]))
    request = connection.receive()
    if request is None:
        return
    registry = Registry.discover(reserved=request["reserved"])
    if request["task"] == "list":
        _list(registry, request["skip"], connection.send)
    else:
        _check(registry, request["name"], connection.send)
    connection.send({"done": True})
    # Libraries that were only looked at may hang or crash while they are unloaded; that says nothing of the plugin.
    os._exit(0)


def _list(registry: Registry, skip: list[str], say: Say) -> None:
    records = []
    for item in registry.candidates:
        if item.record.name not in skip:
            say({"step": item.record.name})
            records.append(validate(item))
    # What one plugin takes from another is only known of all together.
    for record in with_notes(records, registry.reserved):
        say({"row": _row_of(record)})


def _check(registry: Registry, name: str, say: Say) -> None:
    candidate = next(item for item in registry.candidates if item.record.name == name)
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


def _import_strings(spec: Any) -> Iterator[str]:
    names = "factory", "target", "describe", "inspect", "save", "draft", "graph", "hints", "remarks"
    for attribute in (*names, "watch", "look", "record", "reader", "writer"):
        value = getattr(spec, attribute, "")
        if value:
            yield value


def _row_of(record: PluginRecord) -> dict[str, Any]:
    """Return a record as a row of the table, with the modules that its contributions lack."""
    provides = []
    notes = list(record.notes)
    for item in record.contributions:
        if is_hidden(item):
            continue
        missing = missing_modules(item.spec)
        provides.append({"kind": item.kind, "name": item.name, "summary": item.spec.summary, "missing": list(missing)})
        if missing:
            install = install_command(item, missing[0])
            notes.append(f"{item.label} {lacks(missing)}: {install}")
    incomplete = any(entry["missing"] for entry in provides)
    return {
        "name": record.name,
        "package": record.distribution,
        "version": record.version,
        "module": record.module,
        "state": "incomplete" if record.state == "ok" and incomplete else record.state,
        "reason": record.reason,
        "provides": provides,
        "notes": notes,
    }
