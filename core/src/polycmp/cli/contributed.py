"""Commands that plugins bring."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import click
from click.core import ParameterSource

from polycmp.plugins import Registry


class ContributedGroup(click.Group):
    """The commands of plugins below some words.

    Args:
        path: The words.
        registry: The plugins; by default looked up when they are needed.
        own: Commands of the core below the same words.
        summary: The help text.
    """

    def __init__(
        self,
        path: tuple[str, ...],
        registry: Registry | None = None,
        own: dict[str, click.Command] | None = None,
        summary: str = "",
    ) -> None:
        super().__init__(path[-1], help=summary or f"Commands: {' '.join(path)} ….", commands=own or {})
        self._path = path
        self._given = registry

    @cached_property
    def _registry(self) -> Registry:
        return self._given or Registry.discover()

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the words that may come next."""
        return sorted({*super().list_commands(ctx), *_next_words(self._path, self._registry)})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command, imported now."""
        return super().get_command(ctx, cmd_name) or contributed_command((*self._path, cmd_name), self._registry)


def contributed_command(path: tuple[str, ...], registry: Registry | None = None) -> click.Command | None:
    """Return the command or group of commands that plugins bring under these words; None if there is none.

    Raises:
        PluginError: The plugin that brings it is broken.
    """
    registry = registry or Registry.discover()
    contribution = registry.commands.get(" ".join(path))
    if contribution is not None:
        command: click.Command = registry.load(contribution, contribution.spec.target)
        _refuse_empty_values(command)
        return command
    return ContributedGroup(path, registry) if _next_words(path, registry) else None


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


def _next_words(path: tuple[str, ...], registry: Registry) -> set[str]:
    words = [tuple(item.spec.path) for item in registry.commands.values()]
    return {item[len(path)] for item in words if item[: len(path)] == path and len(item) > len(path)}
