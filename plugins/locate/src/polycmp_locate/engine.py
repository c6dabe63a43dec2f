"""The search from a plan to what it found."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations, islice
from typing import TYPE_CHECKING, Any

from polycmp.compare.pair import PairComparer
from polycmp.errors import ModelError, UsageError, did_you_mean
from polycmp.graph import ModelGraph, final_outputs, same_structure
from polycmp.layerwise.observable import a_few
from polycmp.layerwise.open import open_partitioned_runs, open_precise_run
from polycmp.layerwise.partitioned_run import Lane
from polycmp.layerwise.windows import Windows
from polycmp.plan import Plan
from polycmp.precision import UNITS, granted
from polycmp.runs.compare_functions import make_functions
from polycmp.runs.loop import open_feeds
from polycmp.runs.resolve import resolve
from polycmp.tensors import Feed, Source
from polycmp_locate.bisect import bisect
from polycmp_locate.failing import find_failing
from polycmp_locate.measure import AFFORDABLE, NodeProbe
from polycmp_locate.noise import Noise
from polycmp_locate.probe import around, check_probe, find_cure, moved_text
from polycmp_locate.result import (
    BENIGN,
    EQUAL,
    FAILS,
    ILL_CONDITIONED,
    PROBE_CURES,
    WITHIN_ROUNDING,
    WORSE,
    WRONG,
    Located,
    Row,
)
from polycmp_locate.search import Sweeper, worth_running
from polycmp_locate.words import believed, births, classify, explanation, sentence

if TYPE_CHECKING:
    from polycmp.plugins import Registry

Tensors = Mapping[str, Any]
Stage = Callable[[str], None]


@dataclass(frozen=True)
class LocateOptions:
    """How to search.

    Attributes:
        bisect: Whether to look at few tensors instead of all.
        float64: Whether to use a backend that calculates in float64, where that is affordable.
    """

    bisect: bool = False
    float64: bool = True


@dataclass
class Setting:
    """Who is searched, and with what.

    Attributes:
        candidate: The backend to judge.
        reference: The backend to believe.
        precise: A backend that calculates in float64, or None.
        functions: What judges a tensor.
        max_memory: Bytes for tensors.
    """

    candidate: Lane
    reference: Lane
    precise: Lane | None
    functions: Mapping[str, Callable[..., Any]]
    max_memory: int = 0


def locate(
    plan: Plan, registry: Registry, options: LocateOptions | None = None, on_stage: Stage = lambda _: None
) -> Located:
    """Search for the first tensor that goes wrong.

    Args:
        plan: Model, backends, inputs and tolerances.
        registry: The plugins.
        options: How to search.
        on_stage: Told in words what happens next.

    Raises:
        UsageError: There are not two backends, or one of them does not let the core look inside.
        ModelError: The backends' models have different operators.
        PolycmpError: Anything else that keeps the search from starting.
    """
    start = time.perf_counter()
    options = options or LocateOptions()
    resolved = resolve(plan, registry)
    lanes, source = open_partitioned_runs(resolved), resolved.source
    reference = _reference(lanes, plan.compare.reference)
    candidates = [lane for lane in lanes if lane is not reference]
    precise = open_precise_run(resolved, reference.graph) if options.float64 else None
    functions = make_functions(plan.compare, registry)
    found: Located | None = None
    for candidate in candidates:
        _check_structure(candidate, reference)
        setting = Setting(candidate, reference, precise, functions, plan.max_memory)
        for index, feed in enumerate(open_feeds(source, reference.graph.inputs)):
            one = search(setting, feed, options, on_stage)
            one.feed = index
            found = one if found is None or (found.exit_code == 0 and one.exit_code) else found
            if one.exit_code:
                break
        if found is not None and found.exit_code:
            break
    if found is None:
        raise UsageError("the data loader gave no inputs")
    if len(lanes) > 2:
        _vote(found, lanes, functions, source)
    found.notes += [f"inputs: {note}" for note in source.notes]
    found.backends = [lane.result for lane in lanes]
    found.command = plan.command
    found.seconds = time.perf_counter() - start
    return found


def search(setting: Setting, feed: Feed, options: LocateOptions, on_stage: Stage) -> Located:
    """Search with one feed."""
    candidate, reference = setting.candidate, setting.reference
    found = Located(candidate.label, reference.label, mode="bisect" if options.bisect else "full")
    found.precision = _coarsest(candidate, reference)
    on_stage("running the whole model without probes")
    final = final_outputs(reference.graph)
    plain, expected = candidate.run_whole(feed, final), reference.run_whole(feed, final)
    if plain is None and expected is not None:
        _blame(found, setting, feed, on_stage)
    if plain is None or expected is None:
        return found
    found.finals = PairComparer(candidate.label, reference.label, setting.functions).add(plain, expected)
    sweeper = _sweeper(setting, feed)
    if options.bisect:
        found.rows, unseen = bisect(sweeper, feed, setting.functions, on_stage)
        found.notes.append("with --bisect nothing tells whether looking inside changes the result")
        if unseen:
            found.notes.append(f"not seen: {a_few(unseen)}; if the error begins there, a later tensor is named")
        _judge(found, Noise(reference, feed, expected))
    else:
        _full(found, setting, sweeper, feed, (plain, expected), on_stage)
    found.sentence = found.sentence or sentence(found)
    found.explain = explanation(found)
    found.notes += filter(None, [births(found), believed(found)])
    found.notes += [f"{lane.label} {note}" for lane in (candidate, reference) for note in lane.result.notes]
    sweeper.windows.close()
    return found


def _blame(found: Located, setting: Setting, feed: Feed, on_stage: Stage) -> None:
    """Find the operator in which the candidate fails."""
    windows = Windows([setting.reference], _all_tensors(setting.reference.graph), setting.max_memory)
    row = find_failing(setting.candidate, windows, feed, on_stage)
    windows.close()
    if row is not None:
        found.first_bad, found.verdict = row, FAILS
        found.rows = [row]
        found.sentence = f"{FAILS}: {found.candidate} cannot run {row.node.label}, not even alone"


def _full(
    found: Located, setting: Setting, sweeper: Sweeper, feed: Feed, outputs: tuple[Tensors, Tensors], on_stage: Stage
) -> None:
    """Look at every tensor, check what looking did to the final outputs, and judge."""
    plain, expected = outputs

    def passes(made: Tensors) -> bool:
        return _agree(setting, made, expected)

    sweep = sweeper.sweep(feed, on_stage)
    found.rows = list(sweep.rows.values())
    probe = check_probe(plain, sweep.finals, expected, passes)
    found.probe = probe if sweep.finals else None  # a candidate that failed part by part shows nothing of itself
    unexplained = any(row.own is None and row.relative > worth_running(row.unit) for row in found.rows)
    if unexplained and not probe.trusted and not probe.probed_passed:
        found.rows = list(sweeper.sweep(feed, on_stage, distrust=True).rows.values())
    noise = Noise(setting.reference, feed, expected)
    _judge(found, noise)
    if probe.plain_passed or not found.rows or found.verdict not in {EQUAL, WITHIN_ROUNDING}:
        return
    if probe.error <= noise.limit(len(found.rows), max(row.unit for row in found.rows)):
        found.verdict = WITHIN_ROUNDING
        if probe.relative:
            probe.sentence = f"{moved_text(probe)}, no more than rounding explains"
    elif probe.relative:
        _cured(found, sweeper, feed, setting.candidate, passes)
    else:  # the candidate's final outputs are the same with probes, so the reference's are not
        _cured(found, sweeper, feed, setting.reference, lambda made: _agree(setting, plain, made))


def _judge(found: Located, noise: Noise) -> None:
    """Find the first bad row, what came before it, and where its error comes from."""
    trusted = found.probe is None or found.probe.trusted or found.probe.probed_passed
    kinds = set()
    rounded: set[str] = set()
    for index, row in enumerate(found.rows):
        verdict = classify(row)
        if verdict in (WORSE, WRONG) and noise.explains(row, index, rounded):
            rounded.add(row.tensor)
            verdict = WITHIN_ROUNDING
        kinds.add(verdict)
        bad = verdict not in BENIGN or (verdict == ILL_CONDITIONED and not row.passed)
        if bad and not trusted and row.own is not None and row.own.passed:
            continue
        if bad:
            found.first_bad, found.verdict = row, verdict
            found.last_good = _last_good(found.rows[:index], row)
            found.origin = _origin(found.rows[:index], row)
            return
    found.verdict = next((kind for kind in (ILL_CONDITIONED, WITHIN_ROUNDING) if kind in kinds), EQUAL)


def _last_good(before: list[Row], bad: Row) -> Row | None:
    """Return the last good tensor among what the bad one's operator reads, else the last one before it."""
    read = [row for row in before if row.tensor in bad.node.inputs]
    known = read or before
    return known[-1] if known else None


