"""`polycmp bisect`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from polycmp.command import BackendCommand, common_params, examples
from polycmp_bisect.sections import BisectSection

if TYPE_CHECKING:
    from polycmp.command import Invocation

EPILOG = """\b
Exit status: 0 nothing differs, 1 the first bad one was found, 2 wrong usage, 3 could not tell,
130 interrupted (results so far are kept; continue with --resume)."""


def _bisect(call: Invocation) -> int:
    from polycmp_bisect.bisection import bisect

    return bisect(call, call.section(BisectSection))


class _WithCommand(BackendCommand):
    """A command whose own words end at `--`, so that nothing is run that was not meant to be."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse what precedes `--`; what follows is the command that writes the model."""
        at = args.index("--") if "--" in args else len(args)
        rest = super().parse_args(ctx, args[:at])
        ctx.params["step"] = tuple(args[at + 1 :])
        return rest


bisect_command = _WithCommand(
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
        click.Argument(["files"], nargs=-1, metavar="[FILE...] [-- COMMAND...]", type=click.UNPROCESSED),
        *common_params()[1:],
    ],
    help="Find the first release of a package, or the first of several files, that makes MODEL give wrong results. "
    "Each one is judged as `polycmp run` would judge it; the environments it needs are created and cached."
    + examples(
        "polycmp bisect model.onnx -b onnxrt -b onnx --over onnxruntime",
        "polycmp bisect model.onnx -b onnxrt -b onnx --over onnxruntime --good 1.20.1 --bad 1.22.0",
        "polycmp bisect model.onnx -b onnxrt -b onnx --over passes",
        "polycmp bisect nightly/*.onnx -b onnxrt -b onnx --over files",
        "polycmp bisect out.onnx -b onnxrt -b onnxrt:model=m.onnx --over onnxslim -- onnxslim m.onnx out.onnx",
    ),
    epilog=EPILOG,
)
