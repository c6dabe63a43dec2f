"""`polycmp debug bundle`."""

from __future__ import annotations

from pathlib import Path

import click

from polycmp.command import examples
from polycmp.errors import UsageError
from polycmp.sentences import counted
from polycmp.terminal import echo, visible
from polycmp_locate.onnx_extra import require_onnx

HELP = (
    "Pack the FOLDER of a fault into a zip file that is safe to post: names, weights and inputs are replaced."
    + examples("polycmp debug reduce model.onnx -b trt:fp16 -b onnxrt --save-repro case", "polycmp debug bundle case")
)
EPILOG = """\b
Exit status: 0 written, and shows the fault; 2 wrong usage; 3 there is no fault to show."""


@click.command("bundle", help=HELP, epilog=EPILOG)
@click.argument("folder", metavar="FOLDER")
@click.option("-o", "--output", metavar="FILE.zip", help="File to write; by default FOLDER.zip.")
@click.option("--keep-names", is_flag=True, help="Keep the names in the model.")
@click.option("--keep-weights", is_flag=True, help="Keep the weights.")
@click.option("--keep-inputs", is_flag=True, help="Keep the inputs.")
@click.option("--seed", type=int, default=0, metavar="N", help="Seed of the random numbers that replace values.")
def bundle_command(
    folder: str, output: str | None, keep_names: bool, keep_weights: bool, keep_inputs: bool, seed: int
) -> None:
    """Write the zip file and describe its content.

    Raises:
        PluginError: `polycmp-onnx` is not installed.
        UsageError: The file to write is no zip file.
        PolycmpError: There is no case, or it does not show its fault here.
    """
    from polycmp_locate.reduce.bundle import ENVIRONMENT, Redaction, bundle
    from polycmp_locate.reduce.case import INPUTS

    require_onnx("debug bundle")
    place = Path(folder)
    target = Path(output) if output else place.parent / f"{place.resolve().name}.zip"
    if target.suffix.lower() != ".zip":
        raise UsageError(f"{target} is no zip file", hint=f"-o {target.with_suffix('.zip')}")
    change = Redaction(not keep_names, not keep_weights, not keep_inputs)
    result = bundle(place, target, change, seed)
    count = result.counts.get("texts", 0)
    texts = f", and {counted(count, 'text')} among them" if count else ""
    drawn = f"{result.counts.get('weights', 0)} replaced by random ones of like statistics{texts}"
    replaced = {
        "names": (result.change.names, f"{result.counts.get('names', 0)} replaced; texts and metadata removed"),
        "weights": (result.change.weights, drawn),
        "inputs": (result.change.inputs, "replaced by random ones of like statistics"),
    }
    if not (place / INPUTS).is_file():
        del replaced["inputs"]
    for what, (done, text) in replaced.items():
        requested = getattr(change, what)
        echo(f"{what}: {text if done else 'kept, since the fault needs them' if requested else 'kept'}")
    for text in result.remaining:
        echo(visible(f"left as it is: {text}"))
    for name in result.attached:
        echo(visible(f"{name}: a file of yours that the command needs: look through it before you post it"))
    echo(f"versions, platform and processor: {ENVIRONMENT}")
    if result.verified:
        echo(visible(f"the model is verified: {', '.join(result.verified)}"))
    echo(visible(f"wrote {target}; a copy of what is in it was run, and shows the fault"))