def _origin(before: list[Row], bad: Row) -> Row | None:
    """Return the earlier tensor whose operator does most wrong by itself, if the bad one's does little."""
    if bad.own is None or not bad.own.passed or bad.own.relative * 16 > bad.relative:
        return bad
    suspects = [
        row for row in before
        if row.own is not None and row.own.relative > 16 * max(row.own.floor or 0.0, granted(row.unit))
    ]  # fmt: skip
    return max(suspects, key=lambda row: row.own.relative if row.own else 0.0, default=bad)


def _agree(setting: Setting, made: Tensors, expected: Tensors) -> bool:
    comparer = PairComparer(setting.candidate.label, setting.reference.label, setting.functions)
    return all(item.passed for item in comparer.add(made, expected))


def _cured(found: Located, sweeper: Sweeper, feed: Feed, lane: Lane, passes: Callable[[Tensors], bool]) -> None:
    """Find out which probe of a backend makes the fault go away."""
    sweeper.windows.plan(feed)
    groups = [segment.wanted for segment in sweeper.windows.segments]
    kept = find_cure(lane, feed, groups, final_outputs(lane.graph), passes)
    found.verdict = PROBE_CURES
    probe = found.probe
    if probe is None:
        return
    probe.kept = kept
    if not kept:
        probe.sentence += "; no single window of probes cures it, only cutting the model does"
        found.sentence = f"{PROBE_CURES}: the operators are right one by one, and wrong together"
        return
    maker, readers = around(lane.graph, kept[0])
    names = [node.label for node in [maker, *readers] if node is not None]
    found.first_bad = next((row for row in found.rows if readers and row.tensor in readers[0].outputs), None)
    found.last_good = next((row for row in found.rows if row.tensor == kept[0]), None)
    found.sentence = (
        f"{PROBE_CURES}: {lane.label} is right once {kept[0]!r} is an output; that breaks its fusion of "
        f"{' with '.join(names)}, so the fused operator is wrong"
    )


