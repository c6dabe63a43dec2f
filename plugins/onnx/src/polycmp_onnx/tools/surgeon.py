"""`polycmp surgeon`: cutting, cleaning and changing ONNX models."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from polycmp.command import BackendCommand, examples, verbosity_params
from polycmp.sentences import counted
from polycmp_onnx.tools.frame import (
    OutsideSection,
    ReadSection,
    VerifySection,
    change,
    model_argument,
    open_onnx,
    output_option,
)
from polycmp_onnx.tools.surgeon_sections import (
    ExtractSection,
    FoldSection,
    InsertSection,
    ReconstructSection,
    SanitizeSection,
    ShapeSection,
    StripSection,
)

if TYPE_CHECKING:
    from polycmp.command import Invocation
    from polycmp.model import Model
    from polycmp.tensors import TensorMetadata

_FILES = (ReadSection, OutsideSection, VerifySection, "log")
#: Options of the source of inputs where shapes are found by running the model. `--inputs` means something else here.
_DATA = ("data.data_loader", "data.data_loader_script", "data.data_loader_func_name", "data.load_inputs")


def _extract(call: Invocation) -> int:
    from polycmp_onnx.tools.wanted import parse_tensors

    section = call.section(ExtractSection)
    typed_fields = {key.field for key in call.options.values}
    inputs = parse_tensors(section.inputs, "--inputs") if "inputs" in typed_fields else None
    outputs = parse_tensors(section.outputs, "--outputs") if section.outputs else None
    model = open_onnx(call, section.model_input_shapes)

    def edit(proto: Any) -> str:
        from polycmp_onnx.extract import extract_part

        _note_shapes(call, model, proto)
        extract_part(proto, *_with_types(call, model, proto, inputs, outputs))
        return "extracted"

    return change(call, model, edit, same=True)


def _note_shapes(call: Invocation, model: Model, proto: Any) -> None:
    """Note in a model the shapes that the options ask for."""
    from polycmp_onnx.shapes import note_shapes

    section = call.section(ShapeSection)
    if section.force_fallback_shape_inference:
        _run_for_shapes(model, proto)
    elif section.shape_inference:
        note_shapes(proto, allow_onnxruntime=not section.no_onnxruntime_shape_inference)


def _run_for_shapes(model: Model, proto: Any, names: Collection[str] | None = None) -> None:
    """Note the types and shapes that tensors have when the model runs once, of all or of those named."""
    from polycmp.tensors import is_size
    from polycmp_onnx.graph import graph_inputs, shape_of
    from polycmp_onnx.tidy import make_static
    from polycmp_onnx.tools.execute import all_tensors

    tensors = all_tensors(model, proto)
    dims = [dim for value in graph_inputs(proto.graph) for dim in shape_of(value) or ["unknown"]]
    is_open = any(not is_size(dim) for dim in dims)  # then another run has other shapes
    chosen = {name: array for name, array in tensors.items() if names is None or name in names}
    make_static(proto, chosen, leave_open=names is not None and is_open)


def _with_types(
    call: Invocation, model: Model, proto: Any, inputs: TensorMetadata | None, outputs: TensorMetadata | None
) -> tuple[TensorMetadata | None, TensorMetadata | None]:
    """Return the tensors with the types that were not given and ONNX cannot infer, found by running the model."""
    from polycmp.errors import PolycmpError
    from polycmp_onnx.graph import element_type, shape_of
    from polycmp_onnx.shapes import value_types

    known = value_types(proto)
    unknown = [
        name
        for name, entry in [*(inputs or {}).items(), *(outputs or {}).items()]
        if (entry.dtype is None and (name not in known or element_type(known[name]) is None))
        or (entry.shape is None and (name not in known or shape_of(known[name]) is None))
    ]
    computed = {name for node in proto.graph.node for name in node.output}
    if computed.issuperset(unknown) and unknown:
        try:
            _run_for_shapes(model, proto, unknown)
        except PolycmpError as error:
            call.warn([f"the types of {', '.join(unknown)} are not known, nor found by running the model: {error.why}"])
        else:
            call.warn([f"the types of {', '.join(unknown)} were found by running the model once"])
    return inputs, outputs


def _sanitize(call: Invocation) -> int:
    from polycmp.errors import UsageError
    from polycmp.tensors import is_size
    from polycmp_onnx.tools.wanted import parse_shapes

    section, fold = call.section(SanitizeSection), call.section(FoldSection)
    if section.no_shape_inference and section.force_fallback_shape_inference:
        raise UsageError("--no-shape-inference and --force-fallback-shape-inference contradict each other")
    shapes = parse_shapes(section.override_input_shapes)
    fixed = [f"{name}:{dims}".replace(" ", "") for name, dims in shapes.items() if all(map(is_size, dims))]
    model = open_onnx(call, fixed)
    used = [item for item in _FOLDING if getattr(fold, item) not in (None, False, "")]
    if used and not fold.fold_constants:
        call.warn([f"--{used[0].replace('_', '-')} has no effect without --fold-constants"])

    def edit(proto: Any) -> str:
        from polycmp_onnx.tools.sanitize import sanitize

        return sanitize(proto, section, fold, shapes, lambda: _run_for_shapes(model, proto))

    return change(call, model, edit, same=not section.set_unbounded_dds_upper_bound)


_FOLDING = ("num_passes", "partitioning", "no_fold_shapes", "no_per_pass_shape_inference", "fold_size_threshold")


def _insert(call: Invocation) -> int:
    from polycmp.errors import UsageError
    from polycmp_onnx.tools.wanted import parse_attributes

    section = call.section(InsertSection)
    for option in ("op", "inputs", "outputs"):
        if not getattr(section, option):
            raise UsageError(
                f"--{option} is missing", hint=f"{call.path} MODEL -o FILE --op Relu --inputs x --outputs y"
            )
    attributes = parse_attributes(section.attrs)
    model = open_onnx(call)

    is_unknown = not section.domain and not _known(section.op)

    def edit(proto: Any) -> str:
        from polycmp_onnx.insert import insert_node

        if is_unknown:
            call.warn([f"ONNX has no operator {section.op!r}: --domain DOMAIN says whose it is"])
        insert_node(
            proto,
            section.op,
            section.inputs,
            section.outputs,
            name=section.name,
            domain=section.domain,
            attributes=attributes,
        )
        _note_shapes(call, model, proto)
        return f"inserted {section.op}"

    return change(call, model, edit, tolerant=is_unknown)


def _known(op: str) -> bool:
    import onnx

    return bool(onnx.defs.has(op))


def _prune(call: Invocation) -> int:
    def edit(proto: Any) -> str:
        from polycmp_onnx.weights import prune

        return f"made {counted(len(prune(proto)), 'weight')} 2:4 sparse"

    return change(call, open_onnx(call), edit)


def _strip(call: Invocation) -> int:
    path = call.section(StripSection).exclude_list
    model = open_onnx(call)
    exclude = _lines(path) if path else []

    def edit(proto: Any) -> str:
        from polycmp_onnx.weights import strip

        return f"left {counted(len(strip(proto, exclude)), 'weight')} out"

    return change(call, model, edit, checked=False)


def _lines(path: str) -> list[str]:
    from polycmp.errors import FileError, describe_exception

    try:
        return Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"cannot read {path}", whose="--exclude-list", why=describe_exception(error)) from error


def _reconstruct(call: Invocation) -> int:
    seed = call.section(ReconstructSection).seed

    def edit(proto: Any) -> str:
        from polycmp_onnx.weights import reconstruct

        return f"made {counted(len(reconstruct(proto, seed)), 'weight')} up"

    return change(call, open_onnx(call), edit)


def _command(
    name: str, run: Any, options: tuple[str | type, ...], text: str, example: str, data: bool = False
) -> BackendCommand:
    params: list[click.Parameter] = [model_argument(), output_option(), *verbosity_params()]
    kinds = ("data_loader",) if data else ()
    return BackendCommand(
        name, run, options=(*options, *_FILES), plugins=kinds, params=params, help=text + examples(example)
    )


extract_command = _command(
    "extract",
    _extract,
    (ExtractSection, ShapeSection, *_DATA),
    "Extract the part of MODEL that leads from some tensors to others, with the weights it needs.",
    "polycmp surgeon extract model.onnx --inputs hidden:auto:auto --outputs logits:auto -o part.onnx",
    data=True,
)
sanitize_command = _command(
    "sanitize",
    _sanitize,
    (SanitizeSection, FoldSection, *_DATA),
    "Clean up MODEL: fold constants, change input shapes, remove what is unused, sort nodes.",
    "polycmp surgeon sanitize model.onnx --override-input-shapes image:[1,3,32,32] --fold-constants -o clean.onnx",
    data=True,
)
insert_command = _command(
    "insert",
    _insert,
    (InsertSection, "model", ShapeSection),
    "Insert one node into MODEL in place of all nodes between its inputs and its outputs.",
    "polycmp surgeon insert model.onnx --op Clip --inputs logits --outputs logits -o clipped.onnx",
)
prune_command = _command(
    "prune",
    _prune,
    (),
    "Make the weights of MODEL 2:4 sparse, to measure the gain in speed. Accuracy is lost.",
    "polycmp surgeon prune model.onnx -o pruned.onnx",
)
weight_strip_command = _command(
    "weight-strip",
    _strip,
    (StripSection,),
    "Remove the values of MODEL's weights, so that its structure can be shared.",
    "polycmp surgeon weight-strip model.onnx -o stripped.onnx",
)
weight_reconstruct_command = _command(
    "weight-reconstruct",
    _reconstruct,
    (ReconstructSection,),
    "Fill in random values for the weights that `polycmp surgeon weight-strip` removed from MODEL.",
    "polycmp surgeon weight-reconstruct stripped.onnx -o again.onnx",
)
