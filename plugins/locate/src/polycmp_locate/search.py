"""From a plan to what `locate` finds: four stages, each of which takes the value of the one before it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from polycmp.data import merge_inputs, renamed
from polycmp.errors import EXIT_DIFFERENT, EXIT_FAILED, EXIT_OK, UsageError
from polycmp.layerwise import PartitionedRun, final_outputs, open_partitioned_runs, open_precise_run
from polycmp.plan import Plan
from polycmp.results import Outcome
from polycmp.runs import Observers, Resolved, choose_reference, is_measured, make_functions, resolve
from polycmp.session import invented_numbers
from polycmp.tensors import Feed
from polycmp_locate.causes.failure import ModelFailure
from polycmp_locate.causes.rules import FAILS
from polycmp_locate.judge import judge, look_again
from polycmp_locate.measure.measure import measure
from polycmp_locate.pairing.inputs import input_pairs
from polycmp_locate.pairing.lacking import lacking_outputs
from polycmp_locate.report.report import report
from polycmp_locate.setting import LocateOptions, Setting, Stage, Tensors
from polycmp_locate.setup.drawing import draw
from polycmp_locate.setup.measuring import inner_rounding, rounding_of_outputs
from polycmp_locate.setup.recorded import Record, open_record
from polycmp_locate.setup.rollout import Chooser, Chosen
from polycmp_locate.setup.sides import compare_files, defined_run, left_out_notes, make_setting
from polycmp_locate.sweep.bisect import bisect
from polycmp_locate.sweep.stepping import SteppingRun, step_over
from polycmp_locate.sweep.sweep import open_way, sweep
from polycmp_locate.trials.inside import enter
from polycmp_locate.trials.vote import vote
from polycmp_locate.trials.whole import WholeModel
from polycmp_locate.values.judged import Judged
from polycmp_locate.values.located import Located
from polycmp_locate.whole_outputs import for_tensors, output_judge, refuse_means

if TYPE_CHECKING:
    from polycmp.plugins import Registry

#: Gives the inputs to search with for a candidate, and the backends as they are searched with each.
Cases = Callable[[PartitionedRun], Iterator[tuple[Setting, Chosen]]]

__all__ = ["LocateOptions", "Setting", "locate", "search"]


def search(setting: Setting, feed: Feed, options: LocateOptions, on_stage: Stage) -> Located:
    """Search with one feed: sweep, measure, judge, report.

    Args:
        setting: The backends to search, and the tools for it.
        feed: The inputs.
        options: Options of the search.
        on_stage: Told in words what happens next.
    """
    judged = _judged(setting, feed, options, on_stage)
    located = report(judged, setting)
    located.notes += _inside(located, setting, feed, options, on_stage)
    return located


def _judged(setting: Setting, feed: Feed, options: LocateOptions, on_stage: Stage) -> Judged:
    """Sweep, measure and judge; see `search`."""
    whole = _run_whole(setting, feed, on_stage)
    if isinstance(whole, Judged):
        return replace(whole, is_whole=not options.bisect)
    fails = any(not item.passed and not item.inconclusive for item in whole.finals)
    with open_way(setting, feed, any_layout=bool(whole.finals) and not fails) as way:
        swept = bisect(way, on_stage) if options.bisect else sweep(way, on_stage, options.look)
        measured = measure(swept, setting, on_stage)
        judged = judge(measured, whole)
        if judged.open_until is not None:
            measured = measure(sweep(way, on_stage), setting, on_stage, judged.open_until)
            judged = judge(measured, whole, judged)
        return look_again(judged, whole, sweep(way, on_stage).windows)


def _inside(located: Located, setting: Setting, feed: Feed, options: LocateOptions, on_stage: Stage) -> Iterator[str]:
    """Yield what a search inside the operator that is named finds there, as a note."""
    row = located.judged.first_bad
    entered = enter(located.judged, setting, feed) if located.exit_code == EXIT_DIFFERENT else None
    if row is None or entered is None:
        return
    on_stage(f"inside {row.node.label}")
    inner = search(*entered, replace(options, look=None, float64=False), on_stage)
    if inner.exit_code == EXIT_DIFFERENT:
        yield f"inside {row.node.label}, as it runs first: {inner.sentence}"
        yield from (note for note in inner.notes if note.startswith("inside "))


def _run_whole(setting: Setting, feed: Feed, on_stage: Stage) -> WholeModel | Judged:
    """Run the whole model on both sides without probes; return the verdict where one of them fails."""
    on_stage("running the whole model without probes")
    candidate, reference = setting.candidate, setting.reference
    final = final_outputs(reference.graph)
    (plain, again), (expected, expected_again) = _plainly(candidate, feed, final), _plainly(reference, feed, final)
    if plain is not None and expected is None and step_over(setting, feed, on_stage):
        expected = reference.run_whole(feed, final)
    if expected is None:
        return Judged(cause=ModelFailure(reference.result.error or ""))
    if plain is None and candidate.unavailable:  # no operator of the model is to blame
        return Judged(cause=ModelFailure(candidate.result.error or ""))
    if plain is None:
        return FAILS.ask(setting, feed, on_stage)
    return WholeModel(setting, feed, plain, expected, (again, expected_again), on_stage)


def _plainly(run: PartitionedRun, feed: Feed, outputs: Sequence[str]) -> tuple[Tensors | None, Tensors | None]:
    """Return a backend's outputs without probes, and of a second run where that would take another build later."""
    repeats = run.run_repeatedly(feed, outputs, 2 if run.compiles else 1)
    return (repeats[0] if repeats else None, repeats[1] if len(repeats) > 1 else None)


