"""`polycmp plugins list | check`: what is installed, and whether it works."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import click

from polycmp.command import examples, with_messages
from polycmp.errors import PluginError, did_you_mean
from polycmp.terminal import echo, visible

if TYPE_CHECKING:
    from rich.table import Table

    from polycmp.plugins.discovery import Candidate
    from polycmp.plugins.isolated import CheckResult

HEADINGS = ("name", "package", "version", "state", "provides", "reason")
_LIST = "Show every plugin: what it provides, or why it does not work." + examples("polycmp plugins list --json")
_CHECK = "Import all that plugins name, each in a process of its own." + examples("polycmp plugins check onnxrt")
STYLES = {"ok": "green", "broken": "red", "excluded": "red", "incomplete": "yellow", "disabled": "dim"}


@with_messages
@click.command("list", help=_LIST)
@click.option("--json", "as_json", is_flag=True, help="Write JSON instead of a table.")
def list_command(as_json: bool) -> None:
    """Print the table of plugins; exit status 0 whatever state they are in."""
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
    wide = make_console(width=1000)  # whoever reads a pipe wants whole lines, without padding
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


@with_messages
@click.command("check", help=_CHECK)
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--timeout", type=float, default=120.0, show_default=True, help="Seconds that one import may take.")
def check_command(names: tuple[str, ...], timeout: float) -> None:
    """Print what each plugin's heavy imports did.

    Raises:
        PluginError: A name is unknown, or a plugin has problems.
    """
    from polycmp.plugins.discovery import discover
    from polycmp.plugins.isolated import check_plugin

    candidates = discover(os.environ)
    chosen = [item for name in names for item in _named(name, candidates)]
    if not names:
        chosen = [item for item in candidates if item.record.state != "disabled"]
    failed = []
    for item in chosen:
        result = check_plugin(item.record, os.environ, timeout=timeout)
        _print_result(item, result)
        if result.problems:
            failed.append(item.record.name)
    if failed:
        raise PluginError(
            f"{len(failed)} of {len(chosen)} plugins do not work as they should: {', '.join(failed)}",
            hint="polycmp plugins list",
        )


def _named(name: str, candidates: Iterable[Candidate]) -> list[Candidate]:
    from polycmp.plugins.known import INSTALL_COMMANDS

    found = [item for item in candidates if item.record.name == name]
    if not found:
        hint = INSTALL_COMMANDS.get(name, "polycmp plugins list")
        known = [item.record.name for item in candidates]
        raise PluginError(f"there is no plugin {name!r}", why=did_you_mean(name, known), hint=hint)
    return found


def _print_result(item: Candidate, result: CheckResult) -> None:
    state = "failed" if result.problems else "ok"
    record = item.record
    echo(f"{record.name} ({record.distribution} {record.version}): {state}".replace(" ( )", ""))
    for line in result.loaded:
        echo(visible(f"  ok       {line}"))
    for line in result.problems:
        echo(visible(f"  problem  {line}"))
    for line in result.hints:
        echo(visible(f"  next     {line}"))
