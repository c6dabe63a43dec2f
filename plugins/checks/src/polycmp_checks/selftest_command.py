"""`polycmp selftest`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from polycmp.command import BackendCommand, examples
from polycmp.spec import opt, parse_above_zero
from polycmp_checks.plugin import FAULTS

if TYPE_CHECKING:
    from polycmp.command import Invocation
    from polycmp.plan import Plan

EPILOG = (
    """\b
Faults:
"""
    + "\n".join(f"  {name:10} {what}" for name, what in FAULTS.items())
    + """
Exit status: 0 all faults are seen, 1 one is not, 2 wrong usage, 3 could not be found out."""
)


@dataclass(frozen=True)
class SelftestSection:
    """Self-test."""

    faults: tuple[str, ...] = opt(
        tuple(FAULTS), help="Faults to try; all by default.", choices=tuple(FAULTS), metavar="NAME"
    )
    at: str = opt(
        "",
        help="The operator that goes wrong: its name, or a tensor that it makes; by default one that shows the fault.",
        metavar="NAME",
    )
    timeout: float = opt(
        10.0, help="Seconds after which a hung backend is given up.", metavar="SECONDS", parse=parse_above_zero
    )


def _selftest(call: Invocation) -> int:
    from polycmp_checks.selftest import run_selftest
    from polycmp_checks.selftest_face import result_of

    plan, section = _plan(call), call.section(SelftestSection)
    call.begin(plan)
    found = []
    with call.progress() as on_stage:
        for backend in plan.backends:
            alone = replace(plan, backends=(backend,))
            found.append(run_selftest(alone, call.registry, section.faults, section.at, on_stage))
    return call.present(result_of(found, call.options.command))


def _plan(call: Invocation) -> Plan:
    from polycmp.errors import UsageError
    from polycmp.plan import Choice
    from polycmp_checks.selftest import BUILT_IN_MODEL
    from polycmp_checks.stress.options import COMPARE_DEFAULTS, StressOptions

    call.needs_backends("polycmp selftest -b BACKEND")
    simple = {**COMPARE_DEFAULTS["simple"], **call.options.of("compare_func", "simple")}
    simple.pop("scale_atol")  # nothing large is fed here
    options = call.options.replaced("compare_func", "simple", simple)
    plan = call.plan(model=str(BUILT_IN_MODEL), options=options)
    if any(backend.elsewhere for backend in plan.backends):
        raise UsageError("a self-test takes backends of this environment only", hint="leave python=… out")
    if not call.was_given("data_loader") and not call.was_given("core", "data"):
        loader = Choice("stress", StressOptions(kinds=("signed", "boundary"), seeds=(1,), sizes=(3,)))
        plan = replace(plan, data=replace(plan.data, loader=loader))
    compare = replace(plan.compare, reference="", detail=False)
    return replace(plan, compare=compare, timeout=call.section(SelftestSection).timeout)


selftest_command = BackendCommand(
    "selftest",
    _selftest,
    options=("model", "data", SelftestSection, "compare", "result.report", "log"),
    help="Prove that a comparison can fail: wrap backends in known faults, and check that each is detected. Without "
    "MODEL, a small built-in one is used."
    + examples(
        "polycmp selftest -b onnxrt",
        "polycmp selftest model.onnx -b onnxrt --atol 1e-2 --faults fp16 row-noise",
    ),
    epilog=EPILOG,
)
