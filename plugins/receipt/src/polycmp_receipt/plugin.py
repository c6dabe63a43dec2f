"""Contributions of this package. Light: only the standard library and `polycmp.spec` are imported here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from polycmp.spec import CommandSpec, ObserverSpec, hookimpl, opt


@dataclass(frozen=True)
class ReceiptOptions:
    """A receipt for others."""

    file: str = opt(
        "",
        help="Write what was compared, with digests of models, inputs and outputs, for `polycmp check receipt`.",
        alias="--receipt",
        metavar="FILE",
        writes=True,
    )


@hookimpl
def polycmp_run_observers() -> Iterable[ObserverSpec]:
    """Contribute the receipt of a run."""
    yield ObserverSpec(
        "receipt", "A receipt that others can check", "polycmp_receipt.recorder:record", options=ReceiptOptions
    )


@hookimpl
def polycmp_commands() -> Iterable[CommandSpec]:
    """Contribute `check receipt`."""
    yield CommandSpec(
        ("check", "receipt"),
        "Repeat what a receipt says, or refuse it.",
        "polycmp_receipt.command:receipt_command",
        purpose="guard",
    )
