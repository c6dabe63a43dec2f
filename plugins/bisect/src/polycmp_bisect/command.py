"""`polycmp bisect`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from polycmp.command import BackendCommand, common_params, examples
from polycmp.spec import opt, parse_above_zero

if TYPE_CHECKING:
    from polycmp.command import Invocation

EPILOG = """\b
Exit status: 0 nothing differs, 1 the first bad one was found, 2 wrong usage, 3 it could not be found out,
130 interrupted (what was judged is kept; go on with --resume)."""


def _held(text: str) -> str:
    from polycmp_bisect.environments.packages import held_release

    return held_release(text)


@dataclass(frozen=True)
class BisectSection:
    """Searching."""

    over: str = opt(
        "",
        help="What to search over: releases of a package, by default of the one that drives the first backend; "
        "versions of Python; files; passes of an optimiser. Behind -- may stand the command with which the package "
        "writes MODEL.",
        metavar="PACKAGE|python|files|passes",
    )
    good: str = opt("", help="One that is right; by default one is looked for.", metavar="NAME")
    bad: str = opt(
        "", help="One that is wrong; by default the release installed here, or the last one.", metavar="NAME"
    )
    releases: tuple[str, ...] = opt((), help="Look at these only.", metavar="NAME")
    beside: tuple[str, ...] = opt(
        (),
        help="Other packages that each environment has, at the releases that are installed here or at others.",
        alias="--with",
        metavar="PACKAGE[==VERSION]",
        parse=_held,
    )
    find_links: tuple[str, ...] = opt(
        (), help="Folders or pages with wheels, beside those that pip is configured for.", metavar="DIR|URL"
    )
    pre: bool = opt(False, help="Look at releases before the final ones, too.")
    passes: tuple[str, ...] = opt(
        (),
        help="With --over passes and a COMMAND: passes that it may run, which stand at {passes} or {skipped} in it; "
        "onnxoptimizer is asked.",
        metavar="NAME",
    )
    slower: float = opt(
        0.0,
        help="Judge by time: wrong is what takes so many times as long as before; use with --iterations.",
        metavar="FACTOR",
        parse=parse_above_zero,
    )
    resume: bool = opt(False, help="Go on with an interrupted search: what was judged is not run again.")
    explain: str = opt(
        "",
        help="Write a page on what was found, fit to be posted as an issue, and the smallest model that shows it.",
        metavar="DIR",
        writes=True,
    )
    no_locate: bool = opt(False, help="Do not look for the operator that differs.")


def _bisect(call: Invocation) -> int:
    from polycmp_bisect.engine import bisect

    return bisect(call, call.section(BisectSection))


bisect_command = BackendCommand(
    "bisect",
    _bisect,
    options=(
        "model",
        *(f"data.{name}" for name in ("input_shapes", "data_loader", "data_loader_script", "load_inputs", "map_input")),
        *(f"run.{name}" for name in ("warm_up", "use_subprocess", "timeout", "max_memory")),
        "compare",
        "result.load_outputs",
        "result.report",
        "result.config",
        "log",
        BisectSection,
    ),
    params=[
        *common_params()[:1],
        click.Argument(["step"], nargs=-1, metavar="[FILE...] [-- COMMAND...]", type=click.UNPROCESSED),
        *common_params()[1:],
    ],
    help="Find the first release of a package, or the first of some files, with which MODEL no longer gives the right "
    "results. Each is judged as `polycmp run` would judge it. Environments are made and kept in a cache."
    + examples(
        "polycmp bisect model.onnx -b onnxrt -b onnx --over onnxruntime",
        "polycmp bisect model.onnx -b onnxrt -b onnx --over onnxruntime --good 1.20.1 --bad 1.22.0",
        "polycmp bisect model.onnx -b onnxrt -b onnx --over passes",
        "polycmp bisect nightly/*.onnx -b onnxrt -b onnx --over files",
        "polycmp bisect out.onnx -b onnxrt -b onnxrt:model=m.onnx --over onnxslim -- onnxslim m.onnx out.onnx",
    ),
    epilog=EPILOG,
)
