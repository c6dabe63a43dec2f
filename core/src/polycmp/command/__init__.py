"""Writing a command over a model and backends: for the core's own commands and those of plugins.

A `BackendCommand` brings backends and their options, the sections of the core's options that it names, options of its
own, run files, logging, progress and reports. What it does is a function from an `Invocation` to an exit status::

    @dataclass(frozen=True)
    class CountOptions:
        "Counting."

        least: int = opt(1, help="Show operators that occur at least so often.")

    def _count(call: Invocation) -> int:
        plan = call.plan()
        call.begin(plan)
        with call.progress() as tell:
            tell("counting")
            result = ...  # a polycmp.report.Result
        return call.present(result)

    count = BackendCommand("count", _count, options=("model", "data", "result.report", "log", CountOptions))

A plugin names it in `CommandSpec(("count",), "Count the operators.", "package.module:count")`. Everything that the
work needs is imported inside the function, so that `--help` stays quick.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polycmp.command.base import BackendCommand, BackendContext, check_calls, common_params, examples, verbosity_params
from polycmp.command.params import registry_of
from polycmp.spec import lazy_names

if TYPE_CHECKING:
    from polycmp.command.invocation import Invocation
    from polycmp.command.log import with_messages
    from polycmp.command.permissions import GivenOption, code_named, given_options

__all__ = [
    "BackendCommand",
    "BackendContext",
    "GivenOption",
    "Invocation",
    "check_calls",
    "code_named",
    "common_params",
    "examples",
    "given_options",
    "registry_of",
    "verbosity_params",
    "with_messages",
]

if not TYPE_CHECKING:  # these are imported by the command that is called, not by a help text
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "invocation": ["Invocation"],
            "log": ["with_messages"],
            "permissions": ["GivenOption", "code_named", "given_options"],
        },
    )
