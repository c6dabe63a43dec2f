"""The command `polycmp`: finds the command asked for, and turns errors into text and exit status."""

from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import click

from polycmp import __version__
from polycmp.cli.group import CommandGroup
from polycmp.cli.signals import Ended, ended_by_signals
from polycmp.errors import EXIT_FAILED, FileError, PolycmpError, describe_exception
from polycmp.files import starting_folder
from polycmp.terminal import echo, error_text, shorten, visible

HELP = """Does this model still compute what it should, on the backend I want to ship it on?

\b
polycmp run model.onnx -b onnxrt -b onnx
"""


class _SignalError(Exception):
    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


class ProgramGroup(CommandGroup):
    """All commands."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; a signal passes click as an error, since click takes it for Ctrl-C and prints a line."""
        try:
            return super().invoke(ctx)
        except Ended as ended:
            raise _SignalError(ended.number) from ended


cli = ProgramGroup(help=HELP, context_settings={"help_option_names": ["-h", "--help"]})
click.version_option(__version__, prog_name="polycmp", message="%(prog)s %(version)s")(cli)


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status.

    Args:
        args: The words after `polycmp`; by default the process's own.
    """
    words = list(sys.argv[1:] if args is None else args)
    verbose = any(
        word == "--verbose" or (word[:1] == "-" and word[1:].strip("v") == "") for word in words if word != "-"
    )
    try:
        with ended_by_signals(), starting_folder():
            return _finish(_status(words, verbose))
    except Ended as error:  # a signal that came late
        return 128 + error.number


def _status(words: list[str], verbose: bool) -> int:
    """Run a command and turn whatever comes of it into words and an exit status."""
    try:
        result = cli.main(args=words, prog_name="polycmp", standalone_mode=False)
    except PolycmpError as error:
        _say(f"polycmp: {error_text(error)}")
        _trace(verbose)
        return error.exit_code
    except click.ClickException as error:
        shown = io.StringIO()
        error.show(shown)
        _say(shown.getvalue())
        return error.exit_code
    except _SignalError as error:
        _say(f"polycmp: ended by {error}")
        return 128 + error.number
    except (click.Abort, KeyboardInterrupt) as error:
        if isinstance(error.__cause__, Ended):
            return 128 + error.__cause__.number
        _say("polycmp: interrupted")
        return 128 + signal.SIGINT
    except BrokenPipeError:
        return EXIT_FAILED
    except Exception as error:  # noqa: BLE001 - a fault of ours must not look like a verdict
        _say(f"polycmp: this is a fault of polycmp itself: {visible(shorten(describe_exception(error)))}")
        _say("  next: run it again with -v for the trace, and report it")
        _trace(verbose)
        return EXIT_FAILED
    return result if isinstance(result, int) else 0


def _finish(status: int) -> int:
    """Write out what is held back; a result that could not be written is no result.

    Python does this when it ends, and says 120 if it fails.
    """
    if sys.stdout is None:
        return status
    try:
        sys.stdout.flush()
    except (OSError, ValueError) as error:
        with suppress(OSError, ValueError):  # so that it is not tried again
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, sys.stdout.fileno())
            os.close(null)
        if isinstance(error, BrokenPipeError):  # whoever reads has seen enough
            return status
        _say(f"polycmp: cannot write to standard output: {describe_exception(error)}")
        return status or EXIT_FAILED
    return status


def _say(text: str) -> None:
    with suppress(FileError, OSError):  # standard error may be gone; the exit status is not
        echo(text, err=True)


def _trace(verbose: bool) -> None:
    if verbose:
        import traceback

        _say(traceback.format_exc())
