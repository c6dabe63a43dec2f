"""Light module that the core reads; no heavy import."""

from __future__ import annotations

from collections.abc import Iterator

from polycmp.spec import ServiceSpec, hookimpl


@hookimpl
def polycmp_services() -> Iterator[ServiceSpec]:
    """Contribute backends on other machines."""
    yield ServiceSpec("remote", "Backends on other machines, through ssh", "polycmp_ssh.runner:make_workers")
