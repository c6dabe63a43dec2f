"""Runs models with ONNX Runtime's optimisers on and off, without polycmp: what its verdicts are held against.

    python plain_loop.py FOLDER < NAMES

Prints a line of JSON for each file: the largest difference over the range of the outputs without optimisers, or why
there is none. Inputs are random numbers from 0 to 1, of whole numbers 0 and 1; open dimensions are 2.
"""

from __future__ import annotations

import json
import sys
import zlib
from pathlib import Path

import numpy as np
import onnxruntime as ort

_OPEN = 2
_KINDS = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(float16)": np.float16,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(int16)": np.int16,
    "tensor(int8)": np.int8,
    "tensor(uint8)": np.uint8,
    "tensor(uint16)": np.uint16,
    "tensor(uint32)": np.uint32,
    "tensor(uint64)": np.uint64,
    "tensor(bool)": np.bool_,
}


def session(path: str, level: ort.GraphOptimizationLevel) -> ort.InferenceSession:
    """Return a session of a file on the processor."""
    options = ort.SessionOptions()
    options.graph_optimization_level = level
    options.log_severity_level = 4
    return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def feeds_of(model: ort.InferenceSession, name: str) -> dict[str, np.ndarray]:
    """Return inputs of a model, drawn from the name of its file."""
    random = np.random.default_rng(zlib.crc32(name.encode()))
    feeds: dict[str, np.ndarray] = {}
    for item in model.get_inputs():
        shape = [size if isinstance(size, int) else _OPEN for size in item.shape]
        kind = _KINDS[item.type]
        drawn = random.uniform(size=shape) if np.issubdtype(kind, np.floating) else random.integers(0, 2, shape)
        feeds[item.name] = drawn.astype(kind)
    return feeds


def measure(path: str, name: str) -> dict[str, object]:
    """Return the largest difference of a model's outputs, over their range; `equal` if they are to the last bit."""
    off = session(path, ort.GraphOptimizationLevel.ORT_DISABLE_ALL)
    on = session(path, ort.GraphOptimizationLevel.ORT_ENABLE_ALL)
    feeds = feeds_of(off, name)
    worst, is_equal = 0.0, True
    for a, b in zip(on.run(None, feeds), off.run(None, feeds), strict=True):
        if not isinstance(b, np.ndarray) or b.dtype.kind not in "fiub":
            continue
        if a.shape != b.shape:
            return {"error": float("inf"), "equal": False}
        x, y = a.astype(np.float64), b.astype(np.float64)
        same = (x == y) | (np.isnan(x) & np.isnan(y))
        if same.all():
            continue
        is_equal = False
        finite = y[np.isfinite(y)]
        spread = float(np.ptp(finite)) if finite.size else 0.0
        with np.errstate(all="ignore"):
            error = np.abs(x - y)[~same]
        largest = float(error.max()) if np.isfinite(error).all() else float("inf")
        worst = max(worst, largest / spread if spread else float("inf"))
    return {"error": worst, "equal": is_equal}


def main() -> None:
    """Measure the files whose names come on standard input; with 50 kB of words release 1.29.0 dies as it begins."""
    folder = Path(sys.argv[1])
    for name in sys.stdin.read().splitlines():
        print(json.dumps({"file": name, "begun": True}), flush=True)
        try:
            found = measure(str(folder / name), name)
        except Exception as error:  # noqa: BLE001 - whatever a runtime raises is an answer
            found = {"refused": f"{type(error).__name__}: {error}"[:200]}
        print(json.dumps({"file": name, **found}), flush=True)


if __name__ == "__main__":
    main()
