"""`polycmp template dump`: a map to begin with, in which tensors are paired by name, spelling and value."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from polycmp.command import BackendCommand, common_params, examples
from polycmp.files import atomic_write, to_bytes
from polycmp.terminal import echo, visible

if TYPE_CHECKING:
    from polycmp.command import Invocation
    from polycmp_dump.dump import Dump
    from polycmp_dump.values import FoundTensor

__all__ = ["dump_map"]


def _write(call: Invocation) -> int:
    from polycmp.runs import resolve
    from polycmp_dump.dump_map import read_map
    from polycmp_dump.values import find_tensors

    plan, folder, output = call.plan(), call.params["folder"], call.params["output"]
    call.begin(plan)
    resolved = resolve(plan, call.registry)
    with call.progress() as on_stage:
        on_stage(f"running {resolved.backends[-1].label} on the inputs of the dump")
        dump, found = find_tensors(read_map(folder, ""), resolved.backends[-1].model, resolved)
    text = map_text(dump, found, folder, Path(output))
    with atomic_write(output) as file:
        file.write(to_bytes(text))
    unknown = [file.name for file in dump.files if all(item.file.name != file.name for item in found)]
    echo(visible(f"wrote {output}: {len(found)} tensors, {len({*unknown})} files not known"))
    echo(visible(f"next: polycmp locate {plan.model} -b dump:map={output} -b {resolved.backends[-1].label}"))
    return 0


def map_text(dump: Dump, found: list[FoundTensor], folder: str, output: Path) -> str:
    """Return the map of a dump.

    Args:
        dump: The dump.
        found: Its tensors, with how they lie in their files.
        folder: The folder as the user named it.
        output: The file that the map goes to.
    """
    from polycmp_dump.values import held_precision

    place = Path(folder).resolve()
    beside = output.resolve().parent
    shown = place.relative_to(beside).as_posix() if place.is_relative_to(beside) else place.as_posix()
    lines = ["# Which file of a dump holds which tensor. Use: polycmp locate MODEL -b dump:map=FILE -b BACKEND", ""]
    layouts = {item.reading.layout for item in found if item.reading.layout is not None}
    common = layouts.pop() if len(layouts) == 1 else None
    lines += [f"folder = {json.dumps(shown or '.')}"]
    lines += [f"layout = {json.dumps(common)}  # of tensors with as many axes"] if common else []
    precision = held_precision(dump, found)
    what = "the coarsest type in which the program calculated"
    lines += [
        f"precision = {json.dumps(precision)}  # {what}" if precision else f'# precision = "float16"  # {what}',
        "",
    ]
    for item in found:
        reading = item.reading
        lines += [f"[tensors.{json.dumps(item.name)}]  # {item.how}", f"file = {json.dumps(item.file.pattern)}"]
        lines += [f"dtype = {json.dumps(reading.dtype)}"] if reading.dtype else []
        lines += [f"layout = {json.dumps(reading.layout)}"] if reading.layout and not common else []
        guess = "  # estimated: put the program's own in its place"
        lines += [f"scale = {reading.scale:.9g}{guess}", f"zero_point = {reading.zero_point}"] if reading.scale else []
        lines += [""]
    named = {item.file.name for item in found}
    unknown = dict.fromkeys(file.pattern for file in dump.files if file.name not in named)
    lines += ["# Not known:", *(f"#   {pattern}" for pattern in unknown)] if unknown else []
    return "\n".join(lines).rstrip() + "\n"


dump_map = BackendCommand(
    "dump",
    _write,
    options=("model", "data", "log"),
    params=[
        *common_params(),
        click.Argument(["folder"], type=click.Path()),
        click.Option(["-o", "--output"], required=True, metavar="FILE.toml", help="File to write the map to."),
    ],
    help="Write a map of the dump in FOLDER, that another program made of MODEL. What names do not tell is told by "
    "values: the backend runs the model on the inputs of the dump, or those of --load-inputs."
    + examples("polycmp template dump model.onnx out -b onnxrt -o dump.toml"),
)
