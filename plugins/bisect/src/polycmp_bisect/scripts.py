"""Short script that shows a fault with nothing but the runtime, for its maintainers."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from polycmp.process import code_words

_TIMEOUT = 300.0
#: Arrays are called ITERATION/NAME in saved inputs, and BACKEND/ITERATION/NAME in saved outputs.
_READ = (
    'load = lambda path, at: {k.split("/", at)[at]: v for k, v in numpy.load(path).items() if "/" in k}\n'
    'inputs, expected = load("case/inputs.npz", 1), load("case/expected.npz", 2)'
)
_SHOW = 'print({module}.__version__, name, "off by", abs({found}.astype(float) - expected[name]).max())'
#: How a model is run, by the package of the runtime: what is imported, and the lines between reading and showing.
_LINES: Mapping[str, tuple[str, str, str]] = {
    "onnxruntime": (
        "onnxruntime",
        'session = onnxruntime.InferenceSession("case/model.onnx", providers=["CPUExecutionProvider"])\n'
        "for name, found in zip(expected, session.run(list(expected), inputs)):",
        "found",
    ),
    "openvino": (
        "openvino",
        'found = openvino.compile_model("case/model.onnx", "CPU", {"EXECUTION_MODE_HINT": "ACCURACY"})(inputs)\n'
        "for name in expected:",
        "found[name]",
    ),
    "onnx": (
        "onnx",
        'model = onnx.reference.ReferenceEvaluator("case/model.onnx")\n'
        "for name, found in zip(expected, model.run(list(expected), inputs)):",
        "found",
    ),
}


def script_for(package: str) -> str:
    """Return the script for the runtime of a package; empty if none is known."""
    if package not in _LINES:
        return ""
    module, run, output = _LINES[package]
    imported = "onnx.reference, onnx" if module == "onnx" else module
    return f"import numpy, {imported}\n{_READ}\n{run}\n    {_SHOW.format(module=module, found=output)}\n"


def last_line_of(script: Path, python: str) -> str:
    """Return the last line that a script prints in an environment, or the error that it ends with."""
    code = f"from runpy import run_path; run_path({script.name!r}, run_name='__main__')"
    try:
        done = subprocess.run(
            code_words(code, python=python), cwd=script.parent, capture_output=True, text=True, errors="replace",
            timeout=_TIMEOUT, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        return str(error)
    lines = [line.strip() for line in (done.stderr if done.returncode else done.stdout).splitlines() if line.strip()]
    return lines[-1] if lines else f"ended with status {done.returncode}"


def releases_in(python: str, packages: Iterable[str]) -> str:
    """Return the releases of the packages that an environment has, as `pip` writes them."""
    code = (
        "from importlib import metadata\nfor name in sys.argv[1:]:\n"
        "    try: print(f'{name}=={metadata.version(name)}')\n    except metadata.PackageNotFoundError: pass\n"
    )
    try:
        done = subprocess.run(
            [*code_words(code, python=python), *dict.fromkeys(packages)],
            capture_output=True, text=True, timeout=_TIMEOUT, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return ""
    return " ".join(done.stdout.split())


def machine() -> str:
    """Describe this machine for the page."""
    return f"Python {platform.python_version()}, {platform.platform()}, {platform.machine()}"
