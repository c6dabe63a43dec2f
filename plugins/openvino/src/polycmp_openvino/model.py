"""The loader that reads a model into OpenVINO, and the names that OpenVINO forgets."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from polycmp.errors import ModelError
from polycmp.loader import Loader, exact_path, immediate, resolve
from polycmp.tensors import Shape, TensorMetadata
from polycmp_openvino.reasons import missing_library, reading_failed

#: How the names of types begin that not every release reads.
_RARE = ("STRING", "COMPLEX", "FLOAT8", "FLOAT4", "INT4", "UINT4", "INT2", "UINT2")


def import_openvino() -> Any:
    """Return the module `openvino`.

    Raises:
        PluginError: It is not installed, or cannot be loaded here.
    """
    try:
        import openvino
    except ImportError as error:
        raise missing_library(error) from error
    return openvino


@dataclass(frozen=True)
class ReadModel:
    """A model in OpenVINO's hands.

    Attributes:
        model: The `openvino.Model`.
        shapes: Shapes of the inputs as the ONNX file declares them, with the names of open dimensions.
        outputs: Names of the outputs in the model's order, where the ONNX file says them; else empty.
        core: The `openvino.Core` that read it.
    """

    model: Any
    shapes: Mapping[str, Shape | None] = field(default_factory=dict)
    outputs: tuple[str, ...] = ()
    core: Any = None


class OpenvinoModel(Loader[ReadModel]):
    """Reads a model into OpenVINO.

    Args:
        model: A path (`.onnx`, or `.xml` with its `.bin`), a serialized ONNX model, an `onnx.ModelProto`, an
            `openvino.Model`, or a callable that returns one of them. A loader that only reads a file is not called:
            OpenVINO maps the file into memory itself.
    """

    def __init__(self, model: Any) -> None:
        self.model = model

    def call_impl(self) -> ReadModel:
        """Return the model.

        Raises:
            PluginError: OpenVINO is not installed.
            ModelError: The model cannot be read.
            BackendError: OpenVINO lacks one of its operators.
        """
        ov = import_openvino()
        path = exact_path(self.model)
        if path is not None:
            return _from_path(ov.Core(), path)
        model = resolve(self.model)
        if isinstance(model, ReadModel):
            return model
        if isinstance(model, ov.Model):
            return ReadModel(model, core=ov.Core())
        if isinstance(model, (str, os.PathLike)):
            return _from_path(ov.Core(), os.fspath(model))
        return _from_onnx(ov.Core(), model)


openvino_model = immediate(OpenvinoModel)


def _from_path(core: Any, path: str) -> ReadModel:
    if not Path(path).is_file():
        raise ModelError(f"there is no file {path}", whose="openvino", hint=f"ls -l {Path(path).parent}")
    if path.endswith(".xml"):
        weights = Path(path).with_suffix(".bin")
        if not weights.is_file():
            raise ModelError(f"{path} lacks its weights", whose="openvino", why=f"there is no file {weights}")
        return ReadModel(_read(core, path, model=path), core=core)
    from polycmp_onnx.load import structure_from_path

    graph = structure_from_path(path).graph
    shapes, outputs = _declared(graph)
    return ReadModel(_read(core, path, graph, model=path), shapes, outputs, core)


def _from_onnx(core: Any, model: Any) -> ReadModel:
    import onnx

    if isinstance(model, (bytes, bytearray, memoryview)):
        from polycmp_onnx import onnx_from_bytes

        model = onnx_from_bytes(bytes(model))
    if not isinstance(model, onnx.ModelProto):
        raise ModelError(
            f"OpenVINO needs a path, bytes, an onnx.ModelProto or an openvino.Model, not {type(model).__name__}",
            whose="openvino",
        )
    from polycmp_onnx.graph import is_too_large

    shapes, outputs = _declared(model.graph)
    if not is_too_large(model):
        read = _read(core, "the model", model.graph, model=model.SerializeToString(), weights=b"")
        return ReadModel(read, shapes, outputs, core)
    from polycmp_onnx import save_onnx

    # OpenVINO maps the weights into memory, so that the files may be removed once it has read the model.
    with tempfile.TemporaryDirectory(prefix="polycmp-", ignore_cleanup_errors=True) as folder:
        path = str(Path(folder) / "model.onnx")
        save_onnx(model, path, external_data_path="model.data")
        return ReadModel(_read(core, "the model", model.graph, model=path), shapes, outputs, core)


def _read(core: Any, name: str, graph: Any = None, **source: Any) -> Any:
    """Return the model of a source, of which an ONNX file's graph tells more where OpenVINO cannot read it."""
    try:
        return core.read_model(**source)
    except Exception as error:
        raise reading_failed(error, name, {} if graph is None else _rare_types(graph)) from error


def _rare_types(graph: Any) -> dict[str, str]:
    """Return the types of inputs and outputs that not every release reads, by name."""
    from onnx import TensorProto

    kinds = {
        value.name: TensorProto.DataType.Name(value.type.tensor_type.elem_type)
        for value in (*graph.input, *graph.output)
    }
    rare = {name: kind.lower() for name, kind in kinds.items() if kind.startswith(_RARE)}
    return {name: "strings" if kind == "string" else kind for name, kind in rare.items()}


def _declared(graph: Any) -> tuple[dict[str, Shape | None], tuple[str, ...]]:
    from polycmp_onnx.graph import graph_inputs, tensor_metadata

    inputs: TensorMetadata = tensor_metadata(graph_inputs(graph))
    return {name: entry.shape for name, entry in inputs.items()}, tuple(value.name for value in graph.output)
