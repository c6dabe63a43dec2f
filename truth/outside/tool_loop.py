"""Rewrites models with an optimiser of files, without polycmp: run in the tool's own environment.

    python tool_loop.py TOOL SOURCE TARGET < NAMES

Prints a line of JSON for each file: that it is begun, and then that it is written, or why not.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx


def _slim(model: Any) -> Any:
    import onnxslim

    return onnxslim.slim(model)


def _sim(model: Any) -> Any:
    import onnxsim

    made, is_equal = onnxsim.simplify(model)
    if not is_equal:
        raise RuntimeError("onnxsim's own check says that the file is another model")
    return made


def _optimizer(model: Any) -> Any:
    import onnxoptimizer

    return onnxoptimizer.optimize(model, onnxoptimizer.get_fuse_and_elimination_passes())


def _script(model: Any) -> Any:
    import onnxscript.optimizer
    import onnxscript.rewriter

    return onnxscript.rewriter.rewrite(onnxscript.optimizer.optimize(model))


TOOLS: dict[str, Callable[[Any], Any]] = {
    "onnxslim": _slim,
    "onnxsim": _sim,
    "onnxoptimizer": _optimizer,
    "onnxscript": _script,
}


def main() -> None:
    """Rewrite the files whose names come on standard input."""
    tool, source, target = TOOLS[sys.argv[1]], Path(sys.argv[2]), Path(sys.argv[3])
    warnings.simplefilter("ignore")
    said = sys.stdout
    sys.stdout = sys.stderr  # tools print
    for name in sys.stdin.read().splitlines():
        print(json.dumps({"file": name, "begun": True}), file=said, flush=True)
        try:
            path = target / name
            path.parent.mkdir(parents=True, exist_ok=True)
            onnx.save(tool(onnx.load(source / name)), path)
            found: dict[str, object] = {"written": True}
        except Exception as error:  # noqa: BLE001 - whatever a tool raises is an answer
            lines = [line for line in f"{type(error).__name__}: {error}".splitlines() if line.strip()]
            found = {"refused": lines[0][:200]}
        print(json.dumps({"file": name, **found}), file=said, flush=True)


if __name__ == "__main__":
    main()
