"""`polycmp convert`: one kind of model into another, with the same options as a run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from polycmp.command import BackendCommand
from polycmp.spec import opt
from polycmp.terminal import echo

if TYPE_CHECKING:
    from polycmp.command import Invocation
    from polycmp.model import Model
    from polycmp.plugins import Contribution, Registry


@dataclass(frozen=True)
class ConvertSection:
    """Converting."""

    convert_to: str = opt("", help="What to write, where the suffix does not tell.", metavar="KIND")


def open_model(call: Invocation) -> Model:
    """Return the model handle that a command's words mean; set logging up.

    Raises:
        UsageError: No model was given, or an option's value cannot be right.
        ModelError: There is no such file, or nothing reads it.
    """
    from polycmp.command.build import runner_options
    from polycmp.errors import UsageError
    from polycmp.inputs import asked_shapes, make_source
    from polycmp.model import Model, ModelSettings
    from polycmp.plan.build import data_plan, loader_options

    model, registry, settings = call.given.model, call.registry, call.settings
    call.begin(reads=[("MODEL", model)] if model else ())
    if not model:
        raise UsageError("no model given", hint=f"{call.path} MODEL (put the model first)")
    data = data_plan(settings, registry)
    made = Model(
        model,
        registry,
        ModelSettings(
            loader_options(settings, registry),
            data.input_shapes,
            make_source(data, registry),
            settings.core["model"].model_type,
            runner_options(settings, registry),
        ),
    )
    if data.dimensions:
        made.input_shapes = asked_shapes(data, made.describe())
    return made


def _convert(call: Invocation) -> int:
    from polycmp.errors import ModelError

    model, output = open_model(call), call.params["output"]
    writer = _writer(call.registry, output, call.section(ConvertSection).convert_to)
    kind = writer.spec.produces or writer.spec.name
    if kind == model.kind and not writer.spec.rewrites:
        raise ModelError(f"{model.path} is of kind {kind} already", hint=f"cp {model.path} {output}")
    call.registry.require(writer)
    call.registry.load(writer, writer.spec.save)(model.load(kind), output)
    echo(f"wrote {output} ({Path(output).stat().st_size} bytes)")
    return 0


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


convert_command = BackendCommand(
    "convert",
    _convert,
    options=("model", "data", "log", ConvertSection),
    params=[
        click.Argument(["model"], required=False),
        click.Option(["-o", "--output"], required=True, metavar="FILE", help="Where to write."),
        click.Option(["-v", "--verbose"], count=True, help="More messages; may repeat."),
        click.Option(["-q", "--quiet"], count=True, help="Fewer messages; may repeat."),
    ],
    help="Turn MODEL into another kind of model, or change it, with the options of a run.",
)
