"""`polycmp calibrate`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from polycmp.command import BackendCommand, common_params, examples
from polycmp.spec import opt
from polycmp_checks.counts import at_least

if TYPE_CHECKING:
    from polycmp.command import Invocation

_SEEDS = 20


@dataclass(frozen=True)
class CalibrateSection:
    """Calibrating."""

    seeds: int | None = opt(
        None,
        help=f"Number of inputs that the data loader makes, each with a seed of its own; {_SEEDS} by default.",
        metavar="N",
        parse=at_least(1),
    )


def _calibrate(call: Invocation) -> int:
    from polycmp.errors import UsageError
    from polycmp.plan import to_command, without_written_files
    from polycmp.terminal import echo
    from polycmp_checks.profiles.face import result_of
    from polycmp_checks.profiles.measure import measure

    example = "polycmp calibrate MODEL -b BACKEND -b BACKEND -o profile.toml"
    call.needs_backends(example)
    path: str = call.params["output"] or ""
    plan = call.plan()
    if len(plan.backends) < 2:
        raise UsageError(
            "only one backend", why="what backends that are right differ by takes two of them to measure", hint=example
        )
    if not path.lower().endswith(".toml"):
        raise UsageError("-o: the profile needs a name that ends in .toml", hint=example)
    if plan.data.followers:
        raise UsageError("outputs that are fed back have no tolerances of their own here", hint=example)
    call.begin(plan)
    seeds = call.section(CalibrateSection).seeds or (None if plan.data.iterations > 1 else _SEEDS)
    with call.progress() as on_stage:
        measurement = measure(plan, call.registry, seeds, on_stage)
    judging = to_command(without_written_files(plan), call.registry, ["--tolerance", path])
    status = call.present(result_of(measurement, plan.command, judging))
    if measurement.profile is not None:
        measurement.profile.write(path)
        echo(f"wrote {path}", err=True)
    return status


calibrate_command = BackendCommand(
    "calibrate",
    _calibrate,
    options=("model", "data", CalibrateSection, "run.use_subprocess", "run.timeout", "result.report", "log"),
    params=[
        *common_params(),
        click.Option(["-o", "--output"], metavar="FILE.toml", help="The profile to write."),
    ],
    help="Measure by how much the outputs of backends that are known to be right differ, over many inputs, and write "
    "tolerances for each output, which polycmp run --tolerance FILE judges by. Each has to refuse the same model in "
    "the next coarser type; else the profile says that it cannot tell."
    + examples(
        "polycmp calibrate model.onnx -b onnxrt -b onnx -o profile.toml",
        "polycmp run model.onnx -b trt -b onnxrt --tolerance profile.toml",
    ),
    epilog="Exit status: 0 each output has a limit, 2 wrong usage, 3 a limit cannot tell, or a backend failed.",
)
