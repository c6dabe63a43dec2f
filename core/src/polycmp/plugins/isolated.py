"""List plugins from another process, which may hang or die without harm to this one.

The upper half asks, the lower half, from `main` on, is the child that answers.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from polycmp.plugins.discovery import Candidate, PluginRecord, discover
from polycmp.plugins.names import is_hidden, with_notes
from polycmp.plugins.registry import Registry, install_command, missing_modules, missing_phrase
from polycmp.plugins.validation import validate
from polycmp.process import DiedError, Say, answer_one, ask_child

LIST_TIMEOUT = 10.0
"""Seconds that one light module may take; a proper one takes milliseconds."""


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
    request = {"reserved": list(reserved)}
    candidates = discover(environ)
    rows: dict[str, dict[str, Any]] = {}
    dead: dict[str, dict[str, Any]] = {}
    while True:
        try:
            asked = {**request, "skip": list(dead)}
            for message in ask_child("polycmp.plugins.isolated", asked, environ, timeout):
                if "row" in message:
                    rows[_key(message["row"])] = message["row"]
            break
        except DiedError as death:
            culprits = [item for item in candidates if item.record.name == death.step and death.step not in dead]
            if not culprits:  # not the fault of any plugin: say so in each row that is still open
                culprits = [item for item in candidates if item.record.name not in dead]
            for item in culprits:
                reason = f"while it was imported, the process {death.how}"
                dead[item.record.name] = _row_of(replace(item.record, state="broken", reason=reason))
    all_rows = {**rows, **{_key(row): row for row in dead.values()}}
    return [all_rows[key] for item in candidates if (key := _key_of(item)) in all_rows]


def _key(row: Mapping[str, Any]) -> str:
    return f"{row['name']} {row['package']} {row['module']}"


def _key_of(item: Candidate) -> str:
    return f"{item.record.name} {item.record.distribution} {item.record.module}"


def main(arguments: list[str]) -> None:
    """Answer one request, as the child.

    Args:
        arguments: The number of the parent process.
    """
    answer_one(int(arguments[0]), _list)


def _list(request: Mapping[str, Any], say: Say) -> None:
    registry = Registry.discover(reserved=request["reserved"])
    records = []
    for item in registry.candidates:
        if item.record.name not in request["skip"]:
            say({"step": item.record.name})
            records.append(validate(item))
    # What one plugin takes from another is only known of all together.
    for record in with_notes(records, registry.reserved):
        say({"row": _row_of(record)})


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
            notes.append(f"{item.label} {missing_phrase(missing)}: {install}")
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
