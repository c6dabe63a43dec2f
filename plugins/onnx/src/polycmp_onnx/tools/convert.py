"""`polycmp convert`: one kind of model into another, with the same options as a run."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from polycmp.command import examples, verbosity_params
from polycmp.errors import ModelError, UsageError
from polycmp.model import Model
from polycmp.spec import opt
from polycmp_onnx.tools.frame import (
    OutsideSection,
    VerifySection,
    form_of,
    model_argument,
    output_option,
    tell,
)
from polycmp_onnx.tools.model_command import ModelCommand

if TYPE_CHECKING:
    from polycmp.command import Invocation
    from polycmp.plugins import Contributed, Registry
    from polycmp.spec import LoaderSpec
    from polycmp_onnx.plugin import LoaderOptions
    from polycmp_onnx.save import Form
    from polycmp_onnx.verify import Verification

_LOG = logging.getLogger("polycmp")


@dataclass(frozen=True)
class ConvertSection:
    """Converting."""

    convert_to: str = opt("", help="Kind of model to write, if the suffix does not say.", metavar="KIND")


def _convert(call: Invocation) -> int:
    model, output = call.open_model(), call.params["output"]
    writer = _writer(call.registry, output, call.section(ConvertSection).convert_to)
    kind, tools = writer.spec.kind, call.registry.tools(writer)
    if kind == model.kind and not tools.rewrites:
        raise ModelError(f"{model.path} is of kind {kind} already", hint=f"cp {model.path} {output}")
    call.registry.require(writer)
    outside = call.section(OutsideSection).save_external_data
    if kind == "onnx":
        return _write_onnx(call, model, Path(output))
    if outside is not None:
        raise UsageError(
            f"{output} has no weights outside", whose="--save-external-data", hint="leave it out, or write a .onnx file"
        )
    assert tools.save is not None
    with call.registry.explained(writer):
        tools.save(model.load(kind), output)
    tell(Path(output), "", None)
    return 0


def _write_onnx(call: Invocation, model: Model, output: Path) -> int:
    """Write a model of ONNX, of which it is made sure before it takes its place."""
    from polycmp_onnx.save import save

    form = form_of(call, model, output, call.section(OutsideSection).save_external_data)
    verification = None if call.section(VerifySection).no_verify else _verification(call, model)
    try:
        save(model.load("onnx"), str(output), form, verification)
    except ModelError as error:
        options = _options(model)
        if verification is None or not verification.crashed or not (options.fp_to_fp16 or options.fp_to_bf16):
            raise
        verification = _write_without_crash(call, model, output, form, error)
    tell(output, _narrowing(model, output), verification)
    return 0


def _narrowing(model: Model, output: Path) -> str:
    """Say how many weights were made smaller, and by how much; empty where that was not asked for."""
    from polycmp_onnx.convert import Census
    from polycmp_onnx.load import structure_from_path

    options = _options(model)
    to = "float16" if options.fp_to_fp16 else "bfloat16" if options.fp_to_bf16 else ""
    if not to or model.kind != "onnx":
        return ""
    before, after = Census.of(structure_from_path(model.path)), Census.of(structure_from_path(output))
    return f"{to}: {before.became(after)}"


def _write_without_crash(call: Invocation, model: Model, output: Path, form: Form, crash: ModelError) -> Verification:
    """Write a model in a smaller type, with one more type of operators in float32, so that a backend survives it.

    Args:
        call: The call of the command.
        model: The model, of which all that can be of the smaller type makes a file that a backend dies of.
        output: The file to write.
        form: Form of the files: where weights are stored.
        crash: The error with which a backend died of that file.

    Returns:
        The checks of the file that was written.

    Raises:
        ModelError: No type of operators alone makes the difference.
    """
    from polycmp_onnx.graph import nodes_within
    from polycmp_onnx.save import save

    options = _options(model)
    types = sorted({node.op_type for node in nodes_within(model.load("onnx")().graph)} - {"Cast", *options.keep_float})
    _LOG.info("%s; looking for the operators that have to stay in float32", crash.why)
    for kind in types:
        retry_options = replace(options, keep_float=(*options.keep_float, kind))
        settings = replace(model.settings, loader_options={**model.settings.loader_options, "onnx": retry_options})
        milder = Model(model.source, model.registry, settings)
        verification = _verification(call, milder)
        try:
            save(milder.load("onnx"), str(output), form, verification)
        except (ModelError, UsageError):  # it dies of this one, too, or the conversion brought the operator
            continue
        _LOG.warning("%s stays in float32, as by --keep-float %s: otherwise %s", kind, kind, crash.why)
        return verification
    crash.hint = f"--keep-float TYPE … with several types of operators; {crash.hint}"
    raise crash


def _verification(call: Invocation, model: Model) -> Verification:
    """Make the verification of the file; it compares results, too, unless the conversion rounds them."""
    from polycmp_onnx.load import OnnxFromPath
    from polycmp_onnx.verify import Verification

    options = _options(model)
    same = not (options.fp_to_fp16 or options.fp_to_bf16)
    original = OnnxFromPath(model.path, options.external_data_dir) if model.kind == "onnx" else lambda: None
    registry = None if options.ignore_external_data else call.registry
    return Verification(registry, original, same=same, whose=model.path)


def _options(model: Model) -> LoaderOptions:
    from polycmp_onnx.plugin import LoaderOptions

    return model.settings.loader_options.get("onnx") or LoaderOptions()


def _writer(registry: Registry, output: str, convert_to: str) -> Contributed[LoaderSpec]:
    """Return the loader whose kind of model is to be written."""
    from polycmp.errors import did_you_mean
    from polycmp.plugins import explain_kind, explain_suffix

    equipped = [(item, tools) for item, tools in registry.equipped(registry.loaders.values()) if tools.save is not None]
    writers = {item.spec.kind: item for item, _ in equipped}
    by_suffix = {suffix: kind for kind, item in writers.items() for suffix in item.spec.file_suffixes}
    suffix = Path(output).suffix.lower()
    also = {alias: item.spec.kind for item, tools in equipped for alias in tools.aliases}
    kind = convert_to or by_suffix.get(suffix, "")
    if kind in writers or kind in also:
        return writers.get(kind) or writers[also[kind]]
    name = convert_to or suffix or "no suffix"
    raise UsageError(
        f"no installed loader writes {output} ({name})",
        why=did_you_mean(name, [*writers, *by_suffix]),
        hint=explain_kind(convert_to) or explain_suffix(suffix) or "--convert-to KIND, or another suffix",
    )


convert_command = ModelCommand(
    "convert",
    _convert,
    options=(ConvertSection, OutsideSection, VerifySection, "model", "data.input_shapes", "data.data_loader",
             "data.data_loader_script", "data.data_loader_func_name", "data.load_inputs", "log"),
    params=[model_argument(), output_option("Where to write."), *verbosity_params()],
    help="Convert MODEL to another format, or change its precision or outputs. Takes the model options of a run."
    + examples("polycmp convert model.onnx -o half.onnx --fp-to-fp16 --keep-float Softmax",
               "polycmp convert model.onnx -o marked.onnx --onnx-outputs hidden logits",
               "polycmp convert model.onnx -o model.engine --fp16"),
)  # fmt: skip
