"""The command `polycmp`: finds the command asked for, and turns errors into text and exit status."""

from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import click

from polycmp import __version__
from polycmp._environment import add_missing, remove
from polycmp._shutdown import ENDING, SignalReceived, ended_by_signals
from polycmp.errors import EXIT_FAILED, FileError, PolycmpError, describe_exception
from polycmp.files import starting_folder
from polycmp.terminal import echo, error_text, shorten, visible

if TYPE_CHECKING:
    from polycmp.plugins import Contribution, Registry

#: Variables that turn progress bars of tqdm, and of the Hugging Face libraries, off.
_PROGRESS_BARS = ("TQDM_DISABLE", "HF_HUB_DISABLE_PROGRESS_BARS")
HELP = """Does this model still compute what it should, on the backend I want to ship it on?

\b
Examples:
  polycmp demo                                 find a fault in a small model
  polycmp run model.onnx -b onnxrt -b onnx     do two backends agree?
  polycmp run new.onnx old.onnx -b onnxrt      do two versions of a model?
  polycmp compare new.npz old.npz              are saved outputs the same?
  polycmp locate new.onnx old.onnx -b onnxrt   which layer is to blame?
"""


class CommandGroup(click.Group):
    """The commands that begin with some words.

    Args:
        path: The words; none for the program itself.
        kwargs: As for `click.Group`.
    """

    def __init__(self, path: tuple[str, ...] = (), **kwargs: Any) -> None:
        super().__init__(path[-1] if path else None, **kwargs)
        self.path = path

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse; options of messages may precede the command that they are for, except right after the program."""
        if not self.path:
            ctx.meta["polycmp.typed"] = tuple(args)  # `polycmp.command.params.TYPED`, which is not imported for this
        if self.path and args[:1] and args[0].startswith("-"):
            from polycmp.command.log import move_log_options

            args = move_log_options(args, self.list_commands(ctx))
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the words that may come next."""
        return list(self._summaries(_registry(ctx)))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command or group of these words, imported now; None if there is none.

        Raises:
            PluginError: The plugin that brings it is broken.
        """
        registry, path = _registry(ctx), (*self.path, cmd_name)
        # The core's own commands come first, and no plugin is imported for them: `plugins list` has to work whatever
        # a plugin does.
        return _command(path, registry.core) or _command(path, registry)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the first word names.

        Raises:
            PluginError: It is not installed, broken, or claimed by several plugins.
            UsageError: There is none.
        """
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            from polycmp.plugins.known import known_names

            name, longer = (" ".join((*self.path, *args[:count])) for count in (1, 2))
            # What a group brings may come from several packages: both words tell which one is missing.
            missing = longer if longer in known_names().brought["command"] else name
            hidden = _registry(ctx).find_command(missing)  # or it raises with the reason
            command: click.Command | None = _registry(ctx).load(hidden, hidden.spec.target)
            word: str | None = args[0]
            words = args[1:]
        else:
            word, command, words = super().resolve_command(ctx, args)
        if command is not None:
            words = _completed(command, words, ctx)
            _refuse_empty_values(command, words, ctx)
        return word, command, words

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands without importing them."""
        from polycmp.spec import PURPOSES

        registry = _registry(ctx)
        summaries, purposes = self._summaries(registry), {} if self.path else _purposes(registry)
        for purpose, heading in PURPOSES.items() if purposes else [("", "Commands")]:
            rows = [
                (word.ljust(max(map(len, summaries))), line)  # so that all sections have the same columns
                for word, line in sorted(summaries.items())
                if purposes.get(word, "") == purpose
            ]
            if rows:
                with formatter.section(heading):
                    formatter.write_dl(rows)
        broken = [record.name for record in registry.records if record.state in {"broken", "excluded"}]
        if broken and not self.path:
            formatter.write_paragraph()
            formatter.write_text(f"Not available: {', '.join(broken)}. Why: polycmp plugins list")

    def _summaries(self, registry: Registry) -> dict[str, str]:
        """Return the next words, each with its line of help: the core's own first."""
        summaries: dict[str, str] = {}
        for item in _below(self.path, registry):
            word, *further = item.spec.path[len(self.path) :]
            summaries[word] = _group_help((*self.path, word), registry) if further else item.spec.summary
        return summaries


