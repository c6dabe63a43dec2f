"""Every command and option of Polygraphy beside ours: what is missing, and the table on it, for `polygraphy_table`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from polycmp.command import BackendCommand
from polycmp.plugins import Registry

DATA = Path(__file__).parent / "data"
COMMANDS: Mapping[str, list[str]] = json.loads((DATA / "polygraphy-0.53.6" / "cli.json").read_text())["commands"]
DIFFERENCES: Mapping[str, Mapping[str, Mapping[str, str]]] = json.loads((DATA / "cli_differences.json").read_text())
ABSENT = DIFFERENCES["commands"]


def flags_of(command: str, registry: Registry, *, with_value: bool = False) -> set[str]:
    """All spellings of all options of a command of ours, or of those that take a value; none if there is none."""
    if command not in registry.commands:
        return set()
    found = registry.commands[command]
    made: Any = registry.load(found, found.spec.target)
    if with_value:
        plain = [param for param in made.params if isinstance(param, click.Option) and not param.is_flag]
        valued = {flag for param in plain if not param.count for flag in param.opts}
        granted = made.table_of(registry).by_flag if isinstance(made, BackendCommand) else {}
        return valued | {flag for flag, target in granted.items() if target.field.kind != "flag"}
    flags = {flag for param in made.params for flag in (*param.opts, *param.secondary_opts)}
    if isinstance(made, BackendCommand):
        table = made.table_of(registry)
        flags |= {*table.by_flag, *table.backends, *(target.negative for target in table.targets.values())}
    return flags | {"-h", "--help"}


def spellings(command: str) -> set[str]:
    """All spellings of all options of a command of Polygraphy."""
    return {flag for option in COMMANDS[command] for flag in option.split()}


def differences(command: str) -> dict[str, Mapping[str, str]]:
    """What is listed as different for the options of a command."""
    listed = {**DIFFERENCES["*"], **DIFFERENCES.get(command, {})}
    return {flag: entry for flag, entry in listed.items() if flag in spellings(command)}


def table() -> str:
    """The table of the page: a row for each option of each command."""
    lines = ["| command and option | | |", "|---|---|---|"]
    for command in COMMANDS:
        if command in ABSENT:
            lines.append(f"| `{command}` | {ABSENT[command]['kind']} | {ABSENT[command]['text']} |")
            continue
        listed = differences(command)
        same = [option.replace(" ", " / ") for option in COMMANDS[command] if not set(option.split()) & set(listed)]
        lines.append(f"| `{command}` | same | {', '.join(f'`{option}`' for option in same)} |")
        by_text: dict[tuple[str, str], list[str]] = {}
        for flag, entry in listed.items():
            by_text.setdefault((entry["kind"], entry["text"]), []).append(flag)
        for (kind, text), flags in by_text.items():
            lines.append(f"| `{command}` {', '.join(f'`{flag}`' for flag in flags)} | {kind} | {text} |")
    return "\n".join(lines) + "\n"
