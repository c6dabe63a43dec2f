"""Contributions of this package. Light: only the standard library and `polycmp.spec` are imported here."""

from __future__ import annotations

from collections.abc import Iterable

from polycmp.spec import ServiceSpec, hookimpl


@hookimpl
def polycmp_services() -> Iterable[ServiceSpec]:
    """Contribute backends in processes of their own."""
    yield ServiceSpec("workers", "Backends in processes of their own", "polycmp.builtin.workers.runner:make_workers")
