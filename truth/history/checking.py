"""Shows with a runtime alone, without polycmp, that one release is wrong about a model and another right."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from truth.build import Array
from truth.history.environments import Environment, make
from truth.history.issue import Issue

_SECONDS = 300
#: What runs the file `model` on the arrays of `inputs` and writes its outputs, by backend.
_RUN = {
    "onnxrt": """
import onnxruntime
session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
made = session.run(None, feed)
""",
    "onnx": """
import onnx
from onnx.reference import ReferenceEvaluator
made = ReferenceEvaluator(onnx.load(model)).run(None, feed)
""",
    "openvino": """
import openvino
properties = {"INFERENCE_PRECISION_HINT": "f32"}
if "cache_dir" in options:
    properties["CACHE_DIR"] = options["cache_dir"]
compiled = openvino.Core().compile_model(model, options.get("device", "CPU"), properties)
found = compiled({port.any_name: feed[port.any_name] for port in compiled.inputs})
made = [found[port] for port in compiled.outputs]
""",
}
_AROUND = """
import sys
import numpy
model, inputs, outputs = sys.argv[1:]
feed = dict(numpy.load(inputs))
options = {options}
{run}
numpy.savez(outputs, **{{f"o{{number}}": numpy.asarray(array) for number, array in enumerate(made)}})
"""
_TOOL = """
import sys
source, target, inputs = sys.argv[1:]
{tool}
"""


def outputs_of(python: Path | str, backend: str, model: Path, inputs: Path) -> list[Array] | str:
    """Return what a backend, with its options, makes of a file in an interpreter, or why it could not."""
    made = model.with_suffix(".outputs.npz")
    made.unlink(missing_ok=True)
    name, _, words = backend.partition(":")
    options = dict(word.split("=", 1) for word in words.split(",") if "=" in word)
    code = _AROUND.format(run=_RUN[name], options=options)
    why = run_code(python, code, [model, inputs, made])
    if why:
        return why
    with np.load(made) as arrays:
        return [arrays[f"o{number}"] for number in range(len(arrays.files))]


def write_with_tool(issue: Issue, environment: Environment, source: Path, target: Path, inputs: Path) -> str:
    """Let the tool of an issue write its file; return why it could not, empty if it could."""
    target.unlink(missing_ok=True)
    return run_code(make(environment), _TOOL.format(tool=issue.tool), [source, target, inputs])


def is_right(found: Sequence[Array] | str, expected: Sequence[Array], tolerance: float) -> bool:
    """Return whether outputs are what has to come out."""
    return not isinstance(found, str) and len(found) == len(expected) and all(
        left.shape == right.shape and _close(left, right, tolerance)
        for left, right in zip(found, expected, strict=True)
    )  # fmt: skip


def state(issue: Issue, environment: Environment, folder: Path) -> str:
    """Return "right" or what is wrong of a release about the issue's model, as the runtime alone shows it."""
    case = issue.make()
    source = case.net.write(folder, "source.onnx")
    inputs, expected, target = folder / "x.npz", case.expected(), folder / "target.onnx"
    if not issue.tool:
        found = outputs_of(make(environment), issue.backend, source, inputs)
    else:
        why = write_with_tool(issue, environment, source, target, inputs)
        found = f"the tool fails: {why}" if why else outputs_of(sys.executable, "onnxrt", target, inputs)
    if is_right(found, expected, issue.tolerance):
        return "right"
    if isinstance(found, str):
        return found
    pairs = zip(found, expected, strict=False)
    return "; ".join(f"{_few(left)} instead of {_few(right)}" for left, right in pairs)


def _few(array: Array) -> str:
    flat = ", ".join(f"{value:.4g}" for value in array.reshape(-1)[:4].astype(np.float64))
    return f"{list(array.shape)} {flat}"


def _close(left: Array, right: Array, tolerance: float) -> bool:
    left, right = left.astype(np.float64), right.astype(np.float64)
    finite = np.abs(right[np.isfinite(right)])
    bound = tolerance * float(finite.max(initial=0.0))
    return bool(np.allclose(left, right, rtol=tolerance, atol=bound, equal_nan=True))


def run_code(python: Path | str, code: str | Path, words: Sequence[Path]) -> str:
    """Run code, or a file of it, in an interpreter; return why it failed, empty if it did not."""
    command = [str(python), *(("-c", code) if isinstance(code, str) else (str(code),)), *map(str, words)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_SECONDS, check=False, env=_environment()
        )
    except subprocess.TimeoutExpired:
        return f"no answer within {_SECONDS} s"
    if done.returncode == 0:
        return ""
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    return lines[-1][-300:] if lines else f"exit status {done.returncode}"


def _environment() -> Mapping[str, str]:
    import os

    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
