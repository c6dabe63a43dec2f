"""Commands that Polygraphy has and polycmp does not: each says why, and what to do instead."""

from __future__ import annotations

import click

from polycmp.errors import UsageError


def _refused(why: str, instead: str) -> click.Command:
    """Return a command that takes any words and refuses."""

    def refuse(words: tuple[str, ...]) -> None:
        command = click.get_current_context().command_path.partition(" ")[2]
        raise UsageError(f"there is no command {command!r}", why=why, hint=instead)

    return click.Command(
        None,
        callback=refuse,
        params=[click.Argument(["words"], nargs=-1, type=click.UNPROCESSED)],
        context_settings={"ignore_unknown_options": True},
        add_help_option=False,
        help=why,
    )


autotune_command: click.Command = _refused(
    "polycmp builds no TensorRT plugins to measure them",
    "`polycmp plugin replace` puts one into a model, and `polycmp run` measures it",
)
several_devices_command: click.Command = _refused(
    "polycmp does not spread a model over several devices", "run each part as a model of its own"
)
