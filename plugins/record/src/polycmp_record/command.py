"""`polycmp record`: run a program, and keep what its models were given and gave."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click
from click.core import ParameterSource

from polycmp.command import examples, registry_of
from polycmp.errors import DataError, FileError, PolycmpError, UsageError, describe_exception
from polycmp.files import located, make_folder
from polycmp.spec import parse_size
from polycmp.terminal import echo, visible, visible_lines

#: Where the program's processes keep calls until it ends: a folder in the one that was asked for.
_SPOOL = ".recording"
_OTHERWISE = "save the inputs in the program (numpy.savez), and polycmp run MODEL -b NAME --load-inputs FILE"


class _BeforeProgram(click.Command):
    """A command whose own words end at `--`, so that no option of the program is taken for one of its own."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse what precedes `--`.

        Raises:
            UsageError: A program was named without `--` before it.
        """
        words = args[args.index("--") + 1 :] if "--" in args else []
        rest = super().parse_args(ctx, args)
        program = ctx.params.get("program") or ()
        if list(program) != words:
            raise UsageError(
                "-- is missing before the program", hint=visible(shlex.join(["polycmp", "record", "--", *program]))
            )
        return rest


@click.command(
    "record",
    cls=_BeforeProgram,
    context_settings={"allow_interspersed_args": False},
    help="Run a program as it is and keep the inputs and outputs with which it calls its models (ONNX Runtime, "
    "OpenVINO, LiteRT): a folder for each model, for --load-inputs and --load-outputs of other commands."
    + examples(
        "polycmp record -o calls -- python app.py image.png",
        "polycmp record --every 10 --max-calls 50 -- python -m app",
        "polycmp run model.onnx -b onnxrt -b openvino --load-inputs calls/model/inputs",
    ),
)
@click.option("-o", "--output", default="calls", show_default=True, metavar="FOLDER", help="Folder for what is kept.")
@click.option("--every", type=click.IntRange(min=1), default=1, metavar="N", help="Keep every N-th call of a model.")
@click.option(
    "--max-calls",
    type=click.IntRange(min=1),
    default=100,
    show_default=True,
    metavar="N",
    help="Keep at most N calls of a model.",
)
@click.option(
    "--max-size", default="1G", show_default=True, metavar="SIZE", help="Keep at most so many bytes, for example 200M."
)
@click.option("--duplicates", is_flag=True, help="Keep calls with inputs that were kept already, too.")
@click.option(
    "--take-over",
    metavar="FOLDER",
    help="Run nothing: finish FOLDER, where recording was killed or the disk was full.",
)
@click.argument("program", nargs=-1, type=click.UNPROCESSED, metavar="-- PROGRAM [ARGUMENT]...")
@click.pass_context
def record(
    ctx: click.Context,
    output: str,
    every: int,
    max_calls: int,
    max_size: str,
    duplicates: bool,
    take_over: str | None,
    program: tuple[str, ...],
) -> int:
    """Run the program, take over what its processes have kept, and return the program's exit status.

    Raises:
        UsageError: No program was named, it cannot be started, or options do not go together.
        FileError: The folder holds something, or cannot be written.
    """
    if take_over is not None:
        return _finish_interrupted(ctx, take_over, program)
    if not program:
        raise UsageError("no program named", hint="polycmp record -o calls -- python app.py")
    from polycmp_record.program import environment, run
    from polycmp_record.startup.polycmp_record_hook.spool import RecordingSettings

    target = located(output)
    if (target / _SPOOL).is_dir():
        raise FileError(
            "a recording has not been finished here", whose=output, hint=f"{_again(output)}, or {_remove(output)}"
        )
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        raise FileError(
            "this is not an empty folder", whose=output, hint=f"name another one with -o, or {_remove(output)}"
        )
    spool = make_folder((target / _SPOOL).absolute())
    with _locked(spool, output):
        try:
            settings = RecordingSettings(str(spool), every, max_calls, parse_size(max_size), duplicates)
            status = run(program, environment(settings))
        except UsageError:
            _discard(spool)
            raise
        return _take_over(ctx, spool, output, status, max_calls)


def _finish_interrupted(ctx: click.Context, output: str, program: Sequence[str]) -> int:
    """Take over what an earlier recording has kept in a folder.

    Raises:
        UsageError: Something else was asked for, too.
        FileError: There is nothing, a recording still runs, or a file cannot be written.
    """
    named = ctx.params.keys() - {"program"}  # older releases of click hold words that are not there for given
    options = [name for name in named if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE]
    if program or options != ["take_over"]:
        raise UsageError("--take-over goes with no program and no other option", hint=_again(output))
    spool = (located(output) / _SPOOL).absolute()
    if not spool.is_dir():
        raise FileError(f"there is no {_SPOOL} in this folder", whose=output, hint=f"ls -a {shlex.quote(output)}")
    with _locked(spool, output):
        return _take_over(ctx, spool, output)


@contextmanager
def _locked(spool: Path, output: str) -> Iterator[None]:
    """Have no other process take over what is kept for the length of a block.

    Raises:
        FileError: Another one does, or records there.
    """
    try:
        import fcntl
    except ModuleNotFoundError:  # Windows has no locks of this kind
        yield
        return
    descriptor = os.open(spool, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise FileError("another process records here", whose=output, hint="wait until it has ended") from error
    finally:
        os.close(descriptor)


def _take_over(ctx: click.Context, spool: Path, output: str, status: int = 0, max_calls: int = 0) -> int:
    """Make folders of what was kept, say what they hold, and return the program's exit status.

    Raises:
        PolycmpError: Nothing was kept, or it cannot be written, and the program had not failed.
    """
    from polycmp_record import folder
    from polycmp_record.startup.polycmp_record_hook.spool import FAILURE, LIBRARY, TOO_LARGE

    try:
        recordings = folder.take_over(spool, Path(output), registry_of(ctx))
    except (PolycmpError, OSError) as error:
        _tell(_take_over_error(error, output), status)
        return status
    except BaseException:
        echo(visible(f"polycmp: the calls are still in {output}; next: {_again(output)}"), err=True)
        raise
    for item in recordings:
        calls = f"{item.calls} {'call' if item.calls == 1 else 'calls'}{' (--max-calls)' * (item.calls == max_calls)}"
        echo(visible(f"recorded {calls} of {item.name} by {item.facts['library']} in {item.folder}"), err=True)
        echo(visible(f"  next: {item.command()}"), err=True)
    libraries, failures, too_large = (folder.events(spool, kind) for kind in (LIBRARY, FAILURE, TOO_LARGE))
    _discard(spool)
    if not recordings:
        _tell(_nothing(libraries, failures, too_large), status)
    else:
        for reason in (*failures[:1], *too_large[:1]):
            echo(visible(f"not all calls were recorded: {reason}"), err=True)
    return status


def _take_over_error(error: PolycmpError | OSError, output: str) -> FileError:
    """Return in words why calls are still where the program's processes have put them."""
    hint = f"make room, or move the folder to where there is some; {_again(output)}"
    return FileError("calls are not taken over yet, and kept", whose=output, why=describe_exception(error), hint=hint)