def _vote(found: Located, lanes: list[Lane], functions: Mapping[str, Callable[..., Any]], source: Source) -> None:
    """Name the backend that disagrees with all others while those agree with each other."""
    feed = next(islice(open_feeds(source, lanes[-1].graph.inputs), found.feed, None), None)
    final = final_outputs(lanes[-1].graph)
    made = {lane.label: lane.run_whole(feed, final) for lane in lanes} if feed is not None else {}
    well = {label: outputs for label, outputs in made.items() if outputs is not None}

    def agree(one: str, two: str) -> bool:
        return all(item.passed for item in PairComparer(one, two, functions).add(well[one], well[two]))

    disagreeing = {frozenset(pair) for pair in combinations(well, 2) if not agree(*pair)}
    odd = [
        label for label in well
        if {frozenset((label, other)) for other in well if other != label} == disagreeing and len(well) > 2
    ]  # fmt: skip
    if odd:
        found.odd_one_out = odd[0]
        others = " and ".join(label for label in well if label != odd[0])
        found.notes.append(f"the odd one out is {odd[0]}: {others} agree with each other")
    elif disagreeing:
        found.notes.append("no single backend is the odd one out: several pairs disagree")


def _coarsest(*lanes: Lane) -> str:
    """Return who may calculate in a coarser type than the model's, and in which, in words; empty if nobody."""
    lane = max(lanes, key=lambda lane: UNITS.get(lane.result.precision, 0.0))
    return f"{lane.result.precision}, which {lane.label} may calculate in" if lane.result.precision else ""


def _sweeper(setting: Setting, feed: Feed) -> Sweeper:
    graph = setting.reference.graph
    windows = Windows([setting.candidate, setting.reference], _all_tensors(graph), setting.max_memory)
    windows.plan(feed)
    if setting.precise is not None and _elements(windows) <= AFFORDABLE:
        windows.lanes.append(setting.precise)
    probe = NodeProbe(setting.candidate, setting.reference, setting.precise)
    return Sweeper(windows, setting.functions, final_outputs(graph), probe)


def _all_tensors(graph: ModelGraph) -> list[str]:
    return [name for node in graph.nodes for name in node.outputs if name not in graph.opaque]


def _elements(windows: Windows) -> int:
    """Return about how many numbers the model's tensors and weights hold."""
    sizes = windows.layout.sizes if windows.layout is not None else {}
    return (sum(sizes.values()) + sum(windows.graph.weights.values())) // 4


def _reference(lanes: list[Lane], wanted: str) -> Lane:
    if len(lanes) < 2:
        raise UsageError("a search needs two backends", hint="polycmp locate MODEL -b CANDIDATE -b REFERENCE")
    if not wanted:
        return lanes[-1]
    for lane in lanes:
        if wanted in (lane.label, lane.result.backend):
            return lane
    labels = [lane.label for lane in lanes]
    raise UsageError(f"--reference: no run is called {wanted!r}", why=did_you_mean(wanted, labels))


def _check_structure(candidate: Lane, reference: Lane) -> None:
    one, two = candidate.graph, reference.graph
    if same_structure(one, two):
        return
    raise ModelError(
        f"the models of {candidate.label} and {reference.label} have different operators",
        why=_first_difference(one, two),
        hint="compare their common tensors with: polycmp run MODEL … --mark-all",
    )


def _first_difference(one: ModelGraph, two: ModelGraph) -> str:
    for a, b in zip(one.nodes, two.nodes, strict=False):
        if (a.op_type, a.domain, a.inputs, a.outputs) != (b.op_type, b.domain, b.inputs, b.outputs):
            return f"{a.label} in one stands where the other has {b.label}"
    return f"one has {len(one.nodes)} operators, the other {len(two.nodes)}"
