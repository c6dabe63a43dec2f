"""`python -m polycmp_polygraphy app.py …`: run a program that imports Polygraphy, on polycmp."""

from __future__ import annotations

import argparse
import runpy
import sys
from importlib.util import find_spec
from pathlib import Path

from polycmp.errors import UsageError
from polycmp_polygraphy._answering import NAME, answer, stop_answering
from polycmp_polygraphy._command import follow_children, leave_children, put_on_path

_STANDARD_INPUT = "-"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m polycmp_polygraphy",
        description="Run a Python program that imports Polygraphy, on polycmp and unchanged.",
    )
    parser.add_argument("--theirs", action="store_true", help="run it with the Polygraphy that is installed instead")
    parser.add_argument("-m", dest="module", action="store_true", help="the program is the name of a module")
    parser.add_argument(
        "program",
        help="a Python file, a folder or zip file with __main__.py, - for standard input, or with -m a module",
    )
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="arguments of the program")
    return parser


def _check(program: str, *, module: bool, theirs: bool) -> None:
    if not module and program != _STANDARD_INPUT and not Path(program).exists():
        raise UsageError(
            f"there is no program {program!r}", hint="ls; for a module: python -m polycmp_polygraphy -m MODULE"
        )
    if theirs:
        stop_answering()
    if theirs and find_spec(NAME) is None:
        raise UsageError(
            "--theirs: Polygraphy is not installed here", hint="pip install polygraphy, or leave out --theirs"
        )


def prepare(words: list[str]) -> argparse.Namespace:
    """Parse and check a command line, and make this process ready for what the program imports.

    Raises:
        UsageError: There is no such program, or no Polygraphy for `--theirs`.
    """
    options = _parser().parse_args(words)
    _check(options.program, module=options.module, theirs=options.theirs)
    if options.theirs:
        leave_children()
    else:
        answer()
        follow_children()
        put_on_path()
    return options


def run(options: argparse.Namespace) -> None:
    """Run the program as `__main__`, as `python` does."""
    sys.argv = [options.program, *options.arguments]
    if options.module:
        runpy.run_module(options.program, run_name="__main__", alter_sys=True)  # the working directory comes first
        return
    if options.program == _STANDARD_INPUT:
        sys.path[0] = ""
        code = compile(sys.stdin.buffer.read(), "<stdin>", "exec")
        exec(code, {"__name__": "__main__", "__builtins__": __builtins__})
        return
    if Path(options.program).is_file():
        sys.path[0] = str(Path(options.program).resolve().parent)
    runpy.run_path(options.program, run_name="__main__")


if __name__ == "__main__":
    try:
        wanted = prepare(sys.argv[1:])
    except UsageError as error:
        print(f"polycmp_polygraphy: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    run(wanted)
