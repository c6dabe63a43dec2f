"""`polycmp debug repeat`, and what other commands that repeat a step until a check is good or bad are made with."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from polycmp.builtin.debug.sections import CheckingCommand, CheckSection, ReplaySection, check_option
from polycmp.command import examples, verbosity_params
from polycmp.spec import opt

if TYPE_CHECKING:
    from polycmp.command import Invocation

__all__ = ["CheckSection", "repeat_command", "repeat_with_check", "repeating_command"]

_STATUS = """\b
Exit status: 0 found, or as many steps made as asked for; 1 not found; 2 wrong usage; 3 could not continue."""


def _until(text: str) -> str:
    from polycmp.builtin.debug.repeat import parse_until

    return parse_until(text)


@dataclass(frozen=True)
class UntilSection:
    """Repeating."""

    until: str = opt(
        "",
        help="When to stop: at the first good or bad step, or after this many steps.",
        metavar="good|bad|N",
        parse=_until,
    )


def repeat_with_check(call: Invocation, name: str, artifact: str, prepare: Callable[[], None] | None = None) -> int:
    """Repeat a step and its check until the user's condition holds; present the steps and return the exit status.

    Args:
        call: The call of a command made by `repeating_command`.
        name: The words of the command: `debug repeat`.
        artifact: The file that each step writes for the check; empty for none.
        prepare: Makes what is checked; an error of its own is a step that failed.

    Raises:
        UsageError: It is not said when to end.
    """
    from polycmp.builtin.debug.check import make_check
    from polycmp.builtin.debug.repeat import repeat, result_of
    from polycmp.builtin.debug.replay import Replay
    from polycmp.builtin.debug.steps import Stepper
    from polycmp.errors import UsageError

    until, section, replays = call.section(UntilSection).until, call.section(CheckSection), call.section(ReplaySection)
    if not until:
        raise UsageError("it is not known when to stop", hint="--until good, --until bad, or --until N")
    replay = Replay(replays.load_debug_replay, replays.save_debug_replay)
    stepper = Stepper(make_check(call.params["check"], section, call.registry), section, artifact)
    stepper.start()  # before an engine is built here: a copy of a process that uses CUDA cannot use it
    start = time.perf_counter()
    with call.progress() as on_stage:
        done = repeat(until, stepper, replay, prepare, on_stage)
    return call.present(result_of(done, name, call.options.command, time.perf_counter() - start))


def repeating_command(
    name: str,
    run: Callable[[Invocation], int],
    *,
    help: str,
    options: Sequence[str | type] = (),
    plugins: Sequence[str] = (),
    params: Sequence[click.Parameter] = (),
) -> CheckingCommand:
    """Return a command with the options of `repeat_with_check` and `--check COMMAND …`.

    Args:
        name: The command's last word.
        run: Runs a call of it and returns the exit status, with the help of `repeat_with_check`.
        help: The help text.
        options: Further options, as `polycmp.command.BackendCommand` takes them.
        plugins: Kinds of plugins whose options it has.
        params: Further arguments and options of click.
    """
    return CheckingCommand(
        name,
        run,
        options=(*options, "result.report", "log", UntilSection, CheckSection, ReplaySection),
        plugins=tuple(plugins),
        params=[*params, *verbosity_params(), check_option()],
        help=help,
        epilog=_STATUS,
    )


def _repeat(call: Invocation) -> int:
    call.begin()
    return repeat_with_check(call, "debug repeat", call.section(CheckSection).iter_artifact)


repeat_command: CheckingCommand = repeating_command(
    "repeat",
    _repeat,
    help="Run a check repeatedly, and sort the files that each run writes into good and bad."
    + examples(
        "polycmp debug repeat --until 10 --check pytest test_model.py",
        "polycmp debug repeat --until bad --artifacts out.npz --check python flaky.py",
    ),
)