def _again(output: str) -> str:
    return f"polycmp record --take-over {shlex.quote(output)}"


def _remove(output: str) -> str:
    return f"remove it: rm -r {shlex.quote(output)}"


def _discard(spool: Path) -> None:
    shutil.rmtree(spool, ignore_errors=True)
    if not any(spool.parent.iterdir()):
        spool.parent.rmdir()


def _nothing(libraries: Sequence[str], failures: Sequence[str], too_large: Sequence[str]) -> DataError:
    """Return in words why nothing was recorded."""
    if failures:
        return DataError("no call could be recorded", why=visible(failures[0]), hint=_OTHERWISE)
    if too_large:
        hint = "polycmp record --max-size SIZE -- PROGRAM ARGUMENT..., with a SIZE that holds some calls"
        return DataError("no call was recorded", why=visible(too_large[0]), hint=hint)
    if libraries:
        what = f"the program imported {' and '.join(libraries)}, and no call of a model was seen"
        return DataError(visible(what), hint="give the program something to do: polycmp record -- PROGRAM ARGUMENT...")
    return DataError(
        "no call of onnxruntime, openvino or litert was seen",
        why="no Python process of the program imported one of them; programs in other languages are not seen, "
        "nor is Python that was started with -I, -E or -S",
        hint=_OTHERWISE,
    )


def _tell(error: PolycmpError, status: int) -> None:
    """Raise an error, unless the program has failed, whose status counts: then print it.

    Raises:
        PolycmpError: The program has not failed.
    """
    if not status:
        raise error
    echo(visible_lines(f"polycmp: {error}"), err=True)
