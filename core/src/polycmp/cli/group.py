"""Commands as plugins contribute them, the core's own among them: found by their words, imported when they run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

if TYPE_CHECKING:
    from polycmp.plugins import Contribution, Registry


class CommandGroup(click.Group):
    """The commands that begin with some words.

    Args:
        path: The words; none for the program itself.
        kwargs: As for `click.Group`.
    """

    def __init__(self, path: tuple[str, ...] = (), **kwargs: Any) -> None:
        super().__init__(path[-1] if path else None, **kwargs)
        self.path = path

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the words that may come next."""
        return list(self._summaries(_registry(ctx)))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command or group of these words, imported now; None if there is none.

        Raises:
            PluginError: The plugin that brings it is broken.
        """
        registry, path = _registry(ctx), (*self.path, cmd_name)
        # The core's own commands come first, and no plugin is imported for them: `plugins list` has to work whatever
        # a plugin does.
        return _command(path, registry.core) or _command(path, registry)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the first word names.

        Raises:
            PluginError: It is not installed, broken, or claimed by several plugins.
            UsageError: There is none.
        """
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            _registry(ctx).find_command(" ".join((*self.path, args[0])))  # raises with the reason
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands without importing them."""
        registry = _registry(ctx)
        with formatter.section("Commands"):
            formatter.write_dl(list(self._summaries(registry).items()))
        broken = [record.name for record in registry.records if record.state in {"broken", "excluded"}]
        if broken and not self.path:
            formatter.write_paragraph()
            formatter.write_text(f"Not available: {', '.join(broken)}. Why: polycmp plugins list")

    def _summaries(self, registry: Registry) -> dict[str, str]:
        """Return the next words, each with its line of help: the core's own first."""
        found: dict[str, str] = {}
        for item in _below(self.path, registry):
            word, *further = item.spec.path[len(self.path) :]
            line = item.spec.summary
            if further:
                line = found.get(word) or item.spec.group or f"Commands: {' '.join((*self.path, word))} …."
            found[word] = line
        return found


def _registry(ctx: click.Context) -> Registry:
    from polycmp.command import registry_of  # `--version` does without plugins

    return registry_of(ctx)


def _command(path: tuple[str, ...], registry: Registry) -> click.Command | None:
    contribution = registry.commands.get(" ".join(path))
    if contribution is not None:
        command: click.Command = registry.load(contribution, contribution.spec.target)
        _refuse_empty_values(command)
        return command
    below = list(_below(path, registry))
    if not below:
        return None
    summary = next((item.spec.group for item in below if item.spec.group), f"Commands: {' '.join(path)} ….")
    return CommandGroup(path, help=summary)


def _below(path: tuple[str, ...], registry: Registry) -> Iterator[Contribution]:
    for item in registry.commands.values():
        if len(item.spec.path) > len(path) and tuple(item.spec.path[: len(path)]) == path:
            yield item


class _NotEmpty:
    """A click callback that refuses an empty value before an option's own callback sees it.

    Args:
        further: The option's own callback.
    """

    def __init__(self, further: Callable[[click.Context, click.Parameter, Any], Any] | None) -> None:
        self._further = further

    def __call__(self, ctx: click.Context, param: click.Parameter, value: Any) -> Any:
        given = ctx.get_parameter_source(param.name or "") is ParameterSource.COMMANDLINE
        if given and (value == "" or (isinstance(value, tuple) and "" in value)):
            raise click.BadParameter("it needs a value, and was given an empty one", ctx, param)
        return value if self._further is None else self._further(ctx, param, value)


def _refuse_empty_values(command: click.Command) -> None:
    """Make a plugin's command refuse `--option "$UNSET"`, as the core's own commands do."""
    for param in command.params:
        if isinstance(param, click.Option) and not isinstance(param.callback, _NotEmpty):
            param.callback = _NotEmpty(param.callback)
    for inner in command.commands.values() if isinstance(command, click.Group) else ():
        _refuse_empty_values(inner)