def locate(
    plan: Plan, registry: Registry, options: LocateOptions | None = None, on_stage: Stage = lambda _: None
) -> Located:
    """Search for the first tensor that goes wrong.

    Args:
        plan: Model, backends, inputs and tolerances.
        registry: The plugins.
        options: Options of the search; None for the defaults.
        on_stage: Told in words what happens next.

    Raises:
        UsageError: There are not two backends, or one of them does not let the core look inside.
        ModelError: The backends' models have no inputs or outputs in common.
        PolycmpError: Anything else that keeps the search from starting.
    """
    start = time.perf_counter()
    refuse_means(plan.compare, "locate")
    resolved = resolve(plan, registry)
    seen = Outcome(command=plan.command)
    with Observers.of_search(resolved) as observers:
        observers.start(seen)
        options = replace(options or LocateOptions(), look=observers.on_pair if observers else None)
        partitioned_runs = open_partitioned_runs(resolved, SteppingRun)
        functions = make_functions(for_tensors(plan.compare), registry)
        chooser = Chooser(plan, resolved, functions, on_stage)
        if plan.files.load_outputs:
            record = Record(*open_record(plan, [run.label for run in partitioned_runs]), plan, resolved)
            candidates, options = partitioned_runs, replace(options, float64=False)
            cases = _cases_beside_record(record, chooser)
        else:
            if len(partitioned_runs) < 2:
                raise UsageError("a search needs two backends", hint="polycmp locate MODEL -b CANDIDATE -b REFERENCE")
            label = choose_reference(plan.compare.reference, [run.result for run in partitioned_runs])
            (reference,) = (run for run in partitioned_runs if run.label == label)
            record, candidates = None, [run for run in partitioned_runs if run is not reference]
            cases = _cases_beside_backend(plan, resolved, chooser, reference, options)
        located = _search_each(candidates, cases, options, on_stage)
        if located is None:
            whose = "the saved run" if record is not None else "the data loader"
            raise UsageError(f"{whose} gave no inputs", hint="give them with --load-inputs FILE")
        if record is None and len(partitioned_runs) > 2:
            located.odd_one_out, remark = vote(partitioned_runs, located.inputs, functions)
            located.notes += [remark] if remark else []
        observers.finish(seen)
    located.looks, located.errors = seen.looks, seen.errors
    located.notes += record.notes if record is not None else []
    located.notes += [f"inputs: {note}" for note in chooser.notes]
    located.notes += dict.fromkeys(note for run in partitioned_runs for note in left_out_notes(run))
    located.notes += seen.notes
    located.backends = [run.result for run in partitioned_runs] + ([record.result] if record is not None else [])
    located.command = plan.command
    located.seconds = time.perf_counter() - start
    return located


