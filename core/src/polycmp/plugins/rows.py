"""A plugin as a row of `plugins list`, in a form that passes through a pipe."""

from __future__ import annotations

from typing import Any

from polycmp.plugins import factories
from polycmp.plugins.records import PluginRecord
from polycmp.spec import RunnerSpec


def row_of(record: PluginRecord) -> dict[str, Any]:
    """Return a record as a row of the table, with the modules that its contributions lack."""
    provides = []
    notes = list(record.notes)
    for item in record.contributions:
        if isinstance(item.spec, RunnerSpec) and item.spec.hidden:
            continue
        missing = factories.missing_modules(item.spec)
        provides.append({"kind": item.kind, "name": item.name, "summary": item.spec.summary, "missing": list(missing)})
        if missing:
            install = factories.install_command(item, missing[0])
            notes.append(f"{item.label} {factories.lacks(missing)}: {install}")
    lacks = any(entry["missing"] for entry in provides)
    return {
        "name": record.name,
        "package": record.distribution,
        "version": record.version,
        "module": record.module,
        "state": "incomplete" if record.state == "ok" and lacks else record.state,
        "reason": record.reason,
        "provides": provides,
        "notes": notes,
    }
