"""`polycmp plugins check`: whether everything that plugins name can be imported."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from polycmp.command import examples, with_messages
from polycmp.errors import PluginError, did_you_mean
from polycmp.terminal import echo, visible

if TYPE_CHECKING:
    from polycmp.builtin.plugin_tools.examine import CheckResult
    from polycmp.plugins import Candidate

_HELP = "Import everything that plugins name, each in its own process." + examples("polycmp plugins check onnxrt")


@with_messages
@click.command("check", help=_HELP)
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--timeout", type=float, default=120.0, show_default=True, help="Seconds that one import may take.")
def check_command(names: tuple[str, ...], timeout: float) -> None:
    """Print what each plugin's heavy imports did.

    Raises:
        PluginError: A name is unknown, or a plugin has problems.
    """
    from polycmp.builtin.plugin_tools.examine import check_plugin
    from polycmp.plugins import discover

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
    from polycmp.plugins import known_names

    named = [item for item in candidates if item.record.name == name]
    if not named:
        hint = known_names().backends.get(name, "polycmp plugins list")
        names = [item.record.name for item in candidates]
        raise PluginError(f"there is no plugin {name!r}", why=did_you_mean(name, names), hint=hint)
    return named


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
