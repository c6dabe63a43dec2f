"""The command `build`: engines of several backends, built at the same time and not run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from polycmp.command import BackendCommand, common_params, examples
from polycmp.errors import UsageError

if TYPE_CHECKING:
    from polycmp.command import Invocation
    from polycmp.plan import Plan

__all__ = ["build_command", "engine_files"]

EPILOG = "Exit status: 0 all built, 2 wrong usage, 3 at least one could not be built."


def _build(call: Invocation) -> int:
    from polycmp_trt.building import build_engines, result_of

    call.needs_backends("polycmp build MODEL -b trt -b trt:fp16")
    plan = call.plan()
    files = engine_files(plan, call.params["output"])
    call.begin(plan)
    with call.progress() as on_stage:
        built = build_engines(plan, files, call.params["jobs"], call.registry, on_stage)
    return call.present(result_of(built, plan))


def engine_files(plan: Plan, output: str) -> list[Path]:
    """Return the path of each backend's engine: the output itself, or a file in that folder.

    Args:
        plan: The backends.
        output: A file that ends in `.engine` or `.plan`, or a folder.

    Raises:
        UsageError: A backend builds no engines, or several engines would go to one file.
    """
    others = [backend.label for backend in plan.backends if backend.backend != "trt"]
    if others:
        raise UsageError(
            f"{others[0]} builds no engines", whose=f"-b {others[0]}", hint="name backends of TensorRT alone: -b trt"
        )
    if Path(output).suffix in {".engine", ".plan"}:
        if len(plan.backends) > 1:
            raise UsageError(f"{len(plan.backends)} engines, and one file for them", whose="-o", hint="-o FOLDER")
        return [Path(output)]
    typed_paths = [backend.options.save_engine for backend in plan.backends if backend.options is not None]
    names = [Path(path) if path else Path(output, f"{_file_name(backend.label)}.engine")
             for path, backend in zip(typed_paths, plan.backends, strict=True)]  # fmt: skip
    twice = [path for index, path in enumerate(names) if path in names[:index]]
    if twice:
        raise UsageError(f"two engines would be written to {twice[0]}", hint="name the backends: -b trt:name=NAME,…")
    return names


def _file_name(label: str) -> str:
    return re.sub(r"[^\w.-]+", "_", label).strip("_.") or "engine"


build_command = BackendCommand(
    "build",
    _build,
    options=("model", "data", "run.timeout", "result.report", "log"),
    params=[
        *common_params(),
        click.Option(
            ["-o", "--output"],
            default="engines",
            show_default=True,
            metavar="PATH",
            help="Folder for the engines, or the file name of a single one.",
        ),
        click.Option(
            ["-j", "--jobs"],
            type=click.IntRange(min=1),
            default=1,
            show_default=True,
            metavar="N",
            help="Number of engines to build in parallel, each in its own process.",
        ),
    ],
    help="Build TensorRT engines, one for each backend, without running them."
    + examples("polycmp build model.onnx -b trt -b trt:fp16 -b trt:fp16,device=1 -j 3 -o engines"),
    epilog=EPILOG,
)
