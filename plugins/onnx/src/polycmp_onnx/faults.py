"""Faults of a model by ONNX's rules: the checker's, and those of strict inference of types and shapes."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple

import onnx

from polycmp.errors import describe_exception
from polycmp_onnx.external import external_tensors
from polycmp_onnx.graph import graph_inputs, tensor_bytes
from polycmp_onnx.shapes import LARGEST_SHAPE, structure

#: An output of unknown shape does no harm: backends find it out when they run the model.
_MISSING = "is required but missing"


class Fault(NamedTuple):
    """Something that is wrong.

    Attributes:
        kind: Source of the finding: `checker` or `inference`, or `weights` where some are not in their file.
        text: Description of the fault.
        harmless: Whether backends run the model all the same.
    """

    kind: str
    text: str
    harmless: bool = False


def faults_of(model: Any, folder: Path | None = None) -> list[Fault]:
    """Check a model by ONNX's rules; large weights are not read.

    Args:
        model: An `onnx.ModelProto` of any size, whose weights need not be loaded.
        folder: Folder of the files with its weights; None not to look for these.
    """
    faults = [] if folder is None else list(_missing_weights(model, folder))
    small = structure(model if folder is None or faults else _with_small_weights(model, folder))
    try:
        onnx.checker.check_model(small)
    except onnx.checker.ValidationError as error:
        text = complaint_of(error)
        return [*faults, Fault("checker", text, _MISSING in text)]
    why = inference_fault(small)
    return [*faults, Fault("inference", why)] if why else faults


def inference_fault(small: Any) -> str:
    """Return in words what strict inference of types and shapes refuses in a model; empty if nothing.

    Args:
        small: An `onnx.ModelProto` of any size; large weights should be left out.
    """
    try:
        onnx.shape_inference.infer_shapes(small, check_type=True, strict_mode=True, data_prop=True)
    except Exception as error:  # noqa: BLE001 - it raises whatever it meets
        return " ".join(describe_exception(error).split())[:400]  # without the traces that it repeats
    return ""


def complaint_of(error: Exception) -> str:
    """Return an error of ONNX's checker in one line, without the places in nested graphs that it adds."""
    return " ".join(str(error).partition("\n==>")[0].split())


def _with_small_weights(model: Any, folder: Path) -> Any:
    """Return a model with those of its weights that inference looks at, which may be shapes and axes."""
    chosen = [tensor for tensor in external_tensors(model) if tensor_bytes(tensor) <= LARGEST_SHAPE]
    if not chosen:
        return model
    read = deepcopy(model)
    names = {tensor.name for tensor in chosen}
    for tensor in [tensor for tensor in external_tensors(read) if tensor.name in names]:
        onnx.external_data_helper.load_external_data_for_tensor(tensor, str(folder))
        tensor.ClearField("data_location")
        del tensor.external_data[:]
    return read


def _missing_weights(model: Any, folder: Path) -> Iterator[Fault]:
    for tensor in external_tensors(model):
        info = onnx.external_data_helper.ExternalDataInfo(tensor)
        file = folder / info.location
        end = (info.offset or 0) + (info.length or 0)
        if not file.is_file() or file.stat().st_size < end:
            yield Fault("weights", f"the weight {tensor.name!r} is not in {info.location}, where the model has it")
            return


def inputs_and_outputs(model: Any) -> tuple[set[str], set[str]]:
    """Return the names of what a model is fed and of what it gives."""
    return {value.name for value in graph_inputs(model.graph)}, {value.name for value in model.graph.output}
