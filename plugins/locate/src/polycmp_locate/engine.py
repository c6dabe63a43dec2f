"""The search from a plan to what it found."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

from polycmp.compare import PairComparer
from polycmp.data import InputPairs, merge_inputs, renamed
from polycmp.errors import EXIT_DIFFERENT, EXIT_FAILED, EXIT_OK, ModelError, UsageError, did_you_mean
from polycmp.graph import GraphNode
from polycmp.layerwise import (
    PartitionedRun,
    Windows,
    a_few,
    final_outputs,
    moved_runs,
    open_partitioned_runs,
    open_precise_run,
    same_structure,
    tensors_behind,
)
from polycmp.plan import Plan
from polycmp.precision import UNITS
from polycmp.runs import Resolved, make_functions, resolve
from polycmp.spec import Compared
from polycmp.tensors import Feed, TensorMetadata
from polycmp_locate.bisect import bisect, judge_bisected
from polycmp_locate.drawing import draw
from polycmp_locate.failing import find_failing, frozen_sizes
from polycmp_locate.full_search import FullSearch
from polycmp_locate.measure import AFFORDABLE, OperatorTester
from polycmp_locate.pairing.given import given_pairs, names_others
from polycmp_locate.pairing.inputs import input_pairs, listed, own_names, with_inputs
from polycmp_locate.pairing.view import align, under_names
from polycmp_locate.recorded import Record, open_record
from polycmp_locate.report.hints import hints_of
from polycmp_locate.report.words import explanation, frozen, notes_of, sentence
from polycmp_locate.result import FAILS, Located
from polycmp_locate.rollout import Chooser, Chosen
from polycmp_locate.search import Sweeper
from polycmp_locate.setting import LocateOptions, Look, Setting, Stage, Tensors, all_tensors
from polycmp_locate.stepping import SteppingRun, describe_unjudged, step_over
from polycmp_locate.together import blame_together

if TYPE_CHECKING:
    from polycmp.plugins import Registry

__all__ = ["LocateOptions", "Setting", "locate", "search"]

#: Operators of a model up to which a sentence about it as a whole still helps: it can name each.
NAMEABLE = 8


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
        ModelError: The backends' models have no inputs or outputs in common.
        PolycmpError: Anything else that keeps the search from starting.
    """
    start = time.perf_counter()
    resolved = resolve(plan, registry)
    lookers = resolved.reports.lookers()
    options = replace(options or LocateOptions(), look=_all_of(lookers))
    partitioned_runs = open_partitioned_runs(resolved, SteppingRun)
    if plan.files.load_outputs:
        found = _against_record(plan, registry, resolved, partitioned_runs, options, on_stage)
    else:
        found = _against_backend(plan, registry, resolved, partitioned_runs, options, on_stage)
    found.looks = {name: looker.looks for name, looker in lookers.items()}
    found.command = plan.command
    found.seconds = time.perf_counter() - start
    return found


def _all_of(lookers: Mapping[str, Look]) -> Look | None:
    """Return what lets all look; None if there is nobody."""

    def look(pair: Compared) -> None:
        for looker in lookers.values():
            looker(pair)

    return look if lookers else None


def _against_backend(
    plan: Plan,
    registry: Registry,
    resolved: Resolved,
    partitioned_runs: list[PartitionedRun],
    options: LocateOptions,
    on_stage: Stage,
) -> Located:
    reference = _reference(partitioned_runs, plan.compare.reference)
    candidates = [partitioned_run for partitioned_run in partitioned_runs if partitioned_run is not reference]
    precise = open_precise_run(resolved, reference.graph) if options.float64 else None
    moved = moved_runs(resolved, reference)
    functions = make_functions(plan.compare, registry)
    chooser = Chooser(plan, resolved, functions, on_stage)
    found: Located | None = None
    for candidate in candidates:
        setting: Setting | None = None
        pairs = input_pairs(candidate, reference, plan.data.map_input, plan.command)
        inputs = merge_inputs([reference.graph.inputs, renamed(candidate.graph.inputs, pairs.names)])
        for chosen in chooser.feeds(candidate.label, reference.label, inputs):
            if setting is None:
                setting = Setting(candidate, reference, precise, functions, plan.max_memory, moved=moved)
                setting = make_setting(setting, chosen.feed, pairs, plan.compare.map_output)
            one = _search_with_draws(
                replace(setting, functions=chooser.functions(chosen)), chosen.feed, options, on_stage
            )
            chosen.tell(one)
            found = _of_more_weight(found, one)
            if one.exit_code == EXIT_DIFFERENT:
                break
        if found is not None and found.exit_code == EXIT_DIFFERENT:
            break
    if found is None:
        raise UsageError("the data loader gave no inputs")
    if len(partitioned_runs) > 2:
        _vote(found, partitioned_runs, functions)
    found.notes += [f"inputs: {note}" for note in chooser.notes]
    found.notes += dict.fromkeys(note for run in partitioned_runs for note in left_out_notes(run))
    found.backends = [partitioned_run.result for partitioned_run in partitioned_runs]
    return found


