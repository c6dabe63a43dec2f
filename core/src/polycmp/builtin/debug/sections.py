"""Options that the commands under `polycmp debug` share, and the command class that takes `--check COMMAND …`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import click

from polycmp.command import BackendCommand
from polycmp.spec import opt

__all__ = ["CheckSection", "CheckingCommand", "ReplaySection", "check_option", "split_check"]

_CHECK_FLAGS = ("--check", "--check-inference")


@dataclass(frozen=True)
class CheckSection:
    """Checking each step with a command."""

    fail_code: tuple[int, ...] = opt(
        (), help="Count only these exit statuses as failures.", alias="--fail-returncode", metavar="N"
    )
    ignore_fail_code: tuple[int, ...] = opt(
        (), help="Do not count these exit statuses as failures.", alias="--ignore-fail-returncode", metavar="N"
    )
    fail_regex: tuple[str, ...] = opt(
        (),
        help="Count output that matches one of these as a failure; with --fail-code, both must apply.",
        metavar="REGEX",
    )
    show_output: bool = opt(False, help="Show the command's output even if it passes.")
    hide_fail_output: bool = opt(False, help="Hide the command's output if it fails.")
    artifacts: tuple[str, ...] = opt((), help="Files to sort into good and bad after each step.", metavar="FILE")
    artifacts_dir: str = opt(
        "polycmp_artifacts", help="Folder of the sorted files.", alias="--art-dir", metavar="DIR", writes=True
    )
    iter_artifact: str = opt(
        "",
        help="File that each step writes for the command; it must not exist beforehand.",
        alias="--intermediate-artifact",
        metavar="FILE",  # nothing is ever overwritten with it: see `Stepper`
    )
    no_remove_intermediate: bool = opt(False, help="Keep that file after the last step.")
    iteration_info: str = opt(
        "",
        help="Before each step, write its number into this JSON file.",
        alias="--iter-info",
        metavar="FILE",
        writes=True,
    )


@dataclass(frozen=True)
class ReplaySection:
    """Stopping and resuming."""

    save_debug_replay: str = opt(
        "",
        help="Record every step in this file, so that the search can be resumed.",
        metavar="FILE",
        writes=True,
        resumes="load_debug_replay",
    )
    load_debug_replay: str = opt("", help="Resume after the steps in this file.", metavar="FILE")


class CheckingCommand(BackendCommand):
    """A command whose last option takes all that follows as the command that checks each step."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Split off the check before anything else is parsed: its options are not ours."""
        words, check = split_check(args)
        rest = super().parse_args(ctx, words)
        ctx.params["check"] = tuple(check)
        return rest


def split_check(args: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the words before `--check`, and those after it.

    Raises:
        click.BadParameter: Nothing follows it.
    """
    for index, word in enumerate(args):
        flag, equals, value = word.partition("=")
        if flag in _CHECK_FLAGS:
            check = [*([value] if equals else []), *args[index + 1 :]]
            if not check or not check[0]:
                raise click.UsageError(f"{flag} needs a command after it, and has to come last")
            return list(args[:index]), check
    return list(args), []


def check_option() -> click.Option:
    """Return the option as the help text shows it."""
    text = "Command that checks each step, run without a shell; must come last. Without it, you are asked."
    return click.Option(list(_CHECK_FLAGS), metavar="COMMAND …", help=text)
