"""Loops, scattering and gathering, corrected."""
# ruff: noqa: N801

from __future__ import annotations

import math
from typing import Any

import numpy as np
import onnx
from onnx.reference.op_run import OpRun


class Scatter_9(OpRun):  # type: ignore[misc]
    """Scatter, which became ScatterElements in opset 11; ONNX's evaluator knows only the new name."""

    def _run(self, data: Any, indices: Any, updates: Any, *, axis: int = 0) -> tuple[Any]:
        result = data.copy()
        places = list(np.indices(indices.shape))
        places[axis % data.ndim] = indices
        result[tuple(places)] = updates
        return (result,)


class GatherElements_11(OpRun):  # type: ignore[misc]
    """GatherElements; ONNX's uses np.choose, which takes at most 32 entries along the axis."""

    def _run(self, data: Any, indices: Any, *, axis: int = 0) -> tuple[Any]:
        covered = tuple(slice(None) if at == axis % data.ndim else slice(size) for at, size in enumerate(indices.shape))
        return (np.take_along_axis(data[covered], indices, axis),)


class OptionalHasElement_15(OpRun):  # type: ignore[misc]
    """OptionalHasElement; ONNX's finds an element in an empty optional."""

    def _run(self, value: Any = None) -> tuple[Any]:
        is_empty = value is None or (isinstance(value, list) and len(value) == 1 and value[0] is None)
        return (np.array(not is_empty),)


class Loop_1(OpRun):  # type: ignore[misc]
    """Loop; ONNX's joins scan outputs along an existing dimension, and never starts where no condition is given."""

    def need_context(self) -> bool:
        """Return True: the body reads values of the graph around it."""
        return True

    def _run(
        self, trips: Any = None, condition: Any = None, *carried: Any, context: Any = None, body: Any, attributes: Any
    ) -> tuple[Any, ...]:
        names = body.input_names
        state = list(carried)
        scans: list[list[Any]] = [[] for _ in body.output_names[1 + len(state) :]]
        limit = math.inf if trips is None else int(trips.item())
        going, trip = condition is None or bool(condition.item()), 0
        while going and trip < limit:
            feed = dict(zip(names, [np.array(trip, np.int64), np.array(True), *state], strict=True))
            outputs = body.run(None, {**(context or {}), **feed}, attributes=attributes)
            going, state = bool(outputs[0].item()), outputs[1 : 1 + len(state)]
            for scan, value in zip(scans, outputs[1 + len(state) :], strict=True):
                scan.append(value)
            trip += 1
        types = body.output_types[1 + len(state) :]
        return (*state, *(stacked(scan, kind) for scan, kind in zip(scans, types, strict=True)))


def stacked(values: list[Any], kind: Any) -> Any:
    """Return scan outputs joined along a new first dimension; with no iteration, empty and of the declared type."""
    if values:
        return np.stack(values)
    dims = [dim.dim_value for dim in kind.tensor_type.shape.dim]
    return np.empty((0, *dims), onnx.helper.tensor_dtype_to_np_dtype(kind.tensor_type.elem_type))
