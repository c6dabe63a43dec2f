"""`polycmp completion`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from polycmp.terminal import echo

#: These separate words in bash, and a backend's name, its options and their values.
_BASH = "COMP_WORDBREAKS=${COMP_WORDBREAKS//[:=]}\n"


_HELP = """Print a script that makes a shell complete commands, files, backends and their options.

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
    source = kind(program, {}, "polycmp", "_POLYCMP_COMPLETE").source()
    # What completes `onnxrt:name=a,threads=` holds commas itself; click's script for fish ends it at the first one.
    source = source.replace('string split ","', 'string split -m 1 ","')
    echo((_BASH if shell == "bash" else "") + source)
