"""`polycmp generate`."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from polycmp.command import BackendCommand, common_params, examples
from polycmp_generate.options import GenerateSection

if TYPE_CHECKING:
    from polycmp.command import Invocation
    from polycmp.report import NextStep
    from polycmp_generate.generation import GenerationFindings

#: The data loader that goes on from outputs, and how many steps it takes where nobody says (choice): a sentence or two.
_STEPS, _LENGTH = "steps", 32


def _generate(call: Invocation) -> int:
    from polycmp.errors import PluginError, UsageError, describe_exception

    try:
        import scipy  # noqa: F401 - what is said of a package that is missing is said before anything runs
    except ImportError as error:
        raise PluginError(
            "needs SciPy", whose="generate", why=describe_exception(error), hint="pip install scipy"
        ) from error
    from polycmp.results.files import InputsWriter
    from polycmp_generate.face import result_of
    from polycmp_generate.generation import find
    from polycmp_generate.prompts import open_text, read_prompts

    call.needs_backends("polycmp generate NEW OLD -b BACKEND --prompts prompts.txt --tokenizer DIR")
    section, typed_steps = call.section(GenerateSection), call.options.of("data_loader", _STEPS)
    steps = {"number": _LENGTH, **typed_steps}
    if steps["number"] < 1:
        raise UsageError("how many tokens?", why="--steps 0 writes none", hint=f"--steps {_LENGTH}")
    plan = call.plan(options=call.options.replaced("data_loader", _STEPS, steps))
    call.begin(plan)
    text = open_text(section.tokenizer)
    prompts = read_prompts(section.prompts, text)
    with call.progress() as on_stage:
        findings = find(plan, call.registry, section, prompts, steps["number"], text.ends, on_stage)
    if section.save_worst and findings.worst_inputs:
        with InputsWriter(section.save_worst, call.registry) as writer:
            writer.add(findings.worst_inputs)
    return call.present(result_of(findings, text, call.options.command, _next(call, findings, section.save_worst)))


def _next(call: Invocation, findings: GenerationFindings, saved: str) -> tuple[NextStep, ...]:
    """Return the command that looks for the operator, from the inputs that were saved; none where there is none."""
    from polycmp.report import NextStep

    decision = findings.decision
    if not saved or decision is None or decision.word != "worse" or "locate" not in call.registry.commands:
        return ()
    models = filter(None, (call.params["model"], call.params["reference_model"]))
    words = ["polycmp", "locate", *models, *(word for spec in call.params["backend"] for word in ("-b", spec))]
    words += ["--load-inputs", saved]
    words += ["--steps", str(findings.worst_steps)] if findings.worst_steps else []
    for owner, field in (("steps", "state"), ("steps", "feed")):
        typed = call.options.of("data_loader", owner).get(field, ())
        words += [f"--{field}", *typed] if typed else []
    shapes = call.options.of("core", "data").get("input_shapes", ())
    words += ["--input-shapes", *shapes] if shapes else []
    return (NextStep(shlex.join(words), "Find the operator that is to blame, on the worst prompt."),)


generate_command = BackendCommand(
    "generate",
    _generate,
    options=(
        "model",
        "data.input_shapes",
        GenerateSection,
        "run.use_subprocess",
        "run.timeout",
        "result.report",
        "log",
    ),
    params=common_params(two_models=True),
    help="Have two sides write on from the same prompts, each the likeliest token at each place, and say whether the "
    "first is worse than the second: how far its probabilities are apart where it reads the second one's text."
    + examples(
        "polycmp generate int4.onnx float.onnx -b onnxrt --prompts prompts.txt --tokenizer model/ --steps 64",
        "polycmp generate model.onnx -b trt -b onnxrt --prompts tokens.txt",
    ),
    epilog="Exit status: 0 not worse, 1 worse, 2 wrong usage, 3 the prompts cannot tell, or a side failed.",
)
