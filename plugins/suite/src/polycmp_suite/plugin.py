"""Contributions of this package. Light: it imports only the standard library and the two contracts."""

from __future__ import annotations

from collections.abc import Iterable

from polycmp.spec import CommandSpec, hookimpl
from polycmp_suite.spec import ExecutorSpec, executor_hookimpl


@hookimpl
def polycmp_commands() -> Iterable[CommandSpec]:
    """Contribute the command."""
    yield CommandSpec(
        ("suite",),
        "Run many models on many backends and get one verdict.",
        "polycmp_suite.command:suite_command",
        purpose="guard",
    )


@executor_hookimpl
def polycmp_suite_executors() -> Iterable[ExecutorSpec]:
    """Contribute the executors."""
    yield ExecutorSpec("local", "Processes of this machine", "polycmp_suite.running.local:LocalExecutor")
    yield ExecutorSpec(
        "ray",
        "Tasks of a Ray cluster",
        "polycmp_suite.ray_executor:RayExecutor",
        needs=("ray",),
        install="pip install 'polycmp-suite[ray]'",
    )
