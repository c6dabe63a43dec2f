"""A command."""

from __future__ import annotations

from collections import Counter

import click

from toybox.loader import ToyFromPath


@click.command()
@click.argument("model")
def ops(model: str) -> None:
    """Count the operators of MODEL."""
    for name, count in sorted(Counter(node.op for node in ToyFromPath(model)().nodes).items()):
        click.echo(f"{count} {name}")