def _against_record(
    plan: Plan,
    registry: Registry,
    resolved: Resolved,
    partitioned_runs: list[PartitionedRun],
    options: LocateOptions,
    on_stage: Stage,
) -> Located:
    """Search with a saved run as the reference."""
    record = Record(*open_record(plan, [partitioned_run.label for partitioned_run in partitioned_runs]), plan, resolved)
    functions = make_functions(plan.compare, registry)
    chooser = Chooser(plan, resolved, functions, on_stage)
    found: Located | None = None
    for candidate in partitioned_runs:
        for chosen, tensors in _recorded_feeds(record, chooser, candidate):
            setting = record.setting(candidate, chosen.feed, tensors, chooser.functions(chosen))
            one = search(setting, chosen.feed, replace(options, float64=False), on_stage)
            chosen.tell(one)
            found = _of_more_weight(found, one)
            if one.exit_code == EXIT_DIFFERENT:
                break
    if found is None:
        raise UsageError("there are no inputs for the saved run", hint="give them with --load-inputs FILE")
    found.notes += record.notes
    found.notes += [f"inputs: {note}" for note in chooser.notes]
    found.backends = [*(partitioned_run.result for partitioned_run in partitioned_runs), record.result]
    return found


def _recorded_feeds(
    record: Record, chooser: Chooser, candidate: PartitionedRun
) -> Iterator[tuple[Chosen, Mapping[str, Any]]]:
    """Yield what to search with, and what was recorded with it."""
    inputs = candidate.graph.inputs
    if chooser.takes_steps:
        yield from chooser.recorded(candidate.label, record.result.label, record.steps(inputs), inputs)
        return
    for index, (feed, tensors) in enumerate(record.iterations(inputs)):
        yield Chosen(feed, index), tensors


def _of_more_weight(found: Located | None, one: Located) -> Located:
    """Return the first of two findings, unless the second one is a fault, or leaves more open."""
    order = (EXIT_OK, EXIT_FAILED, EXIT_DIFFERENT)
    return one if found is None or order.index(one.exit_code) > order.index(found.exit_code) else found


def _search_with_draws(setting: Setting, feed: Feed, options: LocateOptions, on_stage: Stage) -> Located:
    """Search with one feed; both sides are given the same random numbers where the model draws some."""
    drawn = draw(setting, feed)
    if drawn is None:
        return search(setting, feed, options, on_stage)
    if drawn.setting.reference.graph.outputs:
        found = search(drawn.setting, drawn.feed, options, on_stage)
    else:
        found = Located(setting.candidate.label, setting.reference.label)
    drawn.describe(found)
    return found


