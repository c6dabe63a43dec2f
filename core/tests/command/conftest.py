"""Commands as a process carries them out, with the toy box installed."""

from __future__ import annotations

import pytest
from in_process import plugins_installed

from polycmp.command import BackendCommand
from polycmp.command.base import common_params
from polycmp.command.invocation import Invocation


@pytest.fixture
def invocation(toybox):
    """Return the call of a command of two models that words make."""
    command = BackendCommand(
        "mine", lambda call: 0, plugins=("runner", "loader"), params=common_params(two_models=True)
    )

    def of(*words):
        ctx = command.make_context("polycmp mine", list(words), obj=plugins_installed())
        return Invocation(ctx, ctx.registry, ctx.table)

    return of
