"""The two sides of a search: one graph for two models, and what their files differ in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from polycmp.data import InputPairs
from polycmp.errors import ModelError
from polycmp.graph import DeclaredGraph, GraphNode
from polycmp.layerwise import PartitionedRun, a_few, final_outputs, open_precise_run, same_structure, tensors_behind
from polycmp.runs import Resolved
from polycmp.tensors import Feed, TensorMetadata, is_size
from polycmp_locate.network.comparison import NetworkComparison, compare_networks, compare_sides
from polycmp_locate.pairing.inputs import renamed_inputs, with_inputs
from polycmp_locate.pairing.output_map import mapped_pairs, names_others
from polycmp_locate.pairing.view import SharedGraph, align, under_names
from polycmp_locate.setting import Setting

#: Operators of a model up to which a sentence about it as a whole still helps: it can name each.
NAMEABLE = 8


def make_setting(
    setting: Setting, feed: Feed, pairs: InputPairs, user_pairs: Mapping[str, str] | None = None
) -> Setting:
    """Return a setting in which both backends have the same graph: where they do not, their tensors are paired.

    Args:
        setting: The backends with their own models.
        feed: The first inputs.
        pairs: Pairs of inputs of the two models.
        user_pairs: Names in the candidate's model -> names in the reference's, of tensors that the user paired.

    Raises:
        UsageError: A tensor that the user paired is not there.
        ModelError: The models have no outputs in common.
    """
    candidate, reference, user_pairs = setting.candidate, setting.reference, user_pairs or {}
    if same_structure(candidate.graph, reference.graph) and not names_others(user_pairs, candidate.graph):
        return setting
    user_pairs = mapped_pairs(candidate, reference, user_pairs)
    for partitioned_run in (candidate, reference):
        _see_single_makers(partitioned_run)
    names = renamed_inputs(pairs)
    candidate = with_inputs(candidate, names) if names else candidate
    aligned = align(candidate, reference, TensorMetadata.from_feed_dict(feed), user_pairs)
    outputs = aligned.candidate.graph.outputs
    models = f"the models of {candidate.label} and {reference.label}"
    if not outputs:
        of_candidate, of_reference = (a_few(side.graph.outputs) or "none" for side in (candidate, reference))
        named = zip(candidate.graph.outputs, reference.graph.outputs, strict=False)
        same = " ".join(f"{one}={two}" for one, two in named)
        hint = f"where outputs of two names are the same, say so: --map-output {same}"
        why = f"{of_candidate} in one, {of_reference} in the other"
        raise ModelError(f"{models} have no output in common", why=why, hint=hint)
    # Of few operators the sentence about the outputs names all there is.
    few = len(reference.graph.nodes) <= NAMEABLE or len(candidate.graph.nodes) == 1  # a delegate is one operator
    few = few and _take_the_same(candidate.graph.inputs, reference.graph.inputs)
    ends = final_outputs(aligned.candidate.graph)
    if not few and all(match.candidate in ends for match in aligned.pairing.matches):
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


def defined_run(resolved: Resolved, candidate: PartitionedRun, setting: Setting) -> PartitionedRun | None:
    """Return what calculates the candidate's file in float64, under the names that both sides share.

    Args:
        resolved: The backends and inputs of the plan.
        candidate: The backend to judge, under its own file's names.
        setting: The setting, with the tensors of two models paired.

    Returns:
        None where both sides run one file.
    """
    graph = setting.candidate.graph
    if setting.pairing is None and graph is setting.reference.graph:
        return None
    precise = open_precise_run(resolved, candidate.label, candidate.graph)
    return under_names(precise, graph) if precise is not None and isinstance(graph, SharedGraph) else precise


def compare_files(setting: Setting, inputs: TensorMetadata) -> NetworkComparison | None:
    """Compare the files of two backends; None where they run one file, or a graph of their own.

    Args:
        setting: The backends, with their tensors paired where their operators differ.
        inputs: Types and shapes of what both are fed.
    """
    of_candidate, of_reference = setting.candidate.graph, setting.reference.graph
    if isinstance(of_candidate, SharedGraph) and isinstance(of_reference, SharedGraph) and setting.pairing is not None:
        return compare_sides(of_candidate.side, of_reference.side, setting.pairing.matches)
    if of_candidate is of_reference or not (
        isinstance(of_candidate, DeclaredGraph) and isinstance(of_reference, DeclaredGraph)
    ):
        return None
    return compare_networks(of_candidate, of_reference, inputs)


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
        fixed = [pair for pair in zip(a, b, strict=False) if all(is_size(size) for size in pair)]
        if len(a) != len(b) or any(x != y for x, y in fixed):
            return False
    return True


def left_out_notes(partitioned_run: PartitionedRun) -> Iterator[str]:
    """Yield notes on outputs of a model that are no tensors, and on the tensors compared in their place."""
    graph = partitioned_run.graph
    for name in graph.outputs:
        if name in graph.opaque:
            behind = a_few(tensors_behind(graph, name)) or "none"
            what = f"output {name!r} of {partitioned_run.label}"
            yield f"{what} is no tensor and is left out; what it is made of: {behind}"
