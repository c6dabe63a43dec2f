"""Whether looking inside changed the result, and if that cured it, which look did."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from polycmp.graph import GraphNode, ModelGraph
from polycmp.layerwise.partitioned_run import Lane
from polycmp.tensors import Feed, dtype_class, dtype_of, to_numpy
from polycmp_locate.measure import distance
from polycmp_locate.result import Probe

Tensors = Mapping[str, Any]
#: Probing may move the result by this share of the error before the tensors seen stop being evidence.
_SHARE = 0.25


def check_probe(plain: Tensors, probed: Tensors, reference: Tensors, passes: Callable[[Tensors], bool]) -> Probe:
    """Compare the candidate's final outputs with and without probes.

    Args:
        plain: Without.
        probed: With; what is missing in it was not computed.
        reference: The reference's, without probes.
        passes: Says of final outputs whether they are within the tolerances.
    """
    names = [name for name in plain if name in probed]
    moved = max((_largest_gap(probed[name], plain[name]) for name in names), default=0.0)
    relative = max((distance(probed[name], plain[name]) for name in names), default=0.0)
    error = max((distance(plain[name], reference[name]) for name in plain if name in reference), default=0.0)
    probe = Probe(moved, relative, error, passes(plain), passes({**plain, **probed}))
    probe.trusted = relative == 0.0 or (probe.plain_passed == probe.probed_passed and relative <= max(
        _SHARE * error, 0.0
    ))  # fmt: skip
    if probe.plain_passed and probe.probed_passed:
        probe.trusted = True
    probe.sentence = _sentence(probe)
    return probe


def _largest_gap(one: Any, two: Any) -> float:
    a, b = to_numpy(one), to_numpy(two)
    if a.shape != b.shape or dtype_class(dtype_of(a)) == "string" or not a.size:
        return 0.0
    with np.errstate(all="ignore"):
        gap = np.abs(a.astype(np.float64) - b.astype(np.float64))
    return float(np.nanmax(gap)) if not np.isnan(gap).all() else 0.0


def moved_text(probe: Probe) -> str:
    """Return by how much probing moved the outputs, in words."""
    return f"probing moved the candidate's final outputs by {probe.moved:.3g} ({probe.relative:.2g} relative)"


def _sentence(probe: Probe) -> str:
    if probe.relative == 0.0:
        return "probing did not move the candidate's final outputs"
    text = moved_text(probe)
    if probe.trusted:
        return f"{text}, too little to change the verdict"
    if not probe.plain_passed and probe.probed_passed:
        return f"{text}: the fault is gone when one looks inside"
    return (
        f"{text}, beside an error of {probe.error:.2g} relative: the accumulated errors are those of another "
        "computation, so the verdict rests on operators run alone on the reference's tensors"
    )


def find_cure(
    lane: Lane,
    feed: Feed,
    groups: Sequence[Sequence[str]],
    final: Sequence[str],
    passes: Callable[[Tensors], bool],
) -> tuple[str, ...]:
    """Return the tensors, one if possible, that as extra outputs make the final outputs right.

    Args:
        lane: The candidate.
        feed: The inputs.
        groups: Tensors that may be outputs at the same time, in the order of the graph.
        final: The model's outputs.
        passes: Says of final outputs whether they are within the tolerances.
    """

    def cures(taps: Sequence[str]) -> bool:
        made = lane.run_whole(feed, list(dict.fromkeys([*final, *taps])))
        return made is not None and passes({name: made[name] for name in final})

    for group in groups:
        taps = list(group)
        if not taps or not cures(taps):
            continue
        while len(taps) > 1:
            half = len(taps) // 2
            kept = next((part for part in (taps[:half], taps[half:]) if cures(part)), None)
            if kept is None:
                break
            taps = kept
        return tuple(taps)
    return ()


def around(graph: ModelGraph, tensor: str) -> tuple[GraphNode | None, list[GraphNode]]:
    """Return the operator that makes a tensor and those that read it."""
    maker = next((node for node in graph.nodes if tensor in node.outputs), None)
    return maker, [node for node in graph.nodes if tensor in node.inputs]
