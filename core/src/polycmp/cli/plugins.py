"""`polycmp plugins list`: what is installed, and whether it can be used."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterable, Mapping
from typing import Any

import click

from polycmp.command import examples, with_messages
from polycmp.terminal import echo

HEADINGS = ("name", "package", "version", "state")
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
    """Print a row for each plugin, with what it provides beside or below it, and below that why it does not work."""
    from polycmp.report.layout import Heading, Line, print_table
    from polycmp.report.screen import PlainConsole, cell, standard_output, words

    out, text = standard_output(), io.StringIO()
    if isinstance(out, PlainConsole):  # as wide as any other table there; programs read --json
        out = PlainConsole(out.width, text)
    lines = [
        Line(
            [*(cell(row[key]) for key in HEADINGS[:-1]), cell(row["state"], STYLES[row["state"]])],
            words("\n".join(part for part in (_provides(row["provides"]), row["reason"], *row["notes"]) if part)),
        )
        for row in rows
    ]
    print_table(out, "", [Heading(title) for title in HEADINGS], lines, "provides")
    if text.getvalue():
        echo(text.getvalue())


def _provides(entries: Iterable[Mapping[str, Any]]) -> str:
    from polycmp.plugins import WORDS

    by_kind: dict[str, list[str]] = {}
    for entry in entries:
        by_kind.setdefault(WORDS[entry["kind"]], []).append(entry["name"])
    return "; ".join(f"{word}: {', '.join(names)}" for word, names in by_kind.items())
