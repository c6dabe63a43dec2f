"""A constant or setting of an operator that differs between the two files.

Asked of an operator that is accused. It takes no run but that of constants that weights alone make, and one of the
reference for each constant of the candidate that a tool folded, which the reference still calculates.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from polycmp.graph import GraphNode, ModelGraph, weight_values
from polycmp.layerwise import PartitionedRun, Variants, static_tensors
from polycmp.tensors import Feed, is_floating, number_info, to_numpy
from polycmp_locate.pairing.view import SharedGraph, behind, file_graph
from polycmp_locate.rounding.difference import distance
from polycmp_locate.rounding.thresholds import BEYOND_EIGHT_BITS
from polycmp_locate.setting import Setting
from polycmp_locate.values.judged import CONSTANT, NOT_FINITE, WORSE, WRONG, Judged, Reason
from polycmp_locate.values.measured import Row

#: Elements of a constant that are shown one by one.
_SHOWN_ELEMENTS = 4
#: Bytes of a weight up to which it is compared with the other file's.
_MAX_BYTES = 1 << 26
#: Verdicts on what one operator makes of what it reads.
_OF_ONE_OPERATOR = frozenset({WRONG, WORSE, CONSTANT, NOT_FINITE})


def ask(judged: Judged, setting: Setting, feed: Feed) -> Iterator[Reason]:
    """Yield a note on each constant and setting of the operator that differs between the two files."""
    row = judged.accused
    accusations = setting.network.accusing if setting.network is not None and row is not None else ()
    causes = [item.words for item in accusations if row is not None and item.tensor == row.tensor]
    if causes and judged.verdict in _OF_ONE_OPERATOR:
        yield from map(Reason, causes)
        return
    sides = [side.variants for side in (setting.candidate, setting.reference)]
    if row is None or judged.verdict not in _OF_ONE_OPERATOR or None in sides:
        return
    of_candidate, of_reference = (variants for variants in sides if variants is not None)
    if of_candidate.graph is of_reference.graph:
        return
    blamed = _maker(setting.candidate.graph, row.tensor)
    beside_it = None if blamed is None else _alike(setting.reference.graph, row, blamed.op_type)
    if blamed is None or beside_it is None:
        return
    nodes = (blamed, beside_it)
    labels = (setting.candidate.label, setting.reference.label)
    static = [static_tensors(variants.graph) for variants in (of_candidate, of_reference)]
    for one, two in zip(nodes[0].inputs, nodes[1].inputs, strict=False):
        if one not in static[0] or of_candidate.graph.weights.get(one, 0) > _MAX_BYTES:
            continue
        actual = _constant(of_candidate, one)
        expected = _constant(of_reference, two) if two in static[1] else _calculated(of_reference, two, feed)
        if actual is not None and expected is not None and distance(actual, expected) > BEYOND_EIGHT_BITS:
            twin = "" if one == two else f", where it is {two!r} of {nodes[1].label}"
            difference = _difference(actual, expected, labels)
            yield Reason(f"the constant {one!r} of {nodes[0].label} {difference}{twin}")


def _constant(variants: Variants[PartitionedRun], name: str) -> Any:
    """Return the value of a constant: a weight as the file holds it, what is computed of weights by running that."""
    held = weight_values(variants.graph, [name] if name in variants.graph.weights else [])
    if name in held:
        return held[name]
    outputs = variants.own().run_part({}, [name])
    return None if outputs is None else to_numpy(outputs[name])


def _calculated(variants: Variants[PartitionedRun], name: str, feed: Feed) -> Any:
    """Return the value of what a side calculates of its inputs, or of their shapes; None where it does not show it."""
    if name in variants.graph.inputs or not feed.keys() >= variants.graph.inputs.keys():
        return None
    outputs = variants.own().run_whole(feed, [name])
    return None if outputs is None or name not in outputs else to_numpy(outputs[name])


def _maker(graph: ModelGraph, tensor: str) -> GraphNode | None:
    """Return the operator of a model's own file that makes a tensor; None for a part that is no operator."""
    name = graph.model_names.get(tensor, tensor) if isinstance(graph, SharedGraph) else tensor
    return next((node for node in file_graph(graph).nodes if name in node.outputs), None)


def _alike(graph: ModelGraph, row: Row, op_type: str) -> GraphNode | None:
    """Return the operator of a model's own file that does what the blamed one does; None where none or several may.

    Where a file leaves out a Cast behind a product, its product makes the tensor that the Cast makes in the other.
    """
    maker = _maker(graph, row.tensor)
    if maker is None or maker.op_type == op_type or not isinstance(graph, SharedGraph):
        return maker if maker is not None and maker.op_type == op_type else None
    alike = [node for node in behind(graph, row.tensor, row.node.inputs) if node.op_type == op_type]
    return alike[0] if len(alike) == 1 else None


def _difference(candidate: Any, reference: Any, labels: tuple[str, str]) -> str:
    """Describe how two constants differ: by one of their numbers where they have many, else by what they hold."""
    if candidate.shape != reference.shape or candidate.dtype != reference.dtype or candidate.size <= _SHOWN_ELEMENTS:
        held = f"holds {_held(candidate, reference)} in {labels[0]} and {_held(reference, candidate)} in {labels[1]}"
        return held + _beyond_type(candidate, reference)
    errors = np.abs(candidate.astype(np.float64) - reference.astype(np.float64))
    at = np.unravel_index(int(np.argmax(errors)), errors.shape)
    return (
        f"differs in {np.count_nonzero(errors)} of {errors.size} values, the most at [{','.join(map(str, at))}]: "
        f"{float(candidate[at]):.4g} in {labels[0]}, {float(reference[at]):.4g} in {labels[1]}"
    )


def _beyond_type(candidate: Any, reference: Any) -> str:
    """Say that the candidate's type cannot hold numbers of the reference's constant; empty where it can."""
    if candidate.shape != reference.shape or not (is_floating(candidate.dtype) and is_floating(reference.dtype)):
        return ""
    largest = float(number_info(candidate.dtype).max)
    beyond = int(np.count_nonzero(np.abs(reference.astype(np.float64)) > largest))
    return f"; {candidate.dtype} holds numbers up to {largest:.6g}, and {beyond} of these are larger" if beyond else ""


def _held(values: Any, beside: Any) -> str:
    """Describe the content of a constant; its type where that is another than beside it."""
    kind = f" ({values.dtype})" if values.dtype != beside.dtype else ""
    if values.shape != beside.shape:
        return f"a tensor of the shape {list(values.shape)}{kind}"
    if values.size <= _SHOWN_ELEMENTS:
        return f"{', '.join(f'{value:.6g}' for value in values.reshape(-1).tolist())}{kind}"
    return f"{values.min():.4g} to {values.max():.4g}, {values.mean():.4g} on average{kind}"
