"""`polycmp inspect`: what is in a model, and in a file of inputs or outputs; plugins add more below it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from polycmp.cli.convert import open_model
from polycmp.command import BackendCommand
from polycmp.spec import opt
from polycmp.terminal import echo

if TYPE_CHECKING:
    from polycmp.command import Invocation
    from polycmp.plugins import Contribution


@dataclass(frozen=True)
class InspectSection:
    """Showing."""

    display_as: str = opt(
        "", help="Show it as another kind that an installed loader can show.", alias="--convert-to", metavar="KIND"
    )
    show: tuple[str, ...] = opt((), help="Also show these.", choices=("layers", "attrs", "weights"))


def _model(call: Invocation) -> int:
    from polycmp.errors import ModelError
    from polycmp.plugins.known import explain_kind

    model, section = open_model(call), call.section(InspectSection)
    display_as, show = section.display_as, section.show
    readers = {item.spec.produces or item.spec.name: item for item in call.registry.loaders.values()}
    kind = _kind_to_show(display_as or model.kind, model.kind, readers)
    reader = readers.get(kind)
    if reader is None or not reader.spec.inspect:
        shown = sorted(name for name, item in readers.items() if item.spec.inspect)
        raise ModelError(
            f"nothing installed shows {kind} models",
            why=f"shown are: {', '.join(shown) or 'none'}",
            hint=explain_kind(kind),
        )
    call.registry.require(reader)
    text = call.registry.load(reader, reader.spec.inspect)(model.load(kind), show)
    echo(text.rstrip("\n"))
    return 0


def _kind_to_show(wanted: str, own: str, readers: Mapping[str, Contribution]) -> str:
    """Return the kind that a name means: of several it is the model's own, or else that which the others start from."""
    if wanted in readers:
        return wanted
    fitting = [kind for kind, item in readers.items() if wanted in item.spec.aliases and item.spec.inspect]
    nearest = [kind for kind in fitting if not set(readers[kind].spec.consumes) & set(fitting)]
    return own if own in fitting else next(iter(nearest), wanted)


model_command = BackendCommand(
    "model",
    _model,
    options=("model", "data", "log", InspectSection),
    params=[
        click.Argument(["model"], required=False),
        click.Option(["-v", "--verbose"], count=True, help="More messages; may repeat."),
        click.Option(["-q", "--quiet"], count=True, help="Fewer messages; may repeat."),
    ],
    help="Show the inputs, outputs and, if asked for, the layers of MODEL.",
)


@click.command("data", help="Show the tensors in a file or folder of inputs or outputs.")
@click.argument("path")
@click.option("-a", "--all", "every", is_flag=True, help="Every iteration, not only the first.")
@click.option("-s", "--show-values", is_flag=True, help="Values, too.")
@click.option("--histogram", is_flag=True, help="A histogram of the values, too.")
@click.option("-n", "--num-items", default=3, help="Values shown at each end of a dimension; -1 shows all.")
@click.option("--line-width", default=75, help="Columns for values; -1 for no limit.")
def data_command(path: str, every: bool, show_values: bool, histogram: bool, num_items: int, line_width: int) -> None:
    """Show the tensors in a file or folder of inputs or outputs."""
    from polycmp.report.data_text import DataView, describe_data

    view = DataView(every, show_values, histogram, num_items, line_width)
    for line in describe_data(path, view):
        echo(line)
