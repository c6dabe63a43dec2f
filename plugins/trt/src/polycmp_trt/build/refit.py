"""Engines with other weights: those of an ONNX model in place of those that they were built with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polycmp.errors import BackendError, DataError, FileError
from polycmp.loader import Loader, immediate, resolve
from polycmp.sentences import listed
from polycmp.tensors import is_floating
from polycmp_trt.features import import_tensorrt, release, require, supports
from polycmp_trt.run.runtime import get_trt_logger, noted_errors

if TYPE_CHECKING:
    import tensorrt as trt

    from polycmp_trt.types import Array, EngineSource, PathSource

__all__ = ["RefitEngine", "onnx_weights", "refit_engine"]


class RefitEngine(Loader["trt.ICudaEngine"]):
    """Gives an engine the weights of an ONNX model; the engine itself is changed, and passed on.

    The model needs the structure that the engine was built from; its weights are found by their names.

    Args:
        engine: An engine built with `refittable`, or a callable that makes one.
        path: The ONNX model, weights beside it included.
    """

    def __init__(self, engine: EngineSource, path: PathSource) -> None:
        self.engine = engine
        self.path = path

    def call_impl(self) -> trt.ICudaEngine:
        """Return the `tensorrt.ICudaEngine` with the model's weights.

        Raises:
            FileError: The model cannot be read.
            BackendError: The engine was not built for it, or this release cannot do it.
            DataError: The model lacks weights of the engine, or has them in other shapes.
        """
        require("refitter", "--trt-refit")
        path = Path(resolve(self.path))
        if not path.is_file():
            raise FileError(f"no such model file: {path}", whose="--trt-refit", hint=f"ls {path.parent}")
        engine = resolve(self.engine)
        if not engine.refittable:
            raise BackendError(
                "the engine cannot be refitted",
                whose="trt",
                why="it was built without the flag for it",
                hint="build it again with --refittable: polycmp convert MODEL.onnx -o FILE.engine --refittable",
            )
        trt = import_tensorrt()
        with noted_errors() as notes:
            refitter = trt.Refitter(engine, get_trt_logger())
            if supports("parser_refitter"):
                done = bool(trt.OnnxParserRefitter(refitter, get_trt_logger()).refit_from_file(str(path)))
                weights: list[Array] = []
            else:
                weights = list(_set_weights(refitter, path))
                done = True
            done = done and bool(refitter.refit_cuda_engine())
        del weights  # TensorRT reads them until here
        if not done:
            raise DataError(
                f"TensorRT {release()} cannot refit the engine from {path}",
                whose="trt",
                why=notes.why("it gave no reason"),
            )
        return engine


def _set_weights(refitter: trt.Refitter, path: Path) -> Iterator[Array]:
    """Set the weights of a model in a refitter, by name; yield them, as they must stay alive until it is done.

    TensorRT 8.6 has no refitter that reads ONNX itself. Its parser gives weights the names that they have in the model.
    """
    known, engine_names = onnx_weights(path), list(refitter.get_all_weights())
    ours = [name for name in engine_names if name in known]
    for name in ours:
        array = _narrowed(known[name])
        with noted_errors() as notes:
            accepted = refitter.set_named_weights(name, import_tensorrt().Weights(array))
        if not accepted:
            raise DataError(
                f"the engine does not take the weights {name!r} of {path}",
                whose="--trt-refit",
                why=notes.why(f"they have shape {list(array.shape)} and type {array.dtype.name}"),
                hint="the model must have the structure that the engine was built from",
            )
        yield array
    # TensorRT misses what belongs to weights that were set, so nothing where none was.
    missing = list(refitter.get_missing_weights()) if ours else engine_names
    if missing:
        raise DataError(
            f"{path} lacks weights of the engine",
            whose="--trt-refit",
            why=listed(missing, 3),
            hint="the model must have the structure that the engine was built from, and the names of its weights",
        )


def _narrowed(array: Array) -> Array:
    """Return weights in a type that TensorRT takes: real numbers in float32 or float16, whole ones in 32 bits."""
    if is_floating(array.dtype):
        kind = array.dtype if array.dtype in (np.float16, np.float32) else np.dtype(np.float32)
    else:
        kind = np.dtype(np.int32) if array.dtype == np.int64 else array.dtype
    return np.ascontiguousarray(array.astype(kind))


def onnx_weights(path: str | Path) -> Mapping[str, Array]:
    """Return the weights of an ONNX model by name: its initializers, and what its `Constant` operators hold.

    Args:
        path: The model; weights in files beside it are read, too.

    Raises:
        FileError: It cannot be read.
        ModelError: It is no ONNX model.
    """
    from onnx import numpy_helper

    from polycmp_onnx import OnnxFromPath

    graph: Any = OnnxFromPath(str(path))().graph
    weights = {item.name: numpy_helper.to_array(item) for item in graph.initializer}
    for node in graph.node:
        if node.op_type == "Constant" and not node.domain:
            for attribute in (each for each in node.attribute if each.name == "value"):
                weights[node.output[0]] = numpy_helper.to_array(attribute.t)
    return weights


refit_engine = immediate(RefitEngine)
