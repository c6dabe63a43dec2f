"""Contributions of this package. Light: only the standard library and `polycmp.spec` are imported here."""

from __future__ import annotations

from collections.abc import Iterable

from polycmp.spec import ServiceSpec, hookimpl


@hookimpl
def polycmp_services() -> Iterable[ServiceSpec]:
    """Contribute running models with many outputs in windows."""
    yield ServiceSpec(
        "windows", "All tensors of a model in bounded memory", "polycmp.builtin.layerwise.open:open_windows"
    )