def _purposes(registry: Registry) -> dict[str, str]:
    """Return what the commands that begin with a word are for, by the word."""
    purposes: dict[str, str] = {}
    for item in registry.commands.values():
        word = item.spec.path[0]
        purposes[word] = purposes.get(word) or item.spec.purpose
    return purposes


def _registry(ctx: click.Context) -> Registry:
    from polycmp.plugins import Registry  # `--version` does without plugins

    return Registry.kept_in(ctx.find_root())


def _command(path: tuple[str, ...], registry: Registry) -> click.Command | None:
    contribution = registry.commands.get(" ".join(path))
    if contribution is not None:
        command: click.Command = registry.load(contribution, contribution.spec.target)
        return command
    return CommandGroup(path, help=_group_help(path, registry)) if any(_below(path, registry)) else None


def _group_help(path: tuple[str, ...], registry: Registry) -> str:
    """Return the line of help of the commands that begin with some words, which any of their plugins gives."""
    groups = (item.spec.group for item in _below(path, registry) if item.spec.group)
    return next(groups, f"Commands: {' '.join(path)} ….")


def _below(path: tuple[str, ...], registry: Registry) -> Iterator[Contribution]:
    for item in registry.commands.values():
        if len(item.spec.path) > len(path) and tuple(item.spec.path[: len(path)]) == path:
            yield item


def _completed(command: click.Command, words: list[str], ctx: click.Context) -> list[str]:
    """Return the words of a command with its options written out; those with options of plugins see to it later."""
    from polycmp.command import BackendCommand
    from polycmp.command.option_beginnings import completed

    if isinstance(command, (click.Group, BackendCommand)):
        return words
    with click.Context(command, info_name=command.name, parent=ctx) as command_context:
        return completed(words, command_context)


def _refuse_empty_values(command: click.Command, words: Sequence[str], ctx: click.Context) -> None:
    """Refuse `--option "$UNSET"` of a command's own click options, before anything is done with the value.

    Raises:
        click.BadParameter: An option that takes a value was given an empty one.
    """
    from polycmp.options.values import is_empty_value

    options = [param for param in command.params if isinstance(param, click.Option)]
    takes_value = {flag: param for param in options if not (param.is_flag or param.count) for flag in param.opts}
    inner = command.commands if isinstance(command, click.Group) else {}
    for index, word in enumerate(words):
        if word == "--":
            return
        if word in inner:
            _refuse_empty_values(inner[word], words[index + 1 :], ctx)
            return
        flag, equals, value = word.partition("=")
        values = [value] if equals else list(words[index + 1 : index + 2])
        if flag in takes_value and values and is_empty_value(values):
            raise click.BadParameter("it needs a value, and was given an empty one", ctx, takes_value[flag])


class _SignalError(Exception):
    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


class _ReaderGoneError(Exception):
    pass


@contextmanager
def _past_click() -> Iterator[None]:
    """Have what click would answer itself pass as errors that it does not know.

    It takes a signal for Ctrl-C and prints a line, and ends the process with 1 where a reader of the output has gone,
    which would read as outputs that differ.
    """
    try:
        yield
    except SignalReceived as ended:
        raise _SignalError(ended.number) from ended
    except BrokenPipeError as gone:
        raise _ReaderGoneError from gone


class ProgramGroup(CommandGroup):
    """All commands."""

    def make_context(self, *of: Any, **more: Any) -> click.Context:
        """Parse the words, which may print a help text."""
        with _past_click():
            return super().make_context(*of, **more)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with _past_click():
            return super().invoke(ctx)


cli: ProgramGroup = ProgramGroup(help=HELP, context_settings={"help_option_names": ["-h", "--help"]})
click.version_option(__version__, "-V", "-v", "--version", prog_name="polycmp", message="%(prog)s %(version)s")(cli)


