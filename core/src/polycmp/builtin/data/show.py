"""`polycmp inspect data`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from polycmp.builtin.data.common import data_command
from polycmp.spec import opt
from polycmp.terminal import echo

if TYPE_CHECKING:
    from polycmp.command import BackendCommand, Invocation


@dataclass(frozen=True)
class ShowSection:
    """Showing."""

    show_values: bool = opt(False, help="Also show the values.")
    histogram: bool = opt(False, help="Also show a histogram of the values.")
    line_width: int = opt(75, help="Width of lines of values, in columns; -1 for no limit.", metavar="N")


def _show(call: Invocation) -> int:
    from polycmp.builtin.data.text import DataView, describe_data

    section, params = call.section(ShowSection), call.params
    call.begin(reads=[("PATH", params["path"])])
    values = params["values"] or section.show_values
    view = DataView(params["every"], values, section.histogram, params["num_items"], section.line_width)
    for line in describe_data(params["path"], view, call.registry):
        echo(line)
    return 0


inspect_command: BackendCommand = data_command(
    "data",
    _show,
    "Show the tensors in a file or folder of inputs or outputs.",
    [ShowSection],
    [
        click.Argument(["path"]),
        click.Option(["-a", "--all", "every"], is_flag=True, help="Show every iteration, not only the first."),
        click.Option(["-s", "values"], is_flag=True, help="The same as --show-values."),
        click.Option(["-n", "--num-items"], default=3, help="Values shown at each end of a dimension; -1 shows all."),
    ],
    ["polycmp inspect data outputs.npz --all -s"],
)
