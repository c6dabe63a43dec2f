"""`polycmp convert`: one kind of model into another, with the same options as a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from polycmp.cli.run import TableCommand, current_command
from polycmp.plan.sections import DataSection, LogSection, ModelSection
from polycmp.spec import opt
from polycmp.terminal import echo

if TYPE_CHECKING:
    from polycmp.model import Model
    from polycmp.plan.build import Settings
    from polycmp.plugins import Contribution, Registry

SECTIONS: Mapping[str, type] = {"model": ModelSection, "data": DataSection, "log": LogSection}


@dataclass(frozen=True)
class ConvertSection:
    """Converting."""

    convert_to: str = opt("", help="What to write, where the suffix does not tell.", metavar="KIND")


def open_model(command: TableCommand, ctx: click.Context) -> tuple[Model, Settings]:
    """Return the model handle for a command's words, and its options; set logging up.

    Raises:
        UsageError: No model was given, or an option's value cannot be right.
        ModelError: There is no such file, or nothing reads it.
    """
    from polycmp.cli.build import convert, runner_options
    from polycmp.cli.carry import start_logging
    from polycmp.cli.paths import refuse_collisions
    from polycmp.errors import UsageError
    from polycmp.inputs import make_source
    from polycmp.model import Model, ModelSettings
    from polycmp.plan.build import data_plan, loader_options

    given = command.given(ctx)
    settings = convert(given, command.table, command.sections)
    refuse_collisions(settings, others=[("MODEL", given.model)] if given.model else ())
    start_logging(settings, ctx.params)
    if not given.model:
        raise UsageError("no model given", hint=f"{ctx.command_path} MODEL (put the model first)")
    data = data_plan(settings, command.registry)
    model = Model(
        given.model,
        command.registry,
        ModelSettings(
            loader_options(settings, command.registry),
            data.input_shapes,
            make_source(data, command.registry),
            settings.core["model"].model_type,
            runner_options(settings, command.registry),
        ),
    )
    return model, settings


def _convert(output: str, **_: Any) -> None:
    from polycmp.errors import ModelError

    ctx, command = current_command()
    model, settings = open_model(command, ctx)
    writer = _writer(command.registry, output, settings.core["convert"].convert_to)
    kind = writer.spec.produces or writer.spec.name
    if kind == model.kind and not writer.spec.rewrites:
        raise ModelError(f"{model.path} is of kind {kind} already", hint=f"cp {model.path} {output}")
    command.registry.require(writer)
    command.registry.load(writer, writer.spec.save)(model.load(kind), output)
    echo(f"wrote {output} ({Path(output).stat().st_size} bytes)")


def _writer(registry: Registry, output: str, convert_to: str) -> Contribution:
    """Return the loader whose kind of model is to be written."""
    from polycmp.errors import UsageError, did_you_mean
    from polycmp.plugins.known import explain_kind, explain_suffix

    writers = {item.spec.produces or item.spec.name: item for item in registry.loaders.values() if item.spec.save}
    by_suffix = {suffix: kind for kind, item in writers.items() for suffix in item.spec.suffixes}
    suffix = Path(output).suffix.lower()
    also = {alias: kind for kind, item in writers.items() for alias in item.spec.aliases}
    kind = convert_to or by_suffix.get(suffix, "")
    if kind in writers or kind in also:
        return writers.get(kind) or writers[also[kind]]
    wanted = convert_to or suffix or "no suffix"
    raise UsageError(
        f"nothing installed writes {output} ({wanted})",
        why=did_you_mean(wanted, [*writers, *by_suffix]),
        hint=explain_kind(convert_to) or explain_suffix(suffix) or "--convert-to KIND, or another suffix",
    )


convert_command = TableCommand(
    "convert",
    sections={**SECTIONS, "convert": ConvertSection},
    params=[
        click.Argument(["model"], required=False),
        click.Option(["-o", "--output"], required=True, metavar="FILE", help="Where to write."),
        click.Option(["-v", "--verbose"], count=True, help="More messages; may repeat."),
        click.Option(["-q", "--quiet"], count=True, help="Fewer messages; may repeat."),
    ],
    callback=_convert,
    help="Turn MODEL into another kind of model, or change it, with the options of a run.",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
