"""`polycmp run`."""

from __future__ import annotations

import gc
import sys
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import click

from polycmp.cli.argv import rewrite
from polycmp.cli.params import BackendOption, collect, table_options, write_sections
from polycmp.plan.flags import FlagTable, build_table
from polycmp.plan.sections import SECTIONS
from polycmp.plugins import Registry

if TYPE_CHECKING:
    from polycmp.cli.build import Given

EPILOG = """\b
SPEC is NAME[:KEY=VALUE[,KEY=VALUE]...], a KEY alone means true:
  polycmp run model.onnx -b onnxrt -b onnx
  polycmp run model.onnx -b onnxrt:optimization=off -b onnxrt:optimization=all,threads=1
  polycmp run new.onnx -b onnxrt -b onnxrt:model=old.onnx
Keys of every backend: name (label in reports), model (another file), python (another interpreter).
The last run is the reference, unless --reference names one.
Exit status: 0 equal, 1 different, 2 wrong usage, 3 could not compare."""


class TableCommand(click.Command):
    """A command whose options come from the installed plugins, looked up when it is used.

    Args:
        args: As for `click.Command`.
        sections: The core's own options.
        watching: Whether reports may watch what is compared.
        kwargs: As for `click.Command`.
    """

    def __init__(
        self, *args: Any, sections: Mapping[str, type] = SECTIONS, watching: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.sections = sections
        self.watching = watching

    @cached_property
    def registry(self) -> Registry:
        """The plugins."""
        return Registry.discover()

    @cached_property
    def table(self) -> FlagTable:
        """All options."""
        return build_table(self.registry, self.sections, watching=self.watching)

    @cached_property
    def _all_params(self) -> list[click.Parameter]:
        return [*self.params, *table_options(self.table)]

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the fixed parameters and those of the table."""
        help_option = self.get_help_option(ctx)
        return [*self._all_params, *([help_option] if help_option else [])]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse, several values behind one flag included."""
        if ctx.resilient_parsing:  # the shell asks what may come next; the words are not complete
            return super().parse_args(ctx, args)
        return super().parse_args(ctx, rewrite(args, self.table, self.registry))

    def invoke(self, ctx: click.Context) -> Any:
        """Run; from here on there is work, and so there may be garbage to collect."""
        gc.enable()
        return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options in sections, one per plugin."""
        params = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        write_sections(formatter, ctx, params, self.table)

    def given(self, ctx: click.Context) -> Given:
        """Return what was asked for."""
        import shlex

        from polycmp.cli.build import Given

        return Given(
            model=ctx.params.get("model") or "",
            backends=tuple(ctx.params.get("backend") or ()),
            values=collect(self.get_params(ctx), ctx.params),
            command=shlex.join(["polycmp", *sys.argv[1:]]),
        )


def current_command() -> tuple[click.Context, TableCommand]:
    """Return the context and the command that are being carried out."""
    ctx = click.get_current_context()
    command = ctx.command
    assert isinstance(command, TableCommand)
    return ctx, command


def common_params() -> list[click.Parameter]:
    """Return the parameters that every command over a model and backends has."""
    return [
        click.Argument(["model"], required=False),
        BackendOption(["-b", "--backend"], multiple=True, metavar="SPEC", help="A backend; may repeat. Order matters."),
        click.Option(["-v", "--verbose"], count=True, help="More messages and all outputs; may repeat."),
        click.Option(["-q", "--quiet"], count=True, help="Fewer messages; may repeat."),
    ]


def _run(**_: Any) -> None:
    # None of this is needed for a help text, which has to come at once.
    from polycmp.cli.build import build_plan, convert, convert_one, unused_options
    from polycmp.cli.carry import carry_out, export
    from polycmp.cli.runfile import CONFIG, read_run_file, write_run_file
    from polycmp.plan.build import section_values
    from polycmp.plan.text import plain_values, to_values

    ctx, command = current_command()
    given = command.given(ctx)
    if CONFIG in given.values:
        path = convert_one(command.table.targets[CONFIG], given.values[CONFIG])
        given.run_file = read_run_file(path, command.table)
    settings = convert(given, command.table)
    plan = build_plan(given, settings, command.registry)
    result = settings.core["result"]
    if result.write_config:
        about_messages = plain_values(section_values("log", settings.core["log"]), command.table)
        values = {**to_values(plan, command.registry), **about_messages}
        write_run_file(values, result.write_config)
    if result.gen_script:
        ctx.exit(export(plan, command.registry, result.gen_script))
    unused = unused_options(settings, plan, command.table)
    ctx.exit(carry_out(plan, settings, command.registry, ctx.params, unused))


run_command = TableCommand(
    "run",
    params=common_params(),
    callback=_run,
    watching=True,
    help="Run MODEL on several backends and compare all outputs.",
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
