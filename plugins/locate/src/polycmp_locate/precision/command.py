"""`polycmp debug precision`: find the operators that must stay in float32, on backends or for a check."""

from __future__ import annotations

import glob
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import click

from polycmp.command import common_params, examples
from polycmp.debug import CheckingCommand, CheckSection, ReplaySection, check_option
from polycmp.spec import opt
from polycmp_locate.ddmin import fewest_passing
from polycmp_locate.options import JUDGING, MODEL_AND_INPUTS

if TYPE_CHECKING:
    from polycmp.command import Invocation
    from polycmp.debug import Replay, Stepper
    from polycmp.report import Result

EPILOG = """\b
With backends, the float16 model on the first one is judged against the float model on the last one.
With a check, each step writes polycmp_debug.onnx, in float16 except for some operators, and runs the check.
Exit status: 0 found, or everything passes in float16; 1 not even float32 passes; 2 wrong usage; 3 could not search."""


@dataclass(frozen=True)
class PrecisionSection:
    """Searching."""

    mode: str | None = opt(
        None,
        help="guided: by each layer's measured error (the default with backends); bisect: halve, in the model's "
        "order (the default with --check); linear: operator by operator.",
        choices=("guided", "bisect", "linear"),
    )
    max_runs: int = opt(
        0,
        help="Maximum number of models that guided may try; by default 24, or a tenth of the number of layers.",
        metavar="N",
    )
    to: str = opt("float16", help="Smaller type of the other operators.", choices=("float16", "bfloat16"), alias="--to")
    direction: str = opt(
        "forward",
        help="Which operators stay in float32: the first ones (forward), or the last ones (reverse).",
        choices=("forward", "reverse"),
        alias="--dir",
    )


#: Core options that apply to models in mixed precision.
OPTIONS = (
    *MODEL_AND_INPUTS,
    *JUDGING,
    "result.report",
    "log",
    PrecisionSection,
    CheckSection,
    ReplaySection,
)


@dataclass
class PrecisionSearch:
    """Result of the search.

    Attributes:
        names: The operators in their order.
        float_count: Number of operators that stay in float32; None if not even all do.
        steps: Number of models that were checked.
    """

    names: Sequence[str]
    float_count: int | None = None
    steps: int = 0
    files: list[str] = field(default_factory=list)


def _precision(call: Invocation) -> int:
    from polycmp.errors import UsageError
    from polycmp_locate.onnx_extra import require_onnx

    require_onnx("debug precision")
    if call.options.backends and call.params["check"]:
        raise UsageError("backends and --check both say what fails", hint="give backends, or --check COMMAND …")
    if call.options.backends:
        return _with_backends(call)
    if call.section(PrecisionSection).mode == "guided":
        raise UsageError(
            "--mode guided measures the layers on backends, and there is none",
            hint="polycmp debug precision MODEL -b CANDIDATE -b REFERENCE",
        )
    return _with_check(call)


def _with_backends(call: Invocation) -> int:
    from polycmp_locate.precision.rank.presentation import result_of
    from polycmp_locate.precision.rank.ranking import RankOptions, rank

    section, plan = call.section(PrecisionSection), call.plan()
    call.begin(plan)
    has_reduced_model = len({backend.model or plan.model for backend in plan.backends}) > 1
    if not has_reduced_model:
        narrow = replace(plan.backends[0], label=f"{plan.backends[0].label} in {section.to}")
        plan = replace(plan, backends=(narrow, *(plan.backends[1:] or plan.backends)))
    options = RankOptions(
        mode=section.mode or "guided",
        reverse=section.direction == "reverse",
        save=call.params["output"] or "",
        max_runs=section.max_runs,
        reduce=None if has_reduced_model else lambda model: _reduced(model, (), section.to),
    )
    with call.progress() as on_stage:
        ranking = rank(plan, call.registry, options, on_stage)
    return call.present(result_of(ranking, "debug precision"))


def _with_check(call: Invocation) -> int:
    from polycmp.debug import Replay, Stepper, artifact_of, make_check
    from polycmp_onnx import save_verified

    checking, replays = call.section(CheckSection), call.section(ReplaySection)
    model, start = call.open_model(), time.perf_counter()
    model_with_names = _with_names(model.load("onnx"))
    names = [node.name for node in model_with_names.graph.node if node.op_type != "Constant"]
    check = call.params["check"]
    artifact = checking.iter_artifact or artifact_of(check, [".onnx"], "polycmp_debug.onnx")
    stepper = Stepper(make_check(check, checking, call.registry), checking, artifact)
    replay, result = Replay(replays.load_debug_replay, replays.save_debug_replay), PrecisionSearch(names)
    with call.progress() as on_stage:
        passes = _passes(call, model_with_names, result, stepper, replay, on_stage)
        try:
            linear = call.section(PrecisionSection).mode == "linear"
            result.float_count = fewest_passing(passes, len(names), linear=linear)
        finally:
            stepper.close()
    output = call.params["output"]
    if output and result.float_count is not None:
        mixed = _mixed(
            model_with_names, _float_operators(call, names, result.float_count), call.section(PrecisionSection).to
        )
        save_verified(mixed, output, call.registry, model_with_names, model.path)
        result.files.append(output)
    return call.present(_result(call, result, time.perf_counter() - start))