def _cases_beside_backend(
    plan: Plan, resolved: Resolved, chooser: Chooser, reference: PartitionedRun, options: LocateOptions
) -> Cases:
    """Return what gives the cases of a candidate with another backend as the reference.

    Args:
        plan: The search.
        resolved: The backends and inputs of the plan.
        chooser: Chooses the inputs.
        reference: The backend to believe.
        options: Options of the search.
    """
    precise = open_precise_run(resolved, reference.label, reference.graph) if options.float64 else None

    def cases(candidate: PartitionedRun) -> Iterator[tuple[Setting, Chosen]]:
        setting: Setting | None = None
        pairs = input_pairs(candidate, reference, plan.data.map_input, plan.command)
        inputs = merge_inputs([reference.graph.inputs, renamed(candidate.graph.inputs, pairs.names)])
        for chosen in chooser.feeds(candidate.label, reference.label, inputs):
            if setting is None:
                setting = Setting(candidate, reference, precise, {}, plan.max_memory)
                setting = make_setting(setting, chosen.feed, pairs, plan.compare.map_output)
                names = setting.pairing.to_reference if setting.pairing is not None else {}
                measured = is_measured(plan.compare)  # a tolerance that was given is final
                setting = replace(
                    setting,
                    is_measured=measured,
                    judge_by_rounding=rounding_of_outputs(resolved, candidate.label, reference.label),
                    inner_rounding=inner_rounding(resolved, setting) if measured else None,
                    judge_outputs=output_judge(resolved, candidate.label, reference.label),
                    lacking=lacking_outputs(resolved, candidate, reference, names),
                    defined=defined_run(resolved, candidate, setting) if options.float64 else None,
                    network=compare_files(setting, inputs) if measured else None,
                )
            invented = invented_numbers(chosen.feed, plan.data)
            yield replace(setting, functions=chooser.functions(chosen), invented=invented), chosen

    return cases


def _cases_beside_record(record: Record, chooser: Chooser) -> Cases:
    """Return what gives the cases of a candidate with a saved run as the reference.

    Args:
        record: The saved run.
        chooser: Chooses the inputs.
    """

    def cases(candidate: PartitionedRun) -> Iterator[tuple[Setting, Chosen]]:
        for chosen, tensors in _recorded_feeds(record, chooser, candidate):
            yield record.setting(candidate, chosen.feed, tensors, chooser.functions(chosen)), chosen

    return cases


def _recorded_feeds(
    record: Record, chooser: Chooser, candidate: PartitionedRun
) -> Iterator[tuple[Chosen, Mapping[str, Any]]]:
    """Yield the feeds to search with, and the tensors that were recorded for them."""
    inputs = candidate.graph.inputs
    if chooser.takes_steps:
        yield from chooser.recorded(candidate.label, record.result.label, record.steps(inputs), inputs)
        return
    for index, (feed, tensors) in enumerate(record.iterations(inputs)):
        yield Chosen(feed, index), tensors


def _search_each(
    candidates: Sequence[PartitionedRun], cases: Cases, options: LocateOptions, on_stage: Stage
) -> Located | None:
    """Search with each candidate and its inputs, until something is wrong; return what weighs most, None of nothing."""
    located: Located | None = None
    for candidate in candidates:
        for setting, chosen in cases(candidate):
            one = _search_with_draws(setting, chosen.feed, options, on_stage)
            chosen.tell(one)
            located = _of_more_weight(located, one)
            if one.exit_code == EXIT_DIFFERENT:
                return located
    return located


def _of_more_weight(located: Located | None, one: Located) -> Located:
    """Return the first of two findings, unless the second one is a fault, or leaves more open."""
    order = (EXIT_OK, EXIT_FAILED, EXIT_DIFFERENT)
    return one if located is None or order.index(one.exit_code) > order.index(located.exit_code) else located


def _search_with_draws(setting: Setting, feed: Feed, options: LocateOptions, on_stage: Stage) -> Located:
    """Search with one feed; both sides are given the same random numbers where the model draws some."""
    drawn = draw(setting, feed)
    if drawn is None:
        return search(setting, feed, options, on_stage)
    if drawn.setting.reference.graph.outputs:
        located = search(drawn.setting, drawn.feed, options, on_stage)
    else:
        located = Located(setting.candidate.label, setting.reference.label)
    drawn.describe(located)
    return located