def main(args: Sequence[str] | None = None, registry: Registry | None = None) -> int:
    """Run a command line for a program and return its exit status.

    The process is left as it was. A signal that asks it to end is the program's: the command tidies up, and what the
    program has for the signal comes next, which by default ends it.

    Args:
        args: The words after `polycmp`; by default the process's own.
        registry: The plugins; by default those installed.

    Raises:
        KeyboardInterrupt: By Ctrl-C, unless the program handles it otherwise.
    """
    from polycmp.messages import restored_logging

    with restored_logging():
        status = run(args, registry)
    number = status - 128
    if number in {signal.SIGINT, *ENDING}:
        signal.raise_signal(number)
    return status


def run(args: Sequence[str] | None = None, registry: Registry | None = None) -> int:
    """Run a command line, for which the process is there, and return its exit status.

    Args:
        args: As for `main`.
        registry: As for `main`.
    """
    words = list(sys.argv[1:] if args is None else args)
    verbose = any(
        word == "--verbose" or (word[:1] == "-" and word[1:].strip("v") == "") for word in words if word != "-"
    )
    try:
        with ended_by_signals(), starting_folder(), _without_progress_bars(verbose):
            return _finish(_status(words, registry, verbose))
    except SignalReceived as error:  # a signal that came late
        return 128 + error.number


@contextmanager
def _without_progress_bars(verbose: bool) -> Iterator[None]:
    """Keep libraries that load models and data from drawing progress bars, unless `-v` asks for messages.

    They read these variables when they are imported, which is after this; what a user has set stays.
    """
    added = [] if verbose else add_missing(dict.fromkeys(_PROGRESS_BARS, "1"))
    try:
        yield
    finally:
        remove(added)


def _status(words: list[str], registry: Registry | None, verbose: bool) -> int:
    """Run a command and turn its result or exception into words and an exit status."""
    try:
        result = cli.main(args=_spelled(words), prog_name="polycmp", standalone_mode=False, obj=registry)
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
        if isinstance(error.__cause__, SignalReceived):
            return 128 + error.__cause__.number
        if isinstance(error.__cause__, EOFError):
            _say("polycmp: something wanted to read standard input, and there is nothing more in it")
            return EXIT_FAILED
        _say("polycmp: interrupted")
        return 128 + signal.SIGINT
    except (BrokenPipeError, _ReaderGoneError):
        return EXIT_FAILED
    except (OSError, UnicodeError) as error:  # a path that no file system takes, a disk that is full, damaged text
        _say(f"polycmp: {_about_files(error)}")
        _trace(verbose)
        return EXIT_FAILED
    except Exception as error:  # noqa: BLE001 - a fault of ours must not look like a verdict
        _say(f"polycmp: this is a fault of polycmp itself: {visible(shorten(describe_exception(error)))}")
        _say("  next: run it again with -v for the trace, and report it")
        _trace(verbose)
        return EXIT_FAILED
    return result if isinstance(result, int) else 0


def _about_files(error: OSError | UnicodeError) -> str:
    """Return in words what the system does not do with a file."""
    if isinstance(error, UnicodeEncodeError):
        half = error.object[error.start : error.start + 1]
        return f"{shorten(visible(error.object), 200)} is no name: {visible(half)} is half of a character"
    if isinstance(error, UnicodeError):
        return f"a file holds text that cannot be read: {visible(str(error))}"
    where = f" {shorten(visible(str(error.filename)), 200)}" if error.filename is not None else " a file"
    return f"cannot use{where}: {visible(error.strerror or describe_exception(error))}"


def _spelled(words: list[str]) -> list[str]:
    """Return `polycmp help COMMAND` and `polycmp version` as the options that they mean."""
    if words[:1] == ["help"]:
        return [*words[1:], "--help"]
    return ["--version"] if words == ["version"] else words


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
        if isinstance(error, BrokenPipeError):  # the reader has seen enough
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
