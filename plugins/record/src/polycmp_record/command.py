"""`polycmp record`: run a program, and keep what its models were given and gave."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path

import click

from polycmp.command import examples, registry_of
from polycmp.errors import DataError, FileError, UsageError
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
@click.argument("program", nargs=-1, type=click.UNPROCESSED, metavar="-- PROGRAM [ARGUMENT]...")
@click.pass_context
def record(
    ctx: click.Context,
    output: str,
    every: int,
    max_calls: int,
    max_size: str,
    duplicates: bool,
    program: tuple[str, ...],
) -> int:
    """Run the program, take over what its processes have kept, and return the program's exit status.

    Raises:
        UsageError: No program was named, or it cannot be started.
        FileError: The folder holds something, or cannot be written.
    """
    if not program:
        raise UsageError("no program named", hint="polycmp record -o calls -- python app.py")
    from polycmp_record import folder
    from polycmp_record.program import environment, run
    from polycmp_record.startup.polycmp_record_hook.spool import Settings

    target = located(output)
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        raise FileError(
            "this is not an empty folder", whose=output, hint=f"name another one with -o, or remove it: rm -r {output}"
        )
    spool = make_folder((target / _SPOOL).absolute())
    try:
        settings = Settings(str(spool), every, max_calls, parse_size(max_size), duplicates)
        status = run(program, environment(settings))
        found = folder.take_over(spool, Path(output), registry_of(ctx))
        libraries, failures = folder.libraries_and_failures(spool)
    finally:
        shutil.rmtree(spool, ignore_errors=True)
        if not any(target.iterdir()):
            target.rmdir()
    for item in found:
        calls = f"{item.calls} {'call' if item.calls == 1 else 'calls'}{' (--max-calls)' * (item.calls == max_calls)}"
        echo(visible(f"recorded {calls} of {item.name} by {item.facts['library']} in {item.folder}"), err=True)
        echo(visible(f"  next: {item.command()}"), err=True)
    if not found:
        _tell(_nothing(libraries, failures), status)
    return status


def _nothing(libraries: Sequence[str], failures: Sequence[str]) -> DataError:
    """Return in words why nothing was recorded."""
    if failures:
        return DataError("no call could be recorded", why=visible(failures[0]), hint=_OTHERWISE)
    if libraries:
        what = f"the program imported {' and '.join(libraries)}, and no call of a model was seen"
        return DataError(visible(what), hint="give the program something to do: polycmp record -- PROGRAM ARGUMENT...")
    return DataError(
        "no call of onnxruntime, openvino or litert was seen",
        why="no Python process of the program imported one of them; programs in other languages are not seen, "
        "nor is Python that was started with -I, -E or -S",
        hint=_OTHERWISE,
    )


def _tell(error: DataError, status: int) -> None:
    """Raise an error, unless the program has failed, whose status counts: then print it.

    Raises:
        DataError: The program has not failed.
    """
    if not status:
        raise error
    echo(visible_lines(f"polycmp: {error}"), err=True)
