"""What is true of a file that a converter made, by the runtime alone: how far its outputs are from the source's."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

Feed = Mapping[str, NDArray[Any]]
#: A file whose outputs have noise of this share of the signal is no good file, whoever made it (choice).
RUINED = 0.5
#: A planted fault is there to be seen if it makes so many times the noise of the file without it, and noise of this
#: share of the signal (choice).
FACTOR, LEAST = 4.0, 0.03
#: The step of a scale that has to cover a mask, so that it leaves nothing of the numbers beside it (choice).
_MASKING = 1e2


def outputs(model: Path | bytes, feed: Feed) -> dict[str, NDArray[Any]]:
    """Return what ONNX Runtime makes of inputs, without optimising the model.

    Args:
        model: The model, or its file.
        feed: The inputs.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    source = model if isinstance(model, bytes) else str(model)
    session = onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    kinds = {item.name: item.type for item in session.get_inputs()}
    fed = {
        name: array.astype(np.float16) if kinds[name] == "tensor(float16)" else array
        for name, array in feed.items()
        if name in kinds
    }
    made = [_array(value) for value in session.run(None, fed)]
    return dict(zip([item.name for item in session.get_outputs()], made, strict=True))


def _array(value: Any) -> NDArray[Any]:
    """Return an output as an array; of maps, which classifiers make, a row each in the order of the keys."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return np.array([[row[key] for key in sorted(row)] for row in value], np.float32)
    return np.asarray(value)


def born(made: Path, feed: Feed, source: Path, source_feed: Feed) -> str:
    """Return the tensor inside a file that holds Inf or NaN where its source has none; empty if there is none.

    Args:
        made: The file.
        feed: Its inputs.
        source: What it was made of.
        source_feed: The inputs of that.
    """
    if _first_infinite(source, source_feed):
        return ""
    return _first_infinite(made, feed)


def _first_infinite(file: Path, feed: Feed) -> str:
    model = onnx.load(file)
    shown = {item.name for item in model.graph.output}
    model.graph.output.extend(
        onnx.ValueInfoProto(name=name)
        for node in model.graph.node for name in node.output if name and name not in shown
    )  # fmt: skip
    found = outputs(model.SerializeToString(), feed)
    return next((name for name, array in found.items() if array.dtype.kind == "f" and not np.isfinite(array).all()), "")


def noise(made: Mapping[str, NDArray[Any]], expected: Mapping[str, NDArray[Any]]) -> float:
    """Return the largest noise of any output: its root mean square over that of the signal; infinite if unlike.

    Numbers that are infinite or none on the same places of both are left out.

    Args:
        made: The candidate's outputs.
        expected: The source's.
    """
    worst = 0.0
    for name, other in expected.items():
        own = made.get(name)
        if own is None or own.shape != other.shape:
            return float("inf")
        if other.dtype.kind != "f":
            continue
        finite = np.isfinite(other)
        if not np.array_equal(np.isfinite(own), finite):
            return float("inf")
        a, b = own[finite].astype(np.float64), other[finite].astype(np.float64)
        if not b.size:
            continue
        signal = float(np.sqrt(np.mean(b * b)))
        error = float(np.sqrt(np.mean((a - b) ** 2)))
        worst = max(worst, error / signal if signal else float(error > 0.0))
    return worst


def is_visible(with_fault: float, without: float, least: float = LEAST) -> bool:
    """Return whether a fault shows in the outputs, far above what rounding makes.

    Args:
        with_fault: The noise with it.
        without: The noise of the same file without it.
        least: The share of the signal that it has to make.
    """
    return with_fault >= max(FACTOR * without, least)


def defect(model: onnx.ModelProto) -> str:
    """Return what is wrong with a quantised file by what it holds; empty if nothing is.

    A bias at the end of int32 was clipped by the quantiser. A step of a hundred and more was made to cover a mask.

    Args:
        model: The file.
    """
    ends = np.iinfo(np.int32)
    scales = {node.input[1] for node in model.graph.node if node.op_type == "QuantizeLinear"}
    for item in model.graph.initializer:
        if item.data_type == onnx.TensorProto.INT32:
            values = numpy_helper.to_array(item)
            if np.any((values == ends.max) | (values == ends.min)):
                return f"{item.name} is clipped"
        elif item.name in scales and float(numpy_helper.to_array(item).max()) > _MASKING:
            return f"{item.name} covers a mask"
    return ""
