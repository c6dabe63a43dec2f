"""What is true of models, found with the runtimes alone: nothing of polycmp is imported here.

    python -m truth.packages.facts compare CANDIDATE REFERENCE INPUTS.npz BACKEND[,BACKEND...]
    python -m truth.packages.facts inside MODEL INPUTS.npz
    python -m truth.packages.facts quantise static|dynamic SOURCE TARGET INPUTS.npz

Each prints one line of JSON. A runtime that crashes takes this process with it, and nothing else.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx

from truth.converters.measuring import defect, noise

Arrays = dict[str, Any]


def run(path: str, feed: Arrays, backend: str = "onnxruntime") -> Arrays:
    """Return the outputs of a model.

    Args:
        path: The file.
        feed: The inputs; those that the model does not have are left out.
        backend: `onnxruntime`, `openvino`, or `onnx` for the reference evaluator.
    """
    if backend == "openvino":
        import openvino

        compiled = openvino.compile_model(path, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
        made = compiled([feed[port.any_name] for port in compiled.inputs])
        return {port.any_name: made[port] for port in compiled.outputs}
    if backend == "onnx":
        from onnx.reference import ReferenceEvaluator

        model = ReferenceEvaluator(path)
        names = list(model.output_names)
        return dict(zip(names, model.run(None, {name: feed[name] for name in model.input_names}), strict=True))
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [item.name for item in session.get_outputs()]
    wanted = {item.name: item.type for item in session.get_inputs()}
    return dict(
        zip(names, session.run(names, {name: _as(feed[name], kind) for name, kind in wanted.items()}), strict=True)
    )


def compare(candidate: str, reference: str, inputs: str, backend: str) -> dict[str, Any]:
    """Return how far the outputs of two files are apart, each as a part of the reference's largest value.

    Args:
        candidate: The file that runs in ONNX Runtime.
        reference: The other.
        inputs: The inputs of both.
        backend: What runs the reference.
    """
    feed = dict(np.load(inputs, allow_pickle=False))
    made, wanted = run(candidate, feed), run(reference, feed, backend)
    errors = {}
    for name, value in wanted.items():
        if name in made and isinstance(value, np.ndarray):
            errors[name] = _error(np.asarray(made[name]), value)
    worst = max((item["share"] for item in errors.values()), default=None)
    beyond = sum(item["beyond"] for item in errors.values())
    arrays = {name: value for name, value in wanted.items() if name in errors}
    return {
        "worst": worst,
        "beyond": beyond,
        "outputs": len(errors),
        "missing": len(wanted) - len(errors),
        "noise": noise({name: np.asarray(made[name]) for name in arrays}, arrays),
        "defect": defect(onnx.load(candidate)),
    }


def inside(path: str, inputs: str) -> dict[str, Any]:
    """Return how many of the tensors inside a model ONNX Runtime and the evaluator of `onnx` disagree about.

    Args:
        path: The model.
        inputs: Its inputs.
    """
    import onnxruntime
    from onnx.reference import ReferenceEvaluator

    feed = dict(np.load(inputs, allow_pickle=False))
    model = onnx.load(path)
    shown = {item.name for item in model.graph.output}
    names = [name for node in model.graph.node for name in node.output if name and name not in shown]
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    onnxruntime.set_default_logger_severity(4)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    every = [item.name for item in session.get_outputs()]
    made = dict(zip(every, session.run(every, {item.name: feed[item.name] for item in session.get_inputs()}),
                    strict=True))  # fmt: skip
    wanted = ReferenceEvaluator(path).run(None, feed, intermediate=True)
    errors = [
        _error(np.asarray(made[name]), np.asarray(wanted[name]), is_inner=name not in shown)
        for name in every
        if isinstance(made[name], np.ndarray) and isinstance(wanted.get(name), np.ndarray | np.generic)
    ]
    return {
        "tensors": len(errors),
        "beyond": sum(item["beyond"] > 0 for item in errors),
        "clearly": sum(item["clearly"] > 0 for item in errors),
    }


def quantise(how: str, source: str, target: str, inputs: str) -> dict[str, Any]:
    """Write a model in int8 with the settings that a quantiser has by default.

    Args:
        how: `static` or `dynamic`.
        source: The model.
        target: Where to.
        inputs: What to calibrate with.
    """
    from onnxruntime.quantization import CalibrationDataReader, quantize_dynamic, quantize_static

    if how == "dynamic":
        quantize_dynamic(source, target)
        return {"written": True}

    class Reader(CalibrationDataReader):  # type: ignore[misc]
        def __init__(self) -> None:
            self._feeds: Iterator[Arrays] = iter([dict(np.load(inputs, allow_pickle=False))])

        def get_next(self) -> Arrays | None:
            return next(self._feeds, None)

    quantize_static(source, target, Reader())
    return {"written": True}


def compare_with_any(candidate: str, reference: str, inputs: str, backends: list[str]) -> dict[str, Any]:
    """Return how far two files are apart with the backend of the reference that agrees best, the first among equals.

    Evaluators have faults of their own, which polycmp knows; two runtimes that agree are right.

    Args:
        candidate: The file that runs in ONNX Runtime.
        reference: The other.
        inputs: The inputs of both.
        backends: What may run the reference.
    """
    found: dict[str, Any] = {}
    first = None
    for backend in backends:
        try:
            one = compare(candidate, reference, inputs, backend)
        except Exception as error:  # noqa: BLE001 - that one cannot run it
            one = {"error": f"{type(error).__name__}: {error}".splitlines()[0][:300]}
        first = one.get("beyond") if backend == backends[0] else first
        if not found or "error" in found or one.get("beyond", math.inf) < found["beyond"]:
            found = {**one, "backend": backend}
        if one.get("beyond", 1) == 0:
            break
    return {**found, "first": first}


def _as(array: Any, kind: str) -> Any:
    return array.astype(np.float16) if kind == "tensor(float16)" and array.dtype == np.float32 else array


def _error(made: Any, wanted: Any, *, is_inner: bool = False) -> dict[str, Any]:
    if made.shape != wanted.shape:
        return {"share": float("inf"), "beyond": int(wanted.size), "clearly": int(wanted.size)}
    if wanted.dtype.kind not in "fiub":
        unequal = int((made != wanted).sum())
        return {"share": float(unequal > 0), "beyond": unequal, "clearly": unequal}
    one, two = made.astype(np.float64), wanted.astype(np.float64)
    with np.errstate(invalid="ignore"):
        off = np.where((one == two) | (np.isnan(one) & np.isnan(two)), 0.0, np.abs(one - two))
    largest = float(np.max(np.abs(two), initial=0.0, where=np.isfinite(two)))
    # The rule that polycmp publishes: outside when beyond the absolute and the relative tolerance, and all but numbers.
    # Inside, what both sides make NaN or infinite alike is no difference.
    none = int(np.count_nonzero(~(np.isfinite(one) & np.isfinite(two)) & ((off != 0.0) | (not is_inner))))
    beyond, clearly = (int(np.count_nonzero((off > far) & (off > far * np.abs(two)))) + none for far in (1e-5, 2e-5))
    most = float(np.max(off, initial=0.0))
    share = most / largest if largest else float(most > 0)
    return {"share": share, "beyond": beyond, "clearly": clearly, "largest": largest}


def _main(words: list[str]) -> None:
    try:
        if words[0] == "compare":
            found = compare_with_any(words[1], words[2], words[3], words[4].split(","))
        elif words[0] == "inside":
            found = inside(words[1], words[2])
        else:
            found = quantise(*words[1:5])
    except Exception as error:  # noqa: BLE001 -- the answer is that it cannot be done, and why
        found = {"error": f"{type(error).__name__}: {error}".splitlines()[0][:300]}
    print(json.dumps(found))


if __name__ == "__main__":
    _main(sys.argv[1:])
