"""Contributions of this package. Light: only the standard library and `polycmp.spec` are imported here."""

from __future__ import annotations

from collections.abc import Iterable

from polycmp.spec import CommandSpec, ServiceSpec, hookimpl


@hookimpl
def polycmp_commands() -> Iterable[CommandSpec]:
    """Contribute the commands."""
    yield CommandSpec(
        ("bisect",),
        "Find the release that changed what a model computes.",
        "polycmp_bisect.command:bisect_command",
        after=("locate", "debug reduce"),
        purpose="find",
    )
    group = "Manage the environments that `version=` and `bisect` create."
    target = "polycmp_bisect.cache_commands"
    yield CommandSpec(("cache", "list"), "List the environments and their sizes.", f"{target}:list_command", group)
    yield CommandSpec(("cache", "remove"), "Remove environments.", f"{target}:remove_command")
    yield CommandSpec(("cache", "limit"), "Show or set how large the cache may become.", f"{target}:limit_command")


@hookimpl
def polycmp_services() -> Iterable[ServiceSpec]:
    """Contribute the environments of `-b NAME:version=VERSION`."""
    yield ServiceSpec(
        "environments", "Environments with other releases of a runtime", "polycmp_bisect.environments.service:make"
    )
