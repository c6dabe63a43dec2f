"""`polycmp compare`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from polycmp.builtin.data.compare_models import compare_models, models_of
from polycmp.command import BackendCommand, examples, verbosity_params
from polycmp.errors import UsageError

if TYPE_CHECKING:
    from polycmp.command import Invocation

EPILOG = """\b
Exit status: 0 equal, 1 different, 2 wrong usage, 3 could not compare."""


def _compare(call: Invocation) -> int:
    files = tuple(call.params["files"])
    if not files:
        raise UsageError("no files given", hint="polycmp compare NEW.npz OLD.npz")
    formats = call.registry.formats
    outputs = [path for path in files if Path(path).suffix[1:].lower() in formats]
    models = models_of([path for path in files if path not in outputs], outputs, call.registry)
    if models:
        if call.was_given("core", "compare") or call.was_given("compare_func"):
            raise UsageError(
                "two model files are compared without a run, so no option of comparing outputs has a meaning",
                hint=f"polycmp run {files[0]} {files[1]} -b BACKEND compares what they calculate",
            )
        call.begin(reads=[("MODEL", path) for path in files])
        return call.present(compare_models(*models))
    result = {**call.options.of("core", "result"), "load_outputs": files}
    plan = call.plan(options=call.options.replaced("core", "result", result))
    call.begin(plan)
    return call.present(call.run(plan))


compare_command: BackendCommand = BackendCommand(
    "compare",
    _compare,
    options=("compare", "result.report", "log"),
    plugins=("compare_func", "report", "observer"),
    unfolded=("compare_func",),
    params=[
        click.Argument(["files"], nargs=-1, type=click.Path()),
        *verbosity_params("more messages and all outputs", "fewer messages, the result as one line"),
    ],
    help="Compare saved outputs: .json, .npz, .npy, .pt and other files that plugins read, or folders. The last "
    "one is the reference, unless --reference names another. Of two model files, tell without a run whether they hold "
    "the same network."
    + examples(
        "polycmp compare new.npz old.npz",
        "polycmp compare new.json old.json --atol 1e-3 --report r.json",
        "polycmp compare new.onnx old.onnx",
    ),
    epilog=EPILOG,
)
