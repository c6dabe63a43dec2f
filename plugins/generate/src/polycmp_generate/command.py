"""`polycmp generate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polycmp.command import BackendCommand, common_params, examples
from polycmp_generate.options import GenerateSection

if TYPE_CHECKING:
    from polycmp.command import Invocation

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
    from polycmp_generate.engine import find
    from polycmp_generate.face import result_of
    from polycmp_generate.prompts import open_text, read_prompts

    call.needs_backends("polycmp generate NEW OLD -b BACKEND --prompts prompts.txt --tokenizer DIR")
    section, asked = call.section(GenerateSection), call.options.of("data_loader", _STEPS)
    steps = {"number": _LENGTH, **asked}
    if steps["number"] < 1:
        raise UsageError("how many tokens?", why="--steps 0 writes none", hint=f"--steps {_LENGTH}")
    plan = call.plan(options=call.options.replaced("data_loader", _STEPS, steps))
    call.begin(plan)
    text = open_text(section.tokenizer)
    prompts = read_prompts(section.prompts, text)
    with call.progress() as on_stage:
        findings = find(plan, call.registry, section, prompts, steps["number"], text.ends, on_stage)
    return call.present(result_of(findings, text, call.options.command))


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
