"""Description of a model file before it is loaded, as the loader's options will make it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from polycmp.errors import UsageError
from polycmp.tensors import ModelDescription
from polycmp_onnx.external import locations
from polycmp_onnx.graph import computed_tensors, graph_inputs, tensor_metadata
from polycmp_onnx.load import structure_from_path
from polycmp_onnx.outputs import MARK_ALL, chosen_outputs, means_all
from polycmp_onnx.plugin import LoaderOptions
from polycmp_onnx.ranges import with_ranges
from polycmp_onnx.shapes import value_types


def describe(source: Any, options: LoaderOptions | None = None) -> ModelDescription:
    """Return names, types and shapes of a model's inputs and outputs, and the names of all its tensors.

    Weights outside the file are not read. Outputs are those after the options; what the model does not tell and
    ONNX cannot infer is None.

    Args:
        source: Path of the model, or a loader that gives one.
        options: Those that `make_loader` gets.

    Raises:
        ModelError: The file is no ONNX model.
        UsageError: A name, pattern or type among the options fits nothing in the model.
    """
    options = options or LoaderOptions()
    check_options(options)
    model = structure_from_path(source) if isinstance(source, (str, Path)) else source()
    return _described(model, options) or _inferred(model, options)


def _described(model: Any, options: LoaderOptions) -> ModelDescription | None:
    """Describe a model's inputs and outputs; None if the model leaves some of them out."""
    names = _names(model, options)
    known = {value.name: value for value in model.graph.output}
    return _description(model, names, known) if all(name in known for name in names) else None


def _inferred(model: Any, options: LoaderOptions) -> ModelDescription:
    """Return the same with what follows from the operators' types and shapes."""
    return _description(model, _names(model, options), value_types(model))


def _names(model: Any, options: LoaderOptions) -> list[str]:
    return chosen_outputs(model.graph, outputs_of(options), options.exclude_outputs, options.outputs_by_type)


def _description(model: Any, names: list[str], known: Mapping[str, Any]) -> ModelDescription:
    graph = model.graph
    outputs = tensor_metadata(known[name] if name in known else _unknown(name) for name in names)
    inputs = with_ranges(tensor_metadata(graph_inputs(graph)), model)
    return ModelDescription(inputs, outputs, tuple(dict.fromkeys([*inputs, *computed_tensors(graph), *names])))


def _unknown(name: str) -> Any:
    import onnx

    return onnx.ValueInfoProto(name=name)


def referenced_files(path: str) -> list[str]:
    """Return the paths of the files that a model's weights lie in, as far as its own file does not hold them.

    Args:
        path: The model's file; weights are not read.

    Raises:
        ModelError: The file cannot be read.
    """
    return [str(Path(path).parent / location) for location in locations(structure_from_path(path))]


def outputs_of(options: LoaderOptions) -> str | list[str] | None:
    """Return the outputs that the options mark, as `ModifyOutputs` takes them; None for the model's own."""
    if options.mark_all or means_all(options.outputs):
        return MARK_ALL
    return list(options.outputs) or None


def check_options(options: LoaderOptions) -> None:
    """Check that options go together.

    Raises:
        UsageError: Some contradict or need each other.
    """
    if options.ignore_external_data and options.external_data_dir is not None:
        raise UsageError("--ignore-external-data and --external-data-dir contradict each other")
    if options.fp_to_fp16 and options.fp_to_bf16:
        raise UsageError("--fp-to-fp16 and --fp-to-bf16 contradict each other", hint="give only one")
    if options.keep_float and not (options.fp_to_fp16 or options.fp_to_bf16):
        raise UsageError(
            "--keep-float has no effect without a conversion to a smaller type",
            hint="add --fp-to-fp16 or --fp-to-bf16",
        )
    if options.save_external_data is not None and not options.save:
        logging.getLogger("polycmp.onnx").warning("--save-external-data has no effect without --save-onnx PATH")
