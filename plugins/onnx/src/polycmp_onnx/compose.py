"""The loader `onnx` as the command line uses it: options in, a chain of loaders or a description out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from polycmp.errors import UsageError
from polycmp.tensors import ModelDescription
from polycmp_onnx.bf16 import ConvertToBf16
from polycmp_onnx.convert import ConvertToFp16
from polycmp_onnx.graph import computed_tensors, graph_inputs, tensor_metadata
from polycmp_onnx.load import OnnxFromPath, OnnxLoader, structure_from_path
from polycmp_onnx.outputs import MARK_ALL, ModifyOutputs, chosen_outputs, means_all
from polycmp_onnx.plugin import LoaderOptions
from polycmp_onnx.ranges import with_ranges
from polycmp_onnx.save import SaveOnnx
from polycmp_onnx.shapes import InferShapes, value_types


def make_loader(source: Any, options: LoaderOptions | None = None) -> OnnxLoader:
    """Return the loader of a model with all that the options ask for.

    Its attribute `path` is the file if the model is used as it lies there, None if it is changed on the way.

    Args:
        source: Path of the model, or a loader that gives one.
        options: How to load, change and save it.

    Raises:
        UsageError: Options that contradict or need each other.
    """
    options = options or LoaderOptions()
    _check(options)
    loader: Any = source
    if isinstance(source, (str, Path)):
        loader = OnnxFromPath(
            str(source),
            external_data_dir=options.external_data_dir,
            ignore_external_data=options.ignore_external_data,
        )
    if options.fp_to_fp16:
        loader = (
            ConvertToFp16(loader, keep_float=list(options.keep_float)) if options.keep_float else ConvertToFp16(loader)
        )
    if options.fp_to_bf16:
        loader = ConvertToBf16(loader)
    if options.shape_inference:
        loader = InferShapes(loader, allow_onnxruntime=not options.no_onnxruntime_shape_inference)
    outputs = _outputs(options)
    if outputs or options.exclude_outputs or options.outputs_by_type:
        loader = ModifyOutputs(
            loader,
            outputs=outputs,
            exclude_outputs=list(options.exclude_outputs) or None,
            mark_types=list(options.outputs_by_type) or None,
        )
    if options.save:
        loader = SaveOnnx(
            loader,
            options.save,
            external_data_path=options.save_external_data,
            size_threshold=options.external_data_size_threshold,
            all_tensors_to_one_file=not options.no_save_all_tensors_to_one_file,
        )
    return loader  # type: ignore[no-any-return]


def describe(source: Any, options: LoaderOptions | None = None) -> ModelDescription:
    """Return names, types and shapes of a model's inputs and outputs, and the names of all its tensors.

    Weights outside the file are not read. Outputs are those after the options; what the model does not say of them and
    ONNX cannot infer is None.

    Args:
        source: Path of the model, or a loader that gives one.
        options: Those that `make_loader` gets.

    Raises:
        ModelError: The file is no ONNX model.
        UsageError: A name, pattern or type among the options fits nothing in the model.
    """
    options = options or LoaderOptions()
    _check(options)
    model = structure_from_path(source) if isinstance(source, (str, Path)) else source()
    graph = model.graph
    names = chosen_outputs(graph, _outputs(options), options.exclude_outputs, options.outputs_by_type)
    known = {value.name: value for value in graph.output}
    if not all(name in known for name in names):
        known = value_types(model)
    outputs = tensor_metadata(known[name] if name in known else _unknown(name) for name in names)
    inputs = with_ranges(tensor_metadata(graph_inputs(graph)), model)
    return ModelDescription(inputs, outputs, tuple(dict.fromkeys([*inputs, *computed_tensors(graph), *names])))


def _unknown(name: str) -> Any:
    import onnx

    return onnx.ValueInfoProto(name=name)


def _outputs(options: LoaderOptions) -> str | list[str] | None:
    if options.mark_all or means_all(options.outputs):
        return MARK_ALL
    return list(options.outputs) or None


def _check(options: LoaderOptions) -> None:
    if options.ignore_external_data and options.external_data_dir is not None:
        raise UsageError("--ignore-external-data and --external-data-dir contradict each other")
    if options.fp_to_fp16 and options.fp_to_bf16:
        raise UsageError("--fp-to-fp16 and --fp-to-bf16 contradict each other", hint="give one")
    if options.keep_float and not options.fp_to_fp16:
        raise UsageError("--keep-float says what stays float32 in a conversion to float16", hint="add --fp-to-fp16")
    if options.save_external_data is not None and not options.save:
        raise UsageError("--save-external-data needs to know the model's file", hint="add --save-onnx PATH")
