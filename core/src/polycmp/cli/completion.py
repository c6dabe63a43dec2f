"""`polycmp completion`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from polycmp.terminal import echo

#: A colon parts words in bash, and stands between a backend's name and its options.
_BASH = "COMP_WORDBREAKS=${COMP_WORDBREAKS//:}\n"


_HELP = """Print what makes a shell complete commands, files, backends and their options.

\b
Examples:
  polycmp completion bash >> ~/.bashrc
  polycmp completion zsh >> ~/.zshrc
  polycmp completion fish > ~/.config/fish/completions/polycmp.fish
"""


@click.command("completion", help=_HELP)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion_command(shell: str) -> None:
    """Print the shell's script."""
    kind = get_completion_class(shell)
    assert kind is not None
    program = click.get_current_context().find_root().command
    echo((_BASH if shell == "bash" else "") + kind(program, {}, "polycmp", "_POLYCMP_COMPLETE").source())
