"""Proving that a comparison can go red: known faults, injected on purpose, have to be seen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from polycmp.errors import EXIT_DIFFERENT, EXIT_FAILED, EXIT_OK, PolycmpError, describe_exception
from polycmp.graph import GraphNode, ModelGraph
from polycmp.layerwise import static_tensors
from polycmp.model import Model, ModelSettings
from polycmp.plan import BackendPlan, Plan, option_texts
from polycmp.results import Outcome
from polycmp.session import run_plan
from polycmp.tensors import TensorMetadata, dtype_class
from polycmp_checks.faults import ON_INPUT, ON_OUTPUTS, concerns
from polycmp_checks.faulty import NO_EFFECT, find_node
from polycmp_checks.plugin import FATAL, FAULTS, FaultyOptions

if TYPE_CHECKING:
    from polycmp.plugins import Registry

#: A small model that every fault can show in, in protobuf's text format.
BUILT_IN_MODEL = Path(__file__).with_name("selftest.textproto")
#: Operators that do most of the arithmetic: where faults are likely, and where one is tried first.
HEAVY = frozenset({"Conv", "ConvTranspose", "Gemm", "MatMul", "LSTM", "GRU", "RNN", "Attention", "Einsum"})
#: Operators that make NaN of finite numbers.
NAN_MAKERS = frozenset({"Sqrt", "Log", "Pow", "Div", "Acos", "Asin", "Acosh", "Atanh", "Mod"})
#: Operators tried for a fault before it counts as one that these inputs do not show.
TRIES = 4

Status = Literal["seen", "unseen", "undecided", "skipped", "error"]


@dataclass(frozen=True)
class FaultTrial:
    """One fault in one backend.

    Attributes:
        fault: The fault.
        status: `seen`, `unseen` (the comparison passed although results were changed), `undecided` (it could not tell
            the fault from rounding), `skipped` (nothing in this model or in these inputs shows it) or `error`.
        at: The operator; empty if there was none to try.
        reason: Description of the finding.
    """

    fault: str
    status: Status
    at: str = ""
    reason: str = ""


@dataclass
class SelfTest:
    """Result of the self-test of one backend.

    Attributes:
        label: The backend in reports.
        agrees: Whether the backend agrees with itself; None if that could not be tried.
        reason: Reason why it does not agree, or could not be tried.
        trials: The faults in the order in which they were tried.
    """

    label: str
    agrees: bool | None = None
    reason: str = ""
    trials: list[FaultTrial] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """The exit status: 0 every fault that was tried is seen, 1 one is not, 3 that could not be found out."""
        statuses = {trial.status for trial in self.trials}
        if self.agrees is None or "error" in statuses:
            return EXIT_FAILED
        if not self.agrees or "unseen" in statuses:
            return EXIT_DIFFERENT
        return EXIT_OK if "seen" in statuses and "undecided" not in statuses else EXIT_FAILED

    def to_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "exit_code": self.exit_code,
            "agrees_with_itself": self.agrees,
            "reason": self.reason,
            "faults": {
                trial.fault: {"status": trial.status, "at": trial.at, "reason": trial.reason} for trial in self.trials
            },
        }


def run_selftest(
    plan: Plan,
    registry: Registry,
    faults: Sequence[str] = tuple(FAULTS),
    at: str = "",
    on_stage: Callable[[str], None] = lambda _: None,
) -> SelfTest:
    """Compare a backend with itself, then with itself under each fault.

    Args:
        plan: Model, inputs, compare functions, and one backend.
        registry: The plugins.
        faults: Keys of `FAULTS`.
        at: The operator where they go wrong, by name or by a tensor it makes; by default one that shows the fault.
        on_stage: Told in words what happens next.

    Raises:
        UsageError: There is no such operator.
        ModelError: The model cannot be read, or not looked into.
        PluginError: There is no such backend.
    """
    # This looks for what a comparison is blind to: fault by fault.
    plan = replace(plan, compare=replace(plan.compare, allow_blind=("*",)))
    [backend] = plan.backends
    result = SelfTest(backend.label)
    graph = _graph(plan, registry)
    chosen = find_node(graph, at) if at else None
    on_stage(f"{backend.label} against itself")
    outcome = run_plan(replace(plan, backends=(replace(backend, label="again"), backend)), registry)
    result.agrees = None if outcome.exit_code == EXIT_FAILED else outcome.exit_code == EXIT_OK
    result.reason = _why(outcome)
    if result.agrees is None:
        return result
    for fault in faults:
        on_stage(f"{backend.label} with the fault {fault}")
        nodes = [chosen] if chosen is not None else list(candidates(graph, fault))[:TRIES]
        result.trials.append(_try(fault, nodes, plan, registry))
    return result


def _graph(plan: Plan, registry: Registry) -> ModelGraph:
    settings = ModelSettings(plan.loader_options, plan.data.input_shapes, None, plan.model_kind)
    return Model(plan.backends[0].model or plan.model, registry, settings).shown_graph()


def candidates(graph: ModelGraph, fault: str) -> Iterator[GraphNode]:
    """Yield operators that a fault may show at, the likeliest first: heavy ones near the middle, then from the end."""
    static, types = static_tensors(graph), graph.types(graph.inputs)
    nodes = [
        node
        for node in graph.nodes
        if any(name not in static for name in node.inputs) and _suits(fault, node, types, static)
    ]
    heavy = [node for node in nodes if node.op_type in HEAVY]
    middle = len(heavy) // 2
    order = sorted(range(len(heavy)), key=lambda index: abs(index - middle))
    yield from (heavy[index] for index in order[: TRIES // 2])
    yield from (node for node in reversed(nodes) if node not in heavy)


def _suits(fault: str, node: GraphNode, types: TensorMetadata, static: set[str]) -> bool:
    if not concerns(fault, node.op_type):
        return False
    if fault == "nan":
        return node.op_type in NAN_MAKERS
    if fault in FATAL:
        return True
    _, kinds = {**ON_OUTPUTS, **ON_INPUT}[fault]
    read = next(name for name in node.inputs if name not in static)
    entry = types.get(read if fault in ON_INPUT else node.outputs[0])
    return entry is None or entry.dtype is None or dtype_class(entry.dtype) in kinds


def _try(fault: str, nodes: Sequence[GraphNode], plan: Plan, registry: Registry) -> FaultTrial:
    trial = FaultTrial(fault, "skipped", "", "the model has no operator that it concerns")
    for node in nodes:
        try:
            trial = _judge(fault, node, run_plan(_with_fault(plan, fault, node), registry))
        except PolycmpError as error:
            trial = FaultTrial(fault, "error", node.label, describe_exception(error))
        if trial.status != "skipped":
            return trial
    return trial


def _with_fault(plan: Plan, fault: str, node: GraphNode) -> Plan:
    [backend] = plan.backends
    options = FaultyOptions(backend.backend, fault, node.outputs[0], option_texts(backend.options))
    faulty = BackendPlan(f"{backend.label} with {fault}", "faulty", options, backend.model)
    return replace(plan, backends=(faulty, backend), subprocess=plan.subprocess or fault in FATAL)


def _judge(fault: str, node: GraphNode, outcome: Outcome) -> FaultTrial:
    faulty, plain = outcome.backends
    if plain.error:
        return FaultTrial(fault, "error", node.label, f"the backend itself failed: {plain.error}")
    if fault in FATAL:
        reason = faulty.error or "it ran to its end"
        return FaultTrial(fault, "seen" if faulty.died else "error" if faulty.error else "unseen", node.label, reason)
    if faulty.error:
        return FaultTrial(fault, "error", node.label, faulty.error)
    effect = next(iter(faulty.notes), NO_EFFECT)
    if outcome.exit_code == EXIT_DIFFERENT:
        return FaultTrial(fault, "seen", node.label, _why(outcome))
    if effect.startswith(NO_EFFECT):
        return FaultTrial(fault, "skipped", node.label, "these inputs do not show it: it changes no number")
    if outcome.verdict == "undecided":
        return FaultTrial(fault, "undecided", node.label, _why(outcome))
    return FaultTrial(fault, "unseen", node.label, f"{effect}, and the comparison passed")


def _why(outcome: Outcome) -> str:
    for backend in outcome.failed_backends:
        return f"{backend.label}: {backend.error}"
    for pair in outcome.comparisons:
        for item in pair.outputs.values():
            if not item.passed:
                return f"output {item.output!r}: {item.reason}"
        if pair.reason:
            return pair.reason
    return ""
