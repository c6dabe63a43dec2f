"""`polycmp tune`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from polycmp.command import BackendCommand, common_params, examples
from polycmp_tune.options import TuneSection

if TYPE_CHECKING:
    from polycmp.command import Invocation

_EXAMPLE = "polycmp tune MODEL --matrix onnxrt:optimization=all onnxrt:optimization=off -b onnx"


def _tune(call: Invocation) -> int:
    from polycmp.errors import UsageError
    from polycmp.runs import resolve
    from polycmp.session import run_plan
    from polycmp_tune.face import result_of
    from polycmp_tune.latency import measure
    from polycmp_tune.settings import fastest, settings_of

    section = call.section(TuneSection)
    options = replace(call.options, backends=(*section.matrix, *call.options.backends))
    if len(options.backends) < 2:
        raise UsageError(
            f"{len(options.backends)} setting{'s' * (len(options.backends) != 1)}",
            why="the last one is the reference, which the others are compared with",
            hint=_EXAMPLE,
        )
    plan = call.plan(options=options)
    call.begin(plan)
    with call.progress() as on_stage:
        outcome = run_plan(plan, call.registry, on_stage)
        latencies = measure(resolve(plan, call.registry), section, on_stage)
    settings = settings_of(outcome, latencies)
    best = fastest(settings)
    if section.write_config and best:
        chosen = {best[0].label, outcome.reference}
        backends = tuple(item for item in plan.backends if item.label in chosen)
        call.write_run_file(replace(plan, backends=backends), section.write_config)
    return call.present(result_of(settings, outcome, section, call.options.command), outcome.errors)


tune_command = BackendCommand(
    "tune",
    _tune,
    options=("model", "data", "compare", "run.use_subprocess", "run.timeout", "result.report", "log", TuneSection),
    params=common_params(),
    help="Compare many settings of a model with the last one, time them in turns, and name the fastest whose outputs "
    "are right."
    + examples(
        "polycmp tune m.onnx --matrix trt:fp16 trt onnxrt openvino -b onnx",
        "polycmp tune m.onnx -b onnxrt:threads=1 -b onnxrt:threads=2 -b onnxrt --write-config fastest.toml",
    ),
    epilog="Exit status: 0 a setting is right, 1 none is, 2 wrong usage, 3 none could be compared.",
)
