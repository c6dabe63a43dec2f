"""`polycmp decide`."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

from polycmp.command import BackendCommand, common_params, examples
from polycmp_decide.options import DecideSection

if TYPE_CHECKING:
    from polycmp.command import Invocation
    from polycmp.plan import Plan
    from polycmp.report import NextStep
    from polycmp_decide.decision_run import DecisionFindings


def _decide(call: Invocation) -> int:
    from polycmp.errors import PluginError, UsageError, describe_exception

    try:
        import scipy  # noqa: F401 - what is said of a package that is missing is said before anything runs
    except ImportError as error:
        raise PluginError(
            "needs SciPy", whose="decide", why=describe_exception(error), hint="pip install scipy"
        ) from error
    from polycmp_decide.decision import Demand
    from polycmp_decide.decision_run import find
    from polycmp_decide.face import result_of
    from polycmp_decide.samples import open_samples
    from polycmp_decide.tasks import TaskOptions, make_task

    call.needs_backends("polycmp decide NEW OLD -b BACKEND --data pictures --labels labels.csv")
    section, options = call.section(DecideSection), call.options
    if call.was_given("data_loader", "pictures"):
        options = options.replaced("core", "data", {**options.of("core", "data"), "data_loader": "pictures"})
    plan = call.plan(options=options)
    if plan.data.followers:
        raise UsageError(
            f"{' and '.join(plan.data.followers)}: labels belong to the inputs as they are", whose="decide",
            hint="polycmp run takes --steps and --flips",
        )  # fmt: skip
    call.begin(plan)
    samples, classes = open_samples(plan, section)
    task = make_task(section.task, TaskOptions(section.output, classes, section.decoder))
    demand = Demand(section.max_drop / 100, section.confidence / 100)
    with call.progress() as on_stage:
        findings = find(plan, call.registry, task, samples, demand, on_stage)
    loader = plan.data.loader
    folder = loader.options.folder if loader.name == "pictures" else ""
    return call.present(result_of(findings, call.options.command, _next(call, plan, findings), folder))


def _next(call: Invocation, plan: Plan, findings: DecisionFindings) -> tuple[NextStep, ...]:
    """Return the command that looks inside the model, on the picture that lost most; none where there is none."""
    from polycmp.report import NextStep
    from polycmp_decide.sources import is_data_set

    scores, decision, data = findings.scores, findings.decision, plan.data.loader
    if scores is None or decision is None or decision.word != "worse" or data.name != "pictures":
        return ()
    if is_data_set(data.options.folder):  # its rows are no files that another command could read
        return ()
    if "locate" not in call.registry.commands:
        return ()
    worst = min(range(scores.number), key=lambda place: scores.new[place] - scores.old[place])
    models = [call.params["model"], call.params["reference_model"]]
    specs = _two_specs(call.params["backend"], [item.label for item in plan.backends], findings)
    words = ["polycmp", "locate", *filter(None, models), *(word for spec in specs for word in ("-b", spec))]
    words += ["--data-loader", data.name, "--data", str(Path(data.options.folder, findings.samples.names[worst]))]
    shapes = call.options.of("core", "data").get("input_shapes", ())
    words += ["--input-shapes", *shapes] if shapes else []
    for field in fields(data.options):
        value = getattr(data.options, field.name)
        if field.name != "folder" and value != field.default:
            values = () if value is True else value if isinstance(value, tuple) else (value,)
            words += [f"--pictures-{field.name}", *map(str, values)]
    return (NextStep(shlex.join(words), "Find the operator that is to blame, on the sample that lost most."),)


def _two_specs(specs: Sequence[str], labels: Sequence[str], findings: DecisionFindings) -> Sequence[str]:
    """Return the backends to look into: of three sides the two between which most is lost."""
    if findings.host is None:
        return specs
    file, device = findings.parts
    is_file = file.decision.drop >= device.decision.drop
    sides = (findings.host, findings.old) if is_file else (findings.new, findings.host)
    return [specs[labels.index(side.label)] for side in sides]


decide_command = BackendCommand(
    "decide",
    _decide,
    options=(
        "model",
        "data.input_shapes",
        "data.data_loader",
        "data.data_loader_script",
        "data.load_inputs",
        "data.map_input",
        DecideSection,
        "run.sequential_runners",
        "run.use_subprocess",
        "run.timeout",
        "result.report",
        "log",
    ),
    params=common_params(two_models=True),
    help="Say whether the first of two sides is worse than the second at its task, on samples whose labels are known, "
    "and how sure that is."
    + examples(
        "polycmp decide int8.onnx float.onnx -b onnxrt --data pictures --labels labels.csv",
        "polycmp decide model.onnx -b trt -b onnxrt --load-inputs samples.npz --labels labels.csv --max-drop 1",
        "polycmp decide float.onnx -b trt:model=int8.onnx -b onnxrt:model=int8.onnx -b onnxrt --data pictures",
    ),
    epilog="Exit status: 0 not worse, 1 worse, 2 wrong usage, 3 the samples cannot tell, or a side failed.",
)
