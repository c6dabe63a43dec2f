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
Exit status: 0 all faults noticed, 1 at least one missed, 2 wrong usage, 3 could not tell."""
)


@dataclass(frozen=True)
class SelftestSection:
    """Self-test."""

    faults: tuple[str, ...] = opt(
        tuple(FAULTS), help="Faults to try; all by default.", choices=tuple(FAULTS), metavar="NAME"
    )
    at: str = opt(
        "",
        help="Operator to break, by its name or by a tensor that it computes; by default one where the fault shows.",
        metavar="NAME",
    )
    timeout: float = opt(
        10.0, help="Seconds to wait for a backend that hangs.", metavar="SECONDS", parse=parse_above_zero
    )


def _selftest(call: Invocation) -> int:
    from polycmp_checks.selftest import run_selftest
    from polycmp_checks.selftest_face import result_of

    plan, section = _plan(call), call.section(SelftestSection)
    call.begin(plan)
    selftests = []
    with call.progress() as on_stage:
        for backend in plan.backends:
            alone = replace(plan, backends=(backend,))
            selftests.append(run_selftest(alone, call.registry, section.faults, section.at, on_stage))
    return call.present(result_of(selftests, call.options.command))


def _plan(call: Invocation) -> Plan:
    from polycmp.errors import UsageError
    from polycmp.plan import Choice
    from polycmp_checks.selftest import BUILT_IN_MODEL
    from polycmp_checks.stress.options import COMPARE_DEFAULTS, StressOptions

    call.needs_backends("polycmp selftest -b BACKEND")
    simple = {**COMPARE_DEFAULTS["simple"], **call.options.of("compare_func", "simple")}
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
    help="Prove that a comparison can fail: inject known faults into backends, and check that each one is noticed. "
    "Without MODEL, a small built-in one is used."
    + examples(
        "polycmp selftest -b onnxrt",
        "polycmp selftest model.onnx -b onnxrt --atol 1e-2 --faults fp16 row-noise",
    ),
    epilog=EPILOG,
)
