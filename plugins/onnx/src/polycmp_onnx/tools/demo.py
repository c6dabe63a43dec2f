"""`polycmp demo`: two small models, real inputs for them, and the first commands to type."""

from __future__ import annotations

import io
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from polycmp.command import examples, registry_of
from polycmp.errors import EXIT_DIFFERENT, EXIT_FAILED, PluginError, UsageError
from polycmp.files import atomic_write, located
from polycmp.terminal import echo, visible

if TYPE_CHECKING:
    from onnx import ModelProto

    from polycmp.plugins import Registry

MODEL, OTHER, INPUTS, REPORT = "model.onnx", "other.onnx", "inputs.npz", "report.html"
#: Pictures in the file of inputs: one batch.
BATCH = 3
_HELP = (
    "Write a small model, the same with a fault, and real inputs into DIR, show the first commands to try on them, and "
    "run those that find the fault. Without DIR, they go into the folder demo."
) + examples("polycmp demo", "polycmp demo .")


class DemoCommand(NamedTuple):
    """A command to try.

    Attributes:
        answers: The question that it answers.
        words: The words after `polycmp`.
        finds_fault: Whether it ends with 1, since it finds the fault; such commands are run at once.
    """

    answers: str
    words: tuple[str, ...]
    finds_fault: bool = False

    @property
    def line(self) -> str:
        """The command as it is typed."""
        return shlex.join(["polycmp", *self.words])


@click.command("demo", help=_HELP)
@click.argument("folder", metavar="[DIR]", default="demo", type=click.Path())
@click.pass_context
def demo(ctx: click.Context, folder: str) -> None:
    """Write the files, show the commands, and run those that find the fault; end with 0 if they do.

    Raises:
        UsageError: A file in the way has the name of one of these, and another content.
        FileError: A file cannot be written.
    """
    from polycmp_onnx.tools.demo_model import make_model, with_fault

    registry, model = registry_of(ctx), make_model()
    files = {
        MODEL: (model.SerializeToString(), "a small network that classifies images"),
        OTHER: (with_fault(model).SerializeToString(), "the same network with a fault in one layer"),
        INPUTS: (_pictures(model, registry), "two photographs and a page of text"),
    }
    _refuse_others(folder, files)
    for name, (content, about) in files.items():
        with atomic_write(Path(folder, name)) as file:
            file.write(content)
        echo(visible(f"wrote {Path(folder, name)}: {about}"))
    steps = list(_steps(folder, registry))
    echo("\nCommands to try:")
    echo()
    for step in steps:
        echo(visible(f"  # {step.answers}"))
        echo(visible(f"  {step.line}"))
    if any(REPORT in step.line for step in steps):
        echo()
        echo(visible(f"The last of these writes a page, too: open {Path(folder, REPORT)}"))
    for step in steps:
        if step.finds_fault:
            echo()
            echo(step.answers)
            echo(visible(f"$ {step.line}"))
            status = _run(ctx, step.words)
            if status != EXIT_DIFFERENT:
                ctx.exit(status or EXIT_FAILED)


def _refuse_others(folder: str, files: Mapping[str, tuple[bytes, str]]) -> None:
    """Refuse to write over a file that this command did not write.

    Raises:
        UsageError: There is one.
    """
    for name, (content, _) in files.items():
        path = Path(folder, name)
        if located(path).exists() and not (located(path).is_file() and located(path).read_bytes() == content):
            raise UsageError(
                f"{path} is there already, and not what this command writes",
                hint=f"polycmp demo {shlex.quote(str(Path(folder, 'polycmp-demo')))}",
            )


def _pictures(model: ModelProto, registry: Registry) -> bytes:
    """Return one batch of the pictures that come with polycmp, as the content of an .npz file."""
    import numpy as np

    from polycmp.tensors import TensorMetadata, to_numpy

    sizes = [dim.dim_value or BATCH for dim in model.graph.input[0].type.tensor_type.shape.dim]
    loader = registry.find_data_loader("sample")
    assert loader.spec.options is not None
    feeds = registry.load(loader)(loader.spec.options())(TensorMetadata().add("image", np.float32, sizes))
    stream = io.BytesIO()
    np.savez(stream, image=to_numpy(next(iter(feeds))["image"]))
    return stream.getvalue()


def _steps(folder: str, registry: Registry) -> Iterator[DemoCommand]:
    """Yield the commands to try, of those that are installed."""
    model, other, inputs, report = (str(Path(folder, name)) for name in (MODEL, OTHER, INPUTS, REPORT))
    runtime = "onnxrt" if _has_onnxruntime(registry) else "onnx"
    reference = "onnx" if runtime == "onnxrt" else "onnx:dtype=float64"
    feed = ("--load-inputs", inputs)
    page = ("--report", report) if "html" in registry.reports else ()
    yield DemoCommand("Do two backends compute the same?", ("run", model, "-b", runtime, "-b", reference, *feed))
    if "invariants" in registry.commands:
        shapes = ("--input-shapes", f"image:[{BATCH},3,32,32]")
        yield DemoCommand("Does a backend agree with itself?", ("invariants", model, "-b", runtime, *shapes))
    pair = (other, model, "-b", runtime, *feed)
    searches = "locate" in registry.commands
    words = ("run", *pair, *(() if searches else page))
    yield DemoCommand("Do two versions of a model compute the same?", words, finds_fault=True)
    if searches:
        yield DemoCommand("Which layer is to blame?", ("locate", *pair, *page), finds_fault=True)


def _has_onnxruntime(registry: Registry) -> bool:
    try:
        registry.require(registry.find_runner("onnxrt"))
    except PluginError:
        return False
    return True


def _run(ctx: click.Context, words: tuple[str, ...]) -> int:
    """Run a command as if it had been typed, so that its reports name it, and return its exit status."""
    root = ctx.find_root()
    try:
        with root.command.make_context(root.info_name, list(words), obj=registry_of(ctx)) as typed:
            root.command.invoke(typed)
    except click.exceptions.Exit as ended:
        return ended.exit_code
    return 0
