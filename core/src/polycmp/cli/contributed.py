"""Commands that plugins bring."""

from __future__ import annotations

from functools import cached_property

import click

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
        return command
    return ContributedGroup(path, registry) if _next_words(path, registry) else None


def _next_words(path: tuple[str, ...], registry: Registry) -> set[str]:
    words = [tuple(item.spec.path) for item in registry.commands.values()]
    return {item[len(path)] for item in words if item[: len(path)] == path and len(item) > len(path)}
