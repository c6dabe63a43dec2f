"""`polycmp convert`: one kind of model into another, with the same options as a run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polycmp.command import examples
from polycmp.spec import opt
from polycmp.terminal import echo
from polycmp_onnx.tools.frame import OutsideSection, model_argument, output_option, verbosity_params
from polycmp_onnx.tools.model_command import ModelCommand

if TYPE_CHECKING:
    from polycmp.command import Invocation
    from polycmp.model import Model
    from polycmp.plugins import Contribution, Registry


@dataclass(frozen=True, eq=False, repr=False)
class ConvertSection:
    """Converting."""

    convert_to: str = opt("", help="What to write, where the suffix does not tell.", metavar="KIND")


def _convert(call: Invocation) -> int:
    from polycmp.errors import ModelError, UsageError

    model, output = call.open_model(), call.params["output"]
    writer = _writer(call.registry, output, call.section(ConvertSection).convert_to)
    kind = writer.spec.produces or writer.spec.name
    if kind == model.kind and not writer.spec.rewrites:
        raise ModelError(f"{model.path} is of kind {kind} already", hint=f"cp {model.path} {output}")
    call.registry.require(writer)
    outside = call.section(OutsideSection).save_external_data
    if outside is None:
        call.registry.load(writer, writer.spec.save)(model.load(kind), output)
    elif kind == "onnx":
        _write_onnx(call, model, output)
    else:
        raise UsageError(
            f"{output} has no weights outside", whose="--save-external-data", hint="leave it out, or write a .onnx file"
        )
    echo(f"wrote {output} ({Path(output).stat().st_size} bytes)")
    return 0


def _write_onnx(call: Invocation, model: Model, output: str) -> None:
    from polycmp_onnx.save import SaveOnnx

    section = call.section(OutsideSection)
    SaveOnnx(
        model.load("onnx"),
        output,
        external_data_path=section.save_external_data,
        size_threshold=section.external_data_size_threshold,
        all_tensors_to_one_file=not section.no_save_all_tensors_to_one_file,
    )()


def _writer(registry: Registry, output: str, convert_to: str) -> Contribution:
    """Return the loader whose kind of model is to be written."""
    from polycmp.errors import UsageError, did_you_mean
    from polycmp.plugins import explain_kind, explain_suffix

    writers = {item.spec.produces or item.spec.name: item for item in registry.loaders.values() if item.spec.save}
    by_suffix = {suffix: kind for kind, item in writers.items() for suffix in item.spec.suffixes}
    suffix = Path(output).suffix.lower()
    also = {alias: kind for kind, item in writers.items() for alias in item.spec.aliases}
    kind = convert_to or by_suffix.get(suffix, "")
    if kind in writers or kind in also:
        return writers.get(kind) or writers[also[kind]]
    wanted = convert_to or suffix or "no suffix"
    raise UsageError(
        f"nothing installed writes {output} ({wanted})",
        why=did_you_mean(wanted, [*writers, *by_suffix]),
        hint=explain_kind(convert_to) or explain_suffix(suffix) or "--convert-to KIND, or another suffix",
    )


#: Options of the loader `onnx` that say where a run saves the model; here `--output` and its section do.
_SAVING: tuple[Any, ...] = (
    "save",
    "save_external_data",
    "external_data_size_threshold",
    "no_save_all_tensors_to_one_file",
)

convert_command = ModelCommand(
    "convert",
    _convert,
    without=_SAVING,
    options=(ConvertSection, OutsideSection, "model", "data.input_shapes", "data.data_loader",
             "data.data_loader_script", "data.data_loader_func_name", "data.load_inputs", "log"),
    params=[model_argument(), output_option("Where to write."), *verbosity_params()],
    help="Turn MODEL into another kind of model, or change it, with the options of a run."
    + examples("polycmp convert model.onnx -o half.onnx --fp-to-fp16 --keep-float Softmax",
               "polycmp convert model.onnx -o marked.onnx --onnx-outputs hidden logits",
               "polycmp convert model.onnx -o model.engine --fp16"),
)  # fmt: skip
