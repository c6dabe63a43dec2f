"""The search over passes from a run to a result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from polycmp.errors import BackendError, UsageError
from polycmp.layerwise import Switches
from polycmp.runs import resolve
from polycmp_bisect.judging import reference_backend, with_backend, words_of
from polycmp_bisect.passes.search import Guilty, PassSearch
from polycmp_bisect.search import EndError, FlakyError, Judgement
from polycmp_bisect.sentences import EQUAL_TO_ITSELF, SHOWN_BY_RUN, WHICH_PASSES, not_the_same_twice
from polycmp_locate.trials.rewriting import Rewrite, rewrites

if TYPE_CHECKING:
    from polycmp.graph import GraphNode, ModelGraph
    from polycmp.plan import Plan
    from polycmp.plugins import Registry
    from polycmp.runs import ResolvedBackend
    from polycmp.spec import Switch
    from polycmp_bisect.judgement_store import JudgementStore
    from polycmp_bisect.judging import Judge

#: Operators that passes replace, from which on naming them all tells nothing.
_SHOWN_REPLACEMENTS = 6


@dataclass(frozen=True)
class PassSearchResult:
    """Result of a search over passes.

    Attributes:
        label: The backend in question.
        looks: Name and judgement of each setting that was tried, the backend as it is first.
        guilty: The setting with which it is right; None if there is none.
        off: In words, what is left out there; empty without one.
        words: The `-b` value that leaves it out; empty if no text says that.
        plan: The run with it left out; None without one.
        replaced: Operators that the passes put in place of the model's, as far as the backend tells.
        together: Operators that the backend does not run together where nothing is left out.
    """

    label: str
    looks: tuple[tuple[str, Judgement], ...]
    guilty: Guilty | None = None
    off: str = ""
    words: str = ""
    plan: Plan | None = None
    replaced: tuple[Rewrite, ...] = ()
    together: tuple[GraphNode, ...] = ()

    @property
    def cannot_run(self) -> bool:
        """Whether the backend with all passes cannot run the model at all."""
        first = self.looks[0][1]
        return first.state == "bad" and first.seconds is None

    @property
    def is_wrong(self) -> bool:
        """Whether the backend with all passes returns wrong results."""
        return self.looks[0][1].state != "good"


def candidate_of(plan: Plan, registry: Registry) -> ResolvedBackend:
    """Return the backend whose passes are searched: the first that can leave some out, and is not the reference.

    Raises:
        UsageError: No backend of the run can.
    """
    resolved = resolve(plan, registry)
    reference = reference_backend(plan)
    items = [item for item in resolved.backends if reference is None or item.label != reference.label]
    for item in items:
        if item.tools.switches:
            return item
    able = sorted(item.name for item, tools in registry.equipped(registry.runners.values()) if tools.switches)
    raise UsageError(
        f"{items[0].label if items else 'the only backend'} has no passes that can be switched off",
        whose="--over passes",
        why=f"backends that have some: {', '.join(able)}",
        hint="polycmp bisect MODEL -b onnxrt -b onnx --over passes",
    )


def search_passes(
    backend: ResolvedBackend, plan: Plan, judge: Judge, store: JudgementStore, tell: Callable[[str], None]
) -> PassSearchResult:
    """Search for the fewest optimisations that a backend has to leave out for its results to be right.

    Args:
        backend: The backend.
        plan: The run.
        judge: Judges a run in which that backend varies.
        store: Keeps judgements on the disk.
        tell: Told what happens next.

    Raises:
        BackendError: The run is not the same twice, or cannot be judged.
    """
    graph = backend.model.graph()
    switches = Switches(backend, graph)

    def look(switch: Switch | None, value: Any, number: int) -> Judgement:
        name = name_of(switches, switch, value)
        changed_backend = backend if switch is None else switches.set_to(switch, value)
        if changed_backend is None:
            return Judgement("skip", "the backend does not take this value")
        changed_plan = with_backend(plan, changed_backend.plan)

        def make() -> Judgement:
            tell(f"judging {backend.label} {name}")
            return judge.judge(changed_plan)

        return store.judged(name, number, judge, make)

    search = PassSearch(look, switches.takes_several)
    tell(f"asking {backend.label} what it changes in the model")
    try:
        guilty = search.find((switch, switches.values(switch)) for switch in switches.switches)
    except FlakyError as error:
        raise BackendError(
            not_the_same_twice(backend.label, words_of(error.once), words_of(error.again)),
            why=WHICH_PASSES,
            hint="more --iterations, another tolerance, or deterministic options of the backend",
        ) from None
    except EndError as error:
        raise BackendError(f"{backend.label} cannot be judged", why=error.judgement.reason, hint=SHOWN_BY_RUN) from None
    looks = tuple((name_of(switches, switch, value), judged) for switch, value, judged in search.looks)
    if guilty is None:
        _check_reference(backend, plan, judge, looks[0][1])
        return PassSearchResult(backend.label, looks)
    tell("looking for the operators that it replaces")
    changed_backend = switches.set_to(guilty.switch, guilty.value)
    return PassSearchResult(
        backend.label,
        looks,
        guilty,
        name_of(switches, guilty.switch, guilty.value),
        switches.words(guilty.switch, guilty.value),
        None if changed_backend is None else with_backend(plan, changed_backend.plan),
        () if graph is None else _replaced(switches, graph, guilty),
    )


def _check_reference(backend: ResolvedBackend, plan: Plan, judge: Judge, first: Judgement) -> None:
    """Check that the reference agrees with itself, before all passes are acquitted.

    Raises:
        BackendError: It does not, so no setting could be right.
    """
    reference = reference_backend(plan)
    if first.state != "bad" or reference is None:
        return
    judgement = judge.judge(with_backend(plan, replace(reference, label=backend.label)))
    if judgement.state == "bad":
        raise BackendError(
            f"{backend.label} cannot be judged, since {reference.label} differs from itself",
            why=judgement.reason,
            hint=EQUAL_TO_ITSELF,
        )


def name_of(switches: Switches, switch: Switch | None, value: Any) -> str:
    """Return the name of a setting: `without A, B`, or `with optimization=basic`."""
    if switch is None:
        return "as it is"
    if switches.takes_several(switch):
        return f"without {', '.join(map(str, value))}"
    return f"with {switch.option}={'none' if value == () else value}"


def _replaced(switches: Switches, graph: ModelGraph, guilty: Guilty) -> tuple[Rewrite, ...]:
    """Return the rewrites that the backend omits with the setting that helps."""
    before, after = switches.rewritten(), switches.rewritten(guilty.switch, guilty.value)
    return () if before is None or after is None else omitted_rewrites(graph, before, after)


def omitted_rewrites(graph: ModelGraph, before: Sequence[GraphNode], after: Sequence[GraphNode]) -> tuple[Rewrite, ...]:
    """Return the rewrites of a model's operators that only the first of two sets of operators has."""
    remaining = rewrites(graph, after)
    return tuple(item for item in rewrites(graph, before) if item not in remaining)


def labels_of(nodes: Sequence[GraphNode]) -> str:
    """Name operators: `Conv 'a', Add 'b' and Relu 'c'`."""
    names = [f"{node.op_type} '{node.name or node.outputs[0]}'" for node in nodes]
    return " and ".join(names) if len(names) < 3 else f"{', '.join(names[:-1])} and {names[-1]}"


def replaced_words(replaced: Sequence[Rewrite]) -> str:
    """Describe the rewrites of a model's operators; empty if none is known."""
    parts = [
        f"{' and '.join(item.by) or 'nothing'} in place of {labels_of(item.replaced)}"
        for item in replaced[:_SHOWN_REPLACEMENTS]
    ]
    more = len(replaced) - _SHOWN_REPLACEMENTS
    return "; ".join([*parts, f"{more} more"] if more > 0 else parts)