def search(setting: Setting, feed: Feed, options: LocateOptions, on_stage: Stage) -> Located:
    """Search with one feed."""
    candidate, reference = setting.candidate, setting.reference
    found = Located(candidate.label, reference.label, mode="bisect" if options.bisect else "full")
    found.precision = _coarsest(candidate, reference)
    found.pairing = setting.pairing
    on_stage("running the whole model without probes")
    final = final_outputs(reference.graph)
    (plain, again), (expected, expected_again) = _plainly(candidate, feed, final), _plainly(reference, feed, final)
    if plain is not None and expected is None and step_over(setting, feed, on_stage):
        expected = reference.run_whole(feed, final)
    if plain is None and expected is not None:
        _blame(found, setting, feed, on_stage)
    if plain is None or expected is None:
        return found
    found.finals = PairComparer(candidate.label, reference.label, setting.functions).add(plain, expected)
    sweeper = _sweeper(setting, feed, options.look)
    if options.bisect:
        found.rows, unseen = bisect(sweeper, feed, setting.functions, on_stage)
        found.notes.append("with --bisect nothing tells whether looking inside changes the result")
        if unseen:
            found.notes.append(f"not seen: {a_few(unseen)}; if the error begins there, a later tensor is named")
        judgement = judge_bisected(found, setting)
    else:
        judgement = FullSearch(
            found, setting, sweeper, feed, (plain, expected), on_stage, (again, expected_again)
        ).run()
    found.sentence = found.sentence or sentence(found)
    describe_unjudged(found, reference)
    found.explain = explanation(found)
    found.notes += [*notes_of(found, judgement), *hints_of(found, setting, feed)]
    sweeper.windows.close()
    found.notes += [
        f"{partitioned_run.label} {note}"
        for partitioned_run in (candidate, reference)
        for note in partitioned_run.result.notes
    ]
    return found


def _plainly(run: PartitionedRun, feed: Feed, outputs: Sequence[str]) -> tuple[Tensors | None, Tensors | None]:
    """Return a backend's outputs without probes, and of a second run where that would take another build later."""
    made = run.run_repeatedly(feed, outputs, 2 if run.compiles else 1)
    return (made[0] if made else None, made[1] if len(made) > 1 else None)


def _blame(found: Located, setting: Setting, feed: Feed, on_stage: Stage) -> None:
    """Find the operator in which the candidate fails."""
    windows = Windows([setting.reference], all_tensors(setting.reference.graph), setting.max_memory)
    row = find_failing(setting.candidate, windows, feed, on_stage)
    windows.close()
    if row is None:
        blame_together(found, setting, feed, on_stage)
    else:
        found.first_bad, found.verdict = row, FAILS
        found.rows = [row]
        error = " ".join((setting.candidate.result.error or "").split())
        why = f", and says: {error}" if row.node.name and row.node.name in error else ""
        why += frozen(row.node, found.candidate, found.reference) or frozen_sizes(row, setting.candidate.graph)
        what = f"with {row.node.label} alone, it {row.reason}" if row.reason else f"{row.node.label}, not even alone"
        found.sentence = f"{FAILS}: {found.candidate} cannot run {'the model; ' if row.reason else ''}{what}{why}"


def _vote(found: Located, partitioned_runs: list[PartitionedRun], functions: Mapping[str, Callable[..., Any]]) -> None:
    """Name the backend that disagrees with all others while those agree with each other."""
    final = final_outputs(partitioned_runs[-1].graph)
    made = {
        partitioned_run.label: partitioned_run.run_whole(found.inputs, final) for partitioned_run in partitioned_runs
    }
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


def _coarsest(*partitioned_runs: PartitionedRun) -> str:
    """Return who may calculate in a coarser type than float32, and in which, in words; empty if nobody."""
    partitioned_run = max(
        partitioned_runs, key=lambda partitioned_run: UNITS.get(partitioned_run.result.precision, 0.0)
    )
    coarse = UNITS.get(partitioned_run.result.precision, 0.0) > UNITS["float32"]
    return f"{partitioned_run.result.precision}, which {partitioned_run.label} may calculate in" if coarse else ""


def _sweeper(setting: Setting, feed: Feed, look: Look | None) -> Sweeper:
    graph = setting.reference.graph
    windows = Windows([setting.candidate, setting.reference], all_tensors(graph), setting.max_memory)
    windows.plan(feed)
    if setting.precise is not None and _elements(windows) <= AFFORDABLE:
        windows.partitioned_runs.append(setting.precise)
    tester = OperatorTester(setting.candidate, setting.reference, setting.precise)
    return Sweeper(windows, setting.functions, final_outputs(graph), tester, look)


def _elements(windows: Windows) -> int:
    """Return about how many numbers the model's tensors and weights hold."""
    sizes = windows.layout.sizes if windows.layout is not None else {}
    return (sum(sizes.values()) + sum(windows.graph.weights.values())) // 4


