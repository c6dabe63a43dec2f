"""`polycmp debug repeat` and `polycmp debug build`."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from polycmp.command import examples
from polycmp.spec import opt
from polycmp_locate.debug.sections import CheckingCommand, CheckSection, ReplaySection, check_option

if TYPE_CHECKING:
    from polycmp.command import Invocation
    from polycmp.model import Model
    from polycmp.plugins import Contribution, Registry

_STATUS = "Exit status: 0 found, or nothing failed; 1 failures and nothing found; 2 wrong usage; 3 could not go on."
_REPEAT = f"""\b
{_STATUS}"""
_BUILD = f"""\b
{_STATUS}"""
ENGINE = "polycmp_debug.engine"


def _until(text: str) -> str:
    from polycmp_locate.debug.repeat import parse_until

    return parse_until(text)


@dataclass(frozen=True)
class UntilSection:
    """Repeating."""

    until: str = opt(
        "", help="When to end: at the first good or bad step, or after so many.", metavar="good|bad|N", parse=_until
    )


def _repeat(call: Invocation) -> int:
    call.begin()
    return _run(call, "debug repeat", call.section(CheckSection).iter_artifact, None)


def _build(call: Invocation) -> int:
    model = call.open_model()
    artifact = call.section(CheckSection).iter_artifact or ENGINE
    writer = _writer(call.registry, artifact)
    call.registry.require(writer)
    return _run(call, "debug build", artifact, lambda: _save(call.registry, model, writer, artifact))


def _save(registry: Registry, model: Model, writer: Contribution, artifact: str) -> None:
    registry.load(writer, writer.spec.save)(model.load(writer.spec.produces or writer.spec.name), artifact)


def _writer(registry: Registry, artifact: str) -> Contribution:
    """Return the loader that writes such a file.

    Raises:
        PluginError: The package that brings it is not installed.
        UsageError: Nothing is known to write such a file.
    """
    from polycmp.errors import PluginError, UsageError
    from polycmp.plugins import explain_suffix

    suffix = Path(artifact).suffix.lower()
    found = [item for item in registry.loaders.values() if item.spec.save and suffix in item.spec.suffixes]
    if found:
        return found[0]
    if hint := explain_suffix(suffix):
        raise PluginError(f"nothing installed builds {artifact}", hint=hint)
    raise UsageError(f"nothing builds {artifact}", hint=f"--iter-artifact FILE.engine; by default {ENGINE}")


def _run(call: Invocation, name: str, artifact: str, prepare: Callable[[], None] | None) -> int:
    from polycmp.errors import UsageError
    from polycmp_locate.debug.check import make_check
    from polycmp_locate.debug.repeat import repeat, result_of
    from polycmp_locate.debug.replay import Replay
    from polycmp_locate.debug.steps import Stepper

    until, section, replays = call.section(UntilSection).until, call.section(CheckSection), call.section(ReplaySection)
    if not until:
        raise UsageError("it is not said when to end", hint="--until good, --until bad, or --until N")
    replay = Replay(replays.load_debug_replay, replays.save_debug_replay)
    stepper = Stepper(make_check(call.params["check"], section, call.registry), section, artifact)
    stepper.start()  # before an engine is built here: a copy of a process that uses CUDA cannot use it
    start = time.perf_counter()
    with call.progress() as on_stage:
        done = repeat(until, stepper, replay, prepare, on_stage)
    return call.present(result_of(done, name, call.given.command, time.perf_counter() - start))


_QUIET = (
    click.Option(["-v", "--verbose"], count=True, help="More messages; may repeat."),
    click.Option(["-q", "--quiet"], count=True, help="Fewer messages; may repeat."),
)

repeat_command = CheckingCommand(
    "repeat",
    _repeat,
    options=("result.report", "log", UntilSection, CheckSection, ReplaySection),
    plugins=(),
    params=[*_QUIET, check_option()],
    help="Run a check again and again, and sort what each run leaves into good and bad."
    + examples(
        "polycmp debug repeat --until 10 --check polycmp run model.onnx -b onnxrt -b onnx",
        "polycmp debug repeat --until bad --artifacts out.npz --check python flaky.py",
    ),
    epilog=_REPEAT,
)

build_command = CheckingCommand(
    "build",
    _build,
    options=(
        "model",
        "data.input_shapes",
        "data.data_loader",
        "data.data_loader_script",
        "data.load_inputs",
        "result.report",
        "log",
        UntilSection,
        CheckSection,
        ReplaySection,
    ),
    plugins=("runner", "loader", "data_loader"),
    params=[click.Argument(["model"], required=False), *_QUIET, check_option()],
    help="Build an engine of MODEL anew for each check, and sort what each build leaves into good and bad."
    + examples(
        "polycmp debug build model.onnx --fp16 --save-tactics replay.json --artifacts replay.json --until 10 \\",
        "    --check polycmp run polycmp_debug.engine --trt --load-outputs golden.json",
    ),
    epilog=_BUILD,
)
