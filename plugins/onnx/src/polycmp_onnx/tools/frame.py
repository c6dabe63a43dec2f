"""Shared steps of the commands over ONNX models: reading a model, verifying the new one, and writing it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from polycmp.sentences import counted
from polycmp.spec import opt, parse_size
from polycmp.terminal import echo, visible

if TYPE_CHECKING:
    from polycmp.command import Invocation
    from polycmp.model import Model
    from polycmp_onnx.plugin import LoaderOptions
    from polycmp_onnx.save import Form
    from polycmp_onnx.verify import Verification

_LOG = logging.getLogger("polycmp")


@dataclass(frozen=True)
class ReadSection:
    """Reading."""

    external_data_dir: str | None = opt(
        None,
        help="Folder of weights stored outside the file; by default the model's folder.",
        metavar="DIR",
        alias=("--load-external-data", "--ext"),
    )
    ignore_external_data: bool = opt(False, help="Read the structure without the weights outside the file.")
    fp_to_fp16: bool = opt(False, help="Convert the model to float16 first; its inputs and outputs keep their types.")


@dataclass(frozen=True)
class OutsideSection:
    """Weights outside the file."""

    save_external_data: str | None = opt(
        None,
        help="Store the weights in this file next to the model; without a name, in OUTPUT.data.",
        metavar="[NAME]",
        bare="",
        alias="--external-data-path",
    )
    external_data_size_threshold: int = opt(
        1024,
        help="Keep tensors smaller than this in the model; K, M and G are allowed.",
        metavar="BYTES",
        parse=parse_size,
    )
    no_save_all_tensors_to_one_file: bool = opt(False, help="Store each tensor in its own file.")


@dataclass(frozen=True)
class VerifySection:
    """Verifying."""

    no_verify: bool = opt(
        False,
        help="Do not verify the file: skip the ONNX checker, loading it, and comparing it with MODEL.",
    )


def model_argument() -> click.Parameter:
    """Return the argument for the model."""
    return click.Argument(["model"], required=False)


def output_option(text: str = "Where to write the model.", required: bool = True) -> click.Parameter:
    """Return the option for the file to write."""
    return click.Option(["-o", "--output"], required=required, metavar="FILE", help=text)


def open_onnx(call: Invocation, input_shapes: Iterable[str] = ()) -> Model:
    """Return the model that a command works on, read as its options say; set logging up.

    Args:
        call: The call of a command with a `ReadSection`.
        input_shapes: Shapes asked for, as `--input-shapes` spells them.

    Raises:
        UsageError: There is none, or options contradict each other.
        ModelError: There is no such file, or nothing makes ONNX of it.
    """
    return call.open_model(loaders={"onnx": _loader_options(call)}, input_shapes=input_shapes)


def _loader_options(call: Invocation) -> LoaderOptions:
    from polycmp_onnx.plugin import LoaderOptions

    read = call.section(ReadSection)
    return LoaderOptions(
        external_data_dir=read.external_data_dir,
        ignore_external_data=read.ignore_external_data,
        fp_to_fp16=read.fp_to_fp16,
    )


def read_onnx(model: Model) -> Any:
    """Return the `onnx.ModelProto` of a model, which may be changed.

    Raises:
        ModelError: It cannot be read.
    """
    from polycmp_onnx.load import own_model

    return own_model(model.load("onnx"))


def change(
    call: Invocation,
    model: Model,
    edit: Callable[[Any], str],
    *,
    same: bool = False,
    tolerant: bool = False,
    checked: bool = True,
) -> int:
    """Read a model, change it, make sure of what came out, write it, and say so.

    Args:
        call: The call of a command with the option `--output` and the sections of this module.
        model: The model.
        edit: Changes an `onnx.ModelProto` and says what it did, in a few words.
        same: Whether the result is to compute what the model does.
        tolerant: Warn only where ONNX's checker refuses the result, for operators that ONNX does not know.
        checked: Whether to look at the result; it cannot be right where weights were left out.

    Raises:
        ModelError: Something is wrong with the result that is right with the original.
        FileError: The file cannot be written.
    """
    proto = read_onnx(model)
    before = _size(proto)
    what = edit(proto)
    size = f"{before} → {_size(proto)}"
    verification = None
    if tolerant:
        why = complaint(proto)
        if why:
            _LOG.warning("ONNX's checker refuses the model: %s", why)
    elif checked and not call.section(VerifySection).no_verify:
        verification = verification_of(call, model, same=same)
    return write(call, model, proto, f"{what}; {size}" if what else size, verification)


def verification_of(call: Invocation, model: Model, *, same: bool) -> Verification:
    """Make the verification of a file that is derived from a model.

    Args:
        call: The call of a command with a `ReadSection`.
        model: The model.
        same: Whether the file is to compute what the model does.
    """
    from polycmp_onnx.verify import Verification

    missing = call.section(ReadSection).ignore_external_data  # then nothing can be loaded
    return Verification(None if missing else call.registry, lambda: read_onnx(model), same=same, whose=model.path)


def write(call: Invocation, model: Model, proto: Any, what: str = "", verification: Verification | None = None) -> int:
    """Write a model as the options of a command say, and say so.

    Args:
        call: The call of a command with the option `--output` and a `OutsideSection`.
        model: The model that it was made from: weights outside the file stay outside.
        proto: The `onnx.ModelProto`.
        what: Summary of the change, in a few words.
        verification: Makes sure of the file before it takes its place; None to write it as it is.

    Raises:
        ModelError: It is not what it should be.
        FileError: The file cannot be written.
        UsageError: Weights of the original would be overwritten.
    """
    from polycmp_onnx.save import write_model

    output, outside = Path(call.params["output"]), call.section(OutsideSection).save_external_data
    if outside is None and _has_weights_outside(model):
        outside = ""
    if call.section(ReadSection).ignore_external_data:
        outside = None  # nothing was read that could be written elsewhere; the references stay
    write_model(proto, output, form_of(call, model, output, outside), verification)
    tell(output, what, verification)
    return 0


def tell(output: Path, what: str, verification: Verification | None) -> None:
    """Print that a model was written, and which checks it passed.

    Args:
        output: The file.
        what: Summary of the change, in a few words; may be empty.
        verification: The checks of the written file; None if there were none.
    """
    size = f"wrote {output} ({output.stat().st_size} bytes)"
    echo(visible(f"{size}: {what}" if what else size))
    if verification is not None and verification.done:
        echo(visible(f"verified: {', '.join(verification.done)}"))


def form_of(call: Invocation, model: Model, output: Path, outside: str | None) -> Form:
    """Return the form of the files that a command writes.

    Args:
        call: The call of a command with an `OutsideSection`.
        model: The model that is read.
        output: The file to write.
        outside: The file for weights, as `--save-external-data` names it; None to keep them in the model.

    Raises:
        UsageError: The file for weights holds those of the model that is read.
    """
    from polycmp_onnx.save import Form

    section = call.section(OutsideSection)
    if outside is not None:
        _refuse_to_overwrite_weights(model, output, outside or f"{output.name}.data")
    return Form(outside, section.external_data_size_threshold, not section.no_save_all_tensors_to_one_file)


def _refuse_to_overwrite_weights(model: Model, output: Path, location: str) -> None:
    """Refuse a file for weights that holds those of the model that is read.

    Raises:
        UsageError: It would be overwritten, and the original not.
    """
    from polycmp.errors import UsageError
    from polycmp_onnx.save import locations

    source = Path(model.path)
    if model.kind != "onnx" or source.resolve() == output.resolve():
        return
    target = (output.parent / location).resolve()
    if target in {(source.parent / name).resolve() for name in locations(source)}:
        raise UsageError(
            f"{location} holds the weights of {source}, which would be lost",
            whose="the file for weights",
            hint=f"--save-external-data NAME, for example {output.stem}.weights",
        )


def _has_weights_outside(model: Model) -> bool:
    from polycmp_onnx.load import structure_from_path

    if model.kind != "onnx":
        return False
    import onnx

    tensors = structure_from_path(model.path).graph.initializer
    return any(onnx.external_data_helper.uses_external_data(item) for item in tensors)


def _size(proto: Any) -> str:
    nodes, weights = len(proto.graph.node), len(proto.graph.initializer)
    return f"{counted(nodes, 'node')}, {counted(weights, 'weight')}"


def complaint(proto: Any) -> str:
    """Return the complaint of ONNX's checker about a model; empty if it has none. Large weights are not read.

    Args:
        proto: An `onnx.ModelProto` of any size.
    """
    import onnx

    from polycmp_onnx.faults import complaint_of
    from polycmp_onnx.shapes import structure

    try:
        onnx.checker.check_model(structure(proto))
    except onnx.checker.ValidationError as error:
        return complaint_of(error)
    return ""