def _reference(partitioned_runs: list[PartitionedRun], wanted: str) -> PartitionedRun:
    if len(partitioned_runs) < 2:
        raise UsageError("a search needs two backends", hint="polycmp locate MODEL -b CANDIDATE -b REFERENCE")
    if not wanted:
        return partitioned_runs[-1]
    for partitioned_run in partitioned_runs:
        if wanted in (partitioned_run.label, partitioned_run.result.backend):
            return partitioned_run
    labels = [partitioned_run.label for partitioned_run in partitioned_runs]
    raise UsageError(f"--reference: no run is called {wanted!r}", why=did_you_mean(wanted, labels))


def _see_single_makers(partitioned_run: PartitionedRun) -> None:
    """See that no tensor of a model is made twice, in which case there is no order in which it could run.

    Raises:
        ModelError: One is.
    """
    makers: dict[str, GraphNode] = {}
    for node in partitioned_run.graph.nodes:
        for name in node.outputs:
            first = makers.setdefault(name, node)
            if first is not node:
                raise ModelError(
                    f"the model of {partitioned_run.label} cannot run: two operators make {name!r}",
                    why=f"{first.label} and {node.label}",
                    hint=f"see all such names: polycmp check lint {partitioned_run.result.model or 'MODEL'}",
                )


def _take_the_same(one: TensorMetadata, two: TensorMetadata) -> bool:
    """Return whether no input of both models has a shape in one that the other refuses."""
    for name in one.keys() & two.keys():
        a, b = one[name].shape, two[name].shape
        if a is None or b is None:
            continue
        fixed = [pair for pair in zip(a, b, strict=False) if all(isinstance(size, int) for size in pair)]
        if len(a) != len(b) or any(x != y for x, y in fixed):
            return False
    return True


def left_out_notes(partitioned_run: PartitionedRun) -> Iterator[str]:
    """Yield which outputs of a model are no tensors, and what is compared in their place."""
    graph = partitioned_run.graph
    for name in graph.outputs:
        if name in graph.opaque:
            behind = listed(tensors_behind(graph, name))
            what = f"output {name!r} of {partitioned_run.label}"
            yield f"{what} is no tensor and is left out; what it is made of: {behind}"


def make_setting(setting: Setting, feed: Feed, pairs: InputPairs, given: Mapping[str, str] | None = None) -> Setting:
    """Return a setting in which both backends have the same graph: where they do not, their tensors are paired.

    Args:
        setting: The backends with their own models.
        feed: The first inputs.
        pairs: Which inputs of the two models are the same.
        given: Names in the candidate's model -> names in the reference's, of tensors that the user paired.

    Raises:
        UsageError: A tensor that the user paired is not there.
        ModelError: The models have no outputs in common.
    """
    candidate, reference, given = setting.candidate, setting.reference, given or {}
    if same_structure(candidate.graph, reference.graph) and not names_others(given, candidate.graph):
        return setting
    given = given_pairs(candidate, reference, given)
    for partitioned_run in (candidate, reference):
        _see_single_makers(partitioned_run)
    names = own_names(pairs)
    candidate = with_inputs(candidate, names) if names else candidate
    aligned = align(candidate, reference, TensorMetadata.from_feed_dict(feed), given)
    outputs = aligned.candidate.graph.outputs
    models = f"the models of {candidate.label} and {reference.label}"
    if not outputs:
        why = f"{listed(candidate.graph.outputs)} in one, {listed(reference.graph.outputs)} in the other"
        raise ModelError(f"{models} have no output in common", why=why)
    # Of few operators the sentence about the outputs names all there is.
    few = len(reference.graph.nodes) <= NAMEABLE and _take_the_same(candidate.graph.inputs, reference.graph.inputs)
    if not few and all(match.candidate in outputs for match in aligned.pairing.matches):
        raise ModelError(
            f"{models} have different operators, and no tensor inside one could be paired with one of the other",
            why="neither names nor weights nor the way in which operators follow each other agree",
            hint="compare their outputs with: polycmp run MODEL -b …",
        )
    precise = setting.precise
    if precise is not None:
        precise = under_names(precise, aligned.reference_graph)
    return replace(
        setting,
        candidate=aligned.candidate,
        reference=aligned.reference,
        precise=precise,
        pairing=replace(aligned.pairing, inputs=pairs),
    )
