"""`polycmp check lint`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polycmp.command import BackendCommand, examples, verbosity_params
from polycmp.spec import opt
from polycmp.terminal import echo, visible
from polycmp_onnx.tools.frame import ReadSection, model_argument, open_onnx, output_option

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polycmp.command import Invocation
    from polycmp.model import Model
    from polycmp_onnx.tools.findings import LintReport

_LEVELS = ("disable_all", "enable_basic", "enable_extended", "enable_all")


@dataclass(frozen=True)
class LintSection:
    """Running."""

    providers: tuple[str, ...] = opt(
        ("cpu",), help="ONNX Runtime's execution providers.", metavar="NAME", alias="--execution-providers"
    )
    graph_optimization_level: str = opt(
        "disable_all",
        help="Level of ONNX Runtime's graph optimization.",
        choices=(*_LEVELS, *(f"ORT_{item.upper()}" for item in _LEVELS)),
    )


def _lint(call: Invocation) -> int:
    from polycmp.errors import ModelError
    from polycmp.files import write_document
    from polycmp_onnx.tools.lint import unreadable

    output = call.params["output"]
    model = open_onnx(call)
    try:
        proto = model.load("onnx")()  # as the file has it: weights that have to be inputs may be none
    except ModelError as error:
        report = unreadable(error)
    else:
        report = _examine(call, model, proto)
    if output:
        write_document(output, report.document())
    for line in report.lines(every=call.verbose):
        echo(visible(line))
    return 1 if report.has_errors else 0


def _examine(call: Invocation, model: Model, proto: Any) -> LintReport:
    from polycmp_onnx.tools.execute import first_feed, provider_names, run_model
    from polycmp_onnx.tools.lint import lint

    section = call.section(LintSection)
    providers = provider_names(section.providers)
    level = section.graph_optimization_level.lower().removeprefix("ort_")

    def run(part: Any, feed: Mapping[str, Any]) -> dict[str, Any]:
        return run_model(part, feed, providers=providers, optimize=level)

    with call.progress() as tell:
        tell(f"linting {Path(model.path).name}")
        return lint(
            proto,
            lambda: first_feed(model),
            run,
            invented_inputs=_has_invented_inputs(call, proto),
            file=str(model.path),
        )


def _has_invented_inputs(call: Invocation, proto: Any) -> bool:
    """Return whether a model may fail on its inputs for no fault of its own: sizes or whole numbers were made up.

    Which size a batch has, and which values real numbers, makes no sound model fail.
    """
    from polycmp.tensors import is_size
    from polycmp_onnx.graph import element_type, graph_inputs, shape_of

    data_options = call.options.of("core", "data")
    if data_options.get("load_inputs") or data_options.get("data_loader_script"):
        return False
    inputs = graph_inputs(proto.graph)
    if any(kind is not None and kind.kind not in "fc" for kind in map(element_type, inputs)):
        return True
    shapes = [shape_of(value) for value in inputs]
    open_beside_batch = any(
        shape is None or any(not is_size(dim) for dim in shape[len(shape) > 1 :]) for shape in shapes
    )
    return open_beside_batch and not data_options.get("input_shapes")


lint_command = BackendCommand(
    "lint",
    _lint,
    options=("data.input_shapes", "data.data_loader", "data.data_loader_script", "data.load_inputs", LintSection,
             ReadSection, "log"),
    plugins=("data_loader",),
    params=[model_argument(), output_option("Write the findings as JSON.", required=False), *verbosity_params()],
    help="Find everything wrong with MODEL: violations of the ONNX specification, and nodes that do not run."
    + examples("polycmp check lint model.onnx -o report.json"),
    epilog="Exit status: 0 no faults, 1 faults found, 2 wrong usage, 3 no such file.",
)  # fmt: skip
