"""Contributions of this package. Light: only `polycmp.spec` is imported here."""

from __future__ import annotations

from collections.abc import Iterable

from polycmp.spec import CommandSpec, hookimpl


@hookimpl
def polycmp_commands() -> Iterable[CommandSpec]:
    """Contribute `pipeline`."""
    yield CommandSpec(
        ("pipeline",),
        "Find the stage of a pipeline of models and functions that goes wrong.",
        "polycmp_pipeline.command:pipeline_command",
        purpose="find",
    )
