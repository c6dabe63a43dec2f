"""`polycmp plugins list`: what is installed, and whether it can be used."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import click

from polycmp.command import examples, with_messages
from polycmp.terminal import echo

if TYPE_CHECKING:
    from rich.table import Table


HEADINGS = ("name", "package", "version", "state", "provides", "reason")
_LIST = "Show every plugin: what it provides, or why it does not work." + examples("polycmp plugins list --json")
STYLES = {"ok": "green", "broken": "red", "excluded": "red", "incomplete": "yellow", "disabled": "dim"}


@with_messages
@click.command("list", help=_LIST)
@click.option("--json", "as_json", is_flag=True, help="Write JSON instead of a table.")
def list_command(as_json: bool) -> None:
    """Print the table of plugins; exit status 0 in whatever state they are."""
    import polycmp
    from polycmp.plan.flags import CORE_FLAGS, core_targets
    from polycmp.plugins.isolated import list_plugins

    reserved = [*CORE_FLAGS, *(flag for target in core_targets() for flag in target.flags)]
    rows = list_plugins(os.environ, reserved=reserved)
    if as_json:
        echo(json.dumps({"polycmp": polycmp.__version__, "plugins": rows}, indent=2))
    else:
        _print_table(rows)


def _print_table(rows: Iterable[Mapping[str, Any]]) -> None:
    from polycmp.report.screen import make_console

    console = make_console()
    if console.is_terminal:
        console.print(_table(rows, narrow=console.width < 140))
        return
    wide = make_console(width=1000)  # readers of a pipe want whole lines, without padding
    with wide.capture() as capture:
        wide.print(_table(rows, narrow=False))
    echo("\n".join(line.rstrip() for line in capture.get().splitlines()))


def _table(rows: Iterable[Mapping[str, Any]], *, narrow: bool) -> Table:
    """Return the table; a narrow one stacks what a wide one shows side by side."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from polycmp.report.screen import cell, words

    headings = ["name", "package", "state", "provides"] if narrow else list(HEADINGS)
    table = Table(*headings, box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for row in rows:
        provides = _provides(row["provides"])
        reason = "\n".join(part for part in (row["reason"], *row["notes"]) if part)
        state = cell(row["state"], STYLES[row["state"]])
        if narrow:
            package = f"{row['package']}\n{row['version']}"
            cells = [row["name"], package, state, "\n".join(part for part in (provides, reason) if part)]
        else:
            cells = [row["name"], row["package"], row["version"], state, provides, reason]
        table.add_row(*(words(item) if isinstance(item, str) else item for item in cells))
    return table


def _provides(entries: Iterable[Mapping[str, Any]]) -> str:
    from polycmp.plugins import WORDS

    by_kind: dict[str, list[str]] = {}
    for entry in entries:
        by_kind.setdefault(WORDS[entry["kind"]], []).append(entry["name"])
    return "\n".join(f"{word}: {', '.join(names)}" for word, names in by_kind.items())