def _passes(
    call: Invocation,
    model_with_names: Any,
    result: PrecisionSearch,
    stepper: Stepper,
    replay: Replay,
    on_stage: Callable[[str], None],
) -> Callable[[int], bool]:
    from polycmp_onnx import save_onnx

    def passes(count: int) -> bool:
        index, state = result.steps, {"operators_in_float32": count}
        result.steps += 1
        on_stage(f"step {index}: {count} of {len(result.names)} operators in float32")
        passed = replay.find(state)
        if passed is None:
            mixed = _mixed(
                model_with_names, _float_operators(call, result.names, count), call.section(PrecisionSection).to
            )
            save_onnx(mixed, stepper.artifact)
            stepper.begin(index)
            passed = stepper.check().passed
            stepper.sort(index, passed)
        replay.add(index, "", state, passed)
        return passed

    return passes


def _float_operators(call: Invocation, names: Sequence[str], count: int) -> list[str]:
    reverse = call.section(PrecisionSection).direction == "reverse"
    return list(names[len(names) - count :] if reverse else names[:count])


def _with_names(load: Callable[[], Any]) -> Any:
    """Load a copy of the model in which every operator has a unique name.

    Raises:
        ModelError: It cannot be read.
    """
    from polycmp_onnx.load import own_model

    model = own_model(load)
    used_names: set[str] = set()
    for index, node in enumerate(model.graph.node):
        if not node.name or node.name in used_names:
            node.name = f"{node.op_type}_number_{index}"
        used_names.add(node.name)
    return model


def _mixed(model: Any, float_operators: Sequence[str], to: str) -> Any:
    """Return the model with some operators in float32, or unchanged if that leaves none in the smaller type."""
    all_in_float = len(float_operators) == sum(node.op_type != "Constant" for node in model.graph.node)
    return model if all_in_float else _reduced(model, float_operators, to)


def _reduced(model: Any, float_operators: Sequence[str], to: str) -> Any:
    """Return the model in a smaller type, some operators in float32."""
    from polycmp_locate.precision.mixed import Mixer
    from polycmp_onnx import ConvertToBf16, ConvertToFp16

    if to == "float16":
        return ConvertToFp16(model, keep_float=[glob.escape(name) for name in float_operators])()  # patterns
    reduced = ConvertToBf16(model)()
    if not float_operators:
        return reduced
    mixer, float_names = Mixer(model, reduced), set(float_operators)
    names = [node.name for node in model.graph.node]
    return mixer.mix(layer for layer in mixer.layers if any(names[index] in float_names for index in layer.nodes))


def _result(call: Invocation, result: PrecisionSearch, seconds: float) -> Result:
    from polycmp.report import Fact, Note, Verdict
    from polycmp.sentences import FAILED, FOUND, NO_FAULT, counted
    from polycmp_locate.report_builder import build_result

    count, float_count = len(result.names), result.float_count
    verdict: Verdict = "failed" if float_count is None else "passed"
    float_operators = [] if float_count is None else _float_operators(call, result.names, float_count)
    heading = FAILED if float_count is None else FOUND if float_count else NO_FAULT
    if float_count is None:
        answer = "the check fails even with all operators in float32"
    elif not float_count:
        answer = "the check passes with all operators in float16"
    else:
        answer = f"the check passes with {float_count} of {counted(count, 'operator')} in float32"
    direction = call.section(PrecisionSection).direction
    notes = (
        [f"{'last' if direction == 'reverse' else 'first'} of them: {', '.join(float_operators[:8])}"]
        if float_operators
        else []
    )
    return build_result(
        "debug precision",
        verdict,
        heading,
        f"{answer}, after {counted(result.steps, 'step')}",
        title="debug precision",
        typed=call.options.command,
        seconds=seconds,
        document={"operators": count, "in_float32": float_operators, "steps": result.steps},
        facts=(Fact("operators", str(count)), Fact("steps", str(result.steps))),
        content=[Note(text) for text in notes],
        files=result.files,
    )


precision_command = CheckingCommand(
    "precision",
    _precision,
    options=OPTIONS,
    params=[
        *common_params(two_models=True),
        click.Option(["-o", "--output"], metavar="FILE", help="File for the mixed model that passes."),
        check_option(),
        # Earlier versions of Polygraphy asked for the type of the operators that are kept; there is but one.
        click.Option(["-p", "--precision"], type=click.Choice(["float32", "fp32"]), hidden=True),
    ],
    help="Find the operators of an ONNX MODEL that must stay in float32 to meet the tolerance, or for a check to pass."
    + examples(
        "polycmp debug precision model.onnx -b trt -b onnxrt --atol 1e-2 -o mixed.onnx",
        "polycmp debug precision model.onnx -b onnxrt:model=int8.onnx -b onnxrt --atol 1e-1 -o mixed.onnx",
        "polycmp debug precision model.onnx -o mixed.onnx \\",
        "    --check polycmp run polycmp_debug.onnx -b onnxrt -b onnxrt:model=model.onnx --atol 1e-2",
    ),
    epilog=EPILOG,
)
