"""Contributions of this package. Light: only the standard library and `polycmp.spec` are imported here."""

from __future__ import annotations

from collections.abc import Iterable

from polycmp.spec import CommandSpec, ObserverSpec, PairingSpec, ServiceSpec, hookimpl


@hookimpl
def polycmp_commands() -> Iterable[CommandSpec]:
    """Contribute the commands."""
    yield CommandSpec(
        ("locate",),
        "Find the first tensor inside a model that goes wrong.",
        "polycmp_locate.command:locate_command",
        after_difference=True,
        purpose="find",
    )
    yield CommandSpec(
        ("debug", "reduce"),
        "Make a failing model smaller, as long as it fails.",
        "polycmp_locate.reduce.command:reduce_command",
    )
    yield CommandSpec(
        ("debug", "bundle"),
        "Prepare the folder of a fault for sharing.",
        "polycmp_locate.reduce.bundle_command:bundle_command",
    )
    yield CommandSpec(
        ("debug", "precision"),
        "Find operators that must stay in float32.",
        "polycmp_locate.precision.command:precision_command",
    )


@hookimpl
def polycmp_pairings() -> Iterable[PairingSpec]:
    """Contribute the pairing of tensors."""
    yield PairingSpec(
        "differing",
        "Tensors of models that differ, by name, through casts and quantisation, by weight and by structure",
        "polycmp_locate.setup.side_by_side:pair_runs",
    )


@hookimpl
def polycmp_services() -> Iterable[ServiceSpec]:
    """Contribute the comparison of two files for commands that run nothing."""
    yield ServiceSpec("networks", "What two model files differ by", "polycmp_locate.network.service:compare_files")


@hookimpl
def polycmp_run_observers() -> Iterable[ObserverSpec]:
    """Contribute what models' files tell of a difference, which needs no run."""
    yield ObserverSpec("files", "What files differ by, and random numbers", "polycmp_locate.network.observer:watch")
