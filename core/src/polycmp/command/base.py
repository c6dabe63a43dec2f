"""A click command whose options come from the installed plugins, and from the sections it names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from polycmp.command.params import (
    TOPIC,
    BackendOption,
    registry_of,
    rewrite,
    table_options,
    take_topic,
    write_sections,
)
from polycmp.options import FlagTable
from polycmp.plan.flags import PLUGIN_KINDS, build_table
from polycmp.plan.sections import SECTIONS

if TYPE_CHECKING:
    from polycmp.command.invocation import Invocation
    from polycmp.plugins import Registry

#: The kinds of contribution whose options a command takes that searches or checks, but makes no run to observe.
_WITHOUT_RUN = tuple(kind for kind in PLUGIN_KINDS if kind != "observer")


_checks: list[Callable[[Invocation], None]] = []


class BackendContext(click.Context):
    """The context of one call of a `BackendCommand`: the plugins, and the options that come of them."""

    @property
    def registry(self) -> Registry:
        """The plugins."""
        return registry_of(self)

    @property
    def table(self) -> FlagTable:
        """All options."""
        assert isinstance(self.command, BackendCommand)
        return self.command.table_of(self.registry)

    @property
    def table_params(self) -> list[click.Parameter]:
        """All options of the table, as click sees them."""
        assert isinstance(self.command, BackendCommand)
        return self.command.params_of(self.registry)


class BackendCommand(click.Command):
    """A command over a model and backends.

    Args:
        name: Last word of the command.
        run: Does the work: called with the `Invocation`, returns the exit status.
        options: Options in the order of the help text: sections of the core by name (`"data"`), single options of
            them (`"result.report"`), and frozen dataclasses of its own with `opt()` fields.
        plugins: The kinds of contribution whose options it takes. Only a command that makes a run has observers.
        unfolded: Those of these kinds whose options its help shows without being asked for them.
        exports: Whether reports may write the plan down in place of a run.
        params: Click's own parameters; by default a model, backends, and how much to say.
        kwargs: As for `click.Command`: `help`, `epilog` and so on.
    """

    context_class: type[click.Context] = BackendContext

    def __init__(
        self,
        name: str,
        run: Callable[[Invocation], int],
        *,
        options: Iterable[str | type] = tuple(SECTIONS),
        plugins: Iterable[str] = _WITHOUT_RUN,
        unfolded: Iterable[str] = (),
        exports: bool = False,
        params: Sequence[click.Parameter] | None = None,
        **kwargs: Any,
    ) -> None:
        settings = {"help_option_names": ["-h", "--help"], "max_content_width": 110}
        fixed = list(common_params() if params is None else params)
        super().__init__(name, params=fixed, callback=_call, **{"context_settings": settings, **kwargs})
        self.run = run
        self._kinds, self._unfolded, self._exports = tuple(plugins), tuple(unfolded), exports
        # The key of a command's own section is the name of its class; the core's are lower case.
        sections = {item.__name__: item for item in options if isinstance(item, type)}
        self._chosen = tuple(item if isinstance(item, str) else item.__name__ for item in options)
        named = dict.fromkeys(item.partition(".")[0] for item in self._chosen)
        every = {**SECTIONS, **sections}
        if unknown := [item for item in named if item not in every]:
            raise ValueError(f"{name}: there is no section {unknown[0]!r}; there are {', '.join(SECTIONS)}")
        self.sections: dict[str, type] = {owner: every[owner] for owner in (*named, *every)}
        self._table: tuple[Registry, FlagTable] | None = None
        self._params: tuple[Registry, list[click.Parameter]] | None = None
        self._parsed: tuple[Registry, list[str], dict[str, Any], dict[str, ParameterSource], list[str]] | None = None

    def table_of(self, registry: Registry) -> FlagTable:
        """Return all options, those of plugins included; a process of many commands builds them once."""
        if self._table is None or self._table[0] is not registry:
            shown = {"chosen": self._chosen, "kinds": self._kinds, "unfolded": self._unfolded}
            self._table = registry, build_table(registry, self.sections, **shown, exports=self._exports)
        return self._table[1]

    def params_of(self, registry: Registry) -> list[click.Parameter]:
        """Return all options as parameters of click."""
        if self._params is None or self._params[0] is not registry:
            self._params = registry, table_options(self.table_of(registry))
        return self._params[1]

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the fixed parameters and those of the table."""
        help_option = self.get_help_option(ctx)
        return [*self.params, *_context(ctx).table_params, *([help_option] if help_option else [])]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse, several values after one flag included; a process of many commands parses the same words once."""
        if ctx.resilient_parsing:  # the shell asks what may come next; the words are not complete
            return super().parse_args(ctx, args)
        registry, words = registry_of(ctx), take_topic(ctx, args)
        if self._parsed is None or self._parsed[0] is not registry or self._parsed[1] != words:
            left = super().parse_args(ctx, rewrite(words, ctx, _context(ctx).table, registry))
            sources = {name: source for name in ctx.params if (source := ctx.get_parameter_source(name)) is not None}
            self._parsed = registry, words, dict(ctx.params), sources, left
        _, _, params, sources, left = self._parsed
        ctx.params.update(params)
        for name, source in sources.items():
            ctx.set_parameter_source(name, source)
        ctx.args = [*left]
        return ctx.args

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the whole help text, or the options of the plugin that was asked for."""
        (self.format_options if ctx.meta.get(TOPIC, "all") != "all" else super().format_help)(ctx, formatter)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options in sections, one per plugin."""
        params = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        write_sections(formatter, ctx, params, _context(ctx).table)


def _context(ctx: click.Context) -> BackendContext:
    assert isinstance(ctx, BackendContext)
    return ctx


def _call(**_: Any) -> None:
    from polycmp.command.invocation import Invocation  # not needed for a help text, which has to come at once

    ctx = _context(click.get_current_context())
    assert isinstance(ctx.command, BackendCommand)
    call = Invocation(ctx, ctx.registry, ctx.table)
    for check in _checks:
        check(call)
    ctx.exit(ctx.command.run(call))


def check_calls(check: Callable[[Invocation], None]) -> None:
    """Have every call of a `BackendCommand` in this process checked, with all that it was given, before it runs.

    For processes that carry out what somebody else asks for.

    Args:
        check: Raises a `PolycmpError` for a call that is not to run.
    """
    _checks.append(check)


def examples(*commands: str) -> str:
    """Return the end of a command's `help` that shows these command lines; it comes before all options."""
    return "\n\n\b\nExamples:\n" + "\n".join(f"  {command}" for command in commands)


def verbosity_params(more: str = "more messages", fewer: str = "fewer messages") -> list[click.Parameter]:
    """Return the options of how much to say.

    Args:
        more: What `-v` shows.
        fewer: What `-q` shows.
    """
    return [
        click.Option(["-v", "--verbose"], count=True, help=f"Show {more}; may be repeated."),
        click.Option(["-q", "--quiet"], count=True, help=f"Show {fewer}; may be repeated."),
    ]


def common_params(*, two_models: bool = False) -> list[click.Parameter]:
    """Return the parameters that every command over a model and backends has.

    Args:
        two_models: Whether a second model may follow, which the same backends run, too, as the reference.
    """
    second = [click.Argument(["reference_model"], required=False, type=click.Path())] if two_models else []
    return [
        click.Argument(["model"], required=False, type=click.Path()),
        *second,
        BackendOption(
            ["-b", "--backend"],
            multiple=True,
            metavar="SPEC",
            help="Backend to run; may be repeated, and the order matters.",
        ),
        *verbosity_params("more messages and all outputs"),
    ]
