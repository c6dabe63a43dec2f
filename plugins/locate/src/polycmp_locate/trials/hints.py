"""Usual causes of a fault of a known kind, where a trial confirms them, and remedies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from polycmp.graph import GraphNode, ModelGraph, OwnGraph, weight_values
from polycmp.layerwise import PartitionedRun, Variants, a_few, static_tensors
from polycmp.tensors import Feed, is_floating, to_numpy
from polycmp_locate.pairing.parts import PartNode
from polycmp_locate.pairing.view import SharedGraph
from polycmp_locate.rounding.difference import distance
from polycmp_locate.rounding.thresholds import BEYOND_EIGHT_BITS
from polycmp_locate.setting import Setting
from polycmp_locate.values.judged import CONSTANT, FUSION, NOT_FINITE, WORSE, WRONG, Judged
from polycmp_locate.values.measured import Row

#: Bytes of a weight that is no bias any more (choice).
_LARGE = 1 << 20
#: Elements of a constant that are shown one by one.
_FEW = 4
#: Bytes of a weight up to which it is compared with the other file's.
_LARGEST = 1 << 26
#: Verdicts on what one operator makes of what it reads.
_OF_ONE_OPERATOR = frozenset({WRONG, WORSE, CONSTANT, NOT_FINITE})
_PRODUCTS = frozenset({"Conv", "MatMul", "Gemm", "ConvTranspose"})
_HELP = "quantise the weights to 7 bits (reduce_range=True) or with an unsigned type, or use a processor with VNNI"


def hints_of(found: Judged, setting: Setting, feed: Feed) -> Iterator[str]:
    """Yield remedies for the fault that was found.

    Args:
        found: The verdict.
        setting: The backends.
        feed: The inputs.
    """
    yield from _causes(found, setting, feed)
    yield from _frozen(found, setting, feed)
    yield from _constants(found, setting)
    yield from _clipped_weights(found, setting)
    row = found.origin or found.first_bad
    label = setting.candidate.label
    if row is not None and found.verdict != FUSION and row.standalone is not None and row.standalone.saturates:
        yield (
            f"{label} saturates in {row.node.label}: with half of the activations it is exact. On processors "
            f"without VNNI, kernels for unsigned by signed 8-bit numbers add two products in 16 bits; {_HELP}"
        )
    elif found.verdict == FUSION and _fuses_quantised(found, setting):
        yield (
            "the fused operators lie between QuantizeLinear and DequantizeLinear: on processors without VNNI, 8-bit "
            f"kernels that add two products in 16 bits saturate; if this is one, {_HELP}"
        )


def _causes(found: Judged, setting: Setting, feed: Feed) -> Iterator[str]:
    """Yield the reference's own reasons why its export is wrong, if it is what the model was exported from."""
    row, graph = found.origin or found.first_bad, setting.reference.graph
    program = graph.side.graph if isinstance(graph, SharedGraph) else graph
    if row is None or not isinstance(program, OwnGraph) or not isinstance(row.node, PartNode):
        return
    made = setting.candidate.run_whole(feed, [row.tensor]) or {}
    if row.tensor in made:
        yield from (f"cause: {cause}" for cause in program.causes(row.node.counterpart, made[row.tensor], feed))


def _frozen(found: Judged, setting: Setting, feed: Feed) -> Iterator[str]:
    """Yield a note on tensors that only the reference reads, where other values of them give another tensor."""
    row = found.origin or found.first_bad
    if row is None or not isinstance(row.node, PartNode) or not row.node.only_reference or row.node.only_candidate:
        return
    inner = [name for name in row.node.inputs if name not in feed]
    shown = (setting.reference.run_whole(feed, inner) if inner else {}) or {}
    tensors = {**shown, **feed}
    if not all(name in tensors for name in row.node.inputs):
        return
    given = {name: tensors[name] for name in row.node.inputs}
    changed = {name: _other(given[name]) for name in row.node.only_reference}
    before = setting.reference.run_part(given, [row.tensor])
    after = setting.reference.run_part({**given, **changed}, [row.tensor])
    if before is None or after is None or distance(after[row.tensor], before[row.tensor]) <= BEYOND_EIGHT_BITS:
        return
    read, labels = a_few(row.node.only_reference), (setting.candidate.label, setting.reference.label)
    yield (
        f"cause: with other values of {read} {labels[1]} makes another {row.tensor!r}, and {labels[0]} "
        "does not read it: a constant stands there, frozen from the example inputs of the export"
    )


def _clipped_weights(found: Judged, setting: Setting) -> Iterator[str]:
    """Yield a note on whole numbers that the blamed operator reads as a bias and that are at the end of their type.

    Quantisers write a bias in steps of the product of two scales; where these are small, 32 bits do not hold it.
    """
    row, graph = found.origin or found.first_bad, setting.candidate.graph
    if row is None or not isinstance(graph, SharedGraph) or not isinstance(row.node, PartNode):
        return
    side, seen = graph.side, {name for node in _part(graph, row) for name in node.inputs}
    held = weight_values(side.graph, [name for name in sorted(seen) if side.graph.weights.get(name, _LARGE) < _LARGE])
    for name, values in held.items():
        ends = np.iinfo(np.int32)
        count = int(np.count_nonzero((values == ends.min) | (values == ends.max))) if values.dtype == np.int32 else 0
        if count:
            yield (
                f"cause: {name!r} holds the end of int32 {count} times in {values.size} values: what the quantiser "
                "wrote there is beyond 32 bits and was clipped; a coarser scale of the weights helps, or a float bias"
            )


def _constants(found: Judged, setting: Setting) -> Iterator[str]:
    """Yield a note on each constant and setting of the operator that differs between the two files."""
    row = found.origin or found.first_bad
    told = setting.network.accusing if setting.network is not None and row is not None else ()
    causes = [item.words for item in told if row is not None and item.tensor == row.tensor]
    if causes and found.verdict in _OF_ONE_OPERATOR:
        yield from (f"cause: {cause}" for cause in causes)
        return
    sides = [side.variants for side in (setting.candidate, setting.reference)]
    if row is None or found.verdict not in _OF_ONE_OPERATOR or None in sides:
        return
    mine, other = (variants for variants in sides if variants is not None)
    if mine.graph is other.graph:
        return
    blamed = _maker(setting.candidate.graph, row.tensor)
    beside_it = None if blamed is None else _alike(setting.reference.graph, row, blamed.op_type)
    if blamed is None or beside_it is None:
        return
    nodes = (blamed, beside_it)
    labels = (setting.candidate.label, setting.reference.label)
    known = [static_tensors(variants.graph) for variants in (mine, other)]
    for one, two in zip(nodes[0].inputs, nodes[1].inputs, strict=False):
        if one not in known[0] or two not in known[1] or mine.graph.weights.get(one, 0) > _LARGEST:
            continue
        here, there = _constant(mine, one), _constant(other, two)
        if here is not None and there is not None and distance(here, there) > BEYOND_EIGHT_BITS:
            yield f"cause: the constant {one!r} of {nodes[0].label} {_difference(here, there, labels)}"


def _constant(variants: Variants[PartitionedRun], name: str) -> Any:
    """Return the value of a constant: a weight as the file holds it, what is computed of weights by running that."""
    held = weight_values(variants.graph, [name] if name in variants.graph.weights else [])
    if name in held:
        return held[name]
    made = variants.own().run_part({}, [name])
    return None if made is None else to_numpy(made[name])


def _maker(graph: ModelGraph, tensor: str) -> GraphNode | None:
    """Return the operator of a model's own file that makes a tensor; None for a part that is no operator."""
    own = graph.side.graph if isinstance(graph, SharedGraph) else graph
    name = graph.own.get(tensor, tensor) if isinstance(graph, SharedGraph) else tensor
    return next((node for node in own.nodes if name in node.outputs), None)


def _alike(graph: ModelGraph, row: Row, op_type: str) -> GraphNode | None:
    """Return the operator of a model's own file that does what the blamed one does; None where none or several may.

    Where a file leaves out a Cast behind a product, its product makes the tensor that the Cast makes in the other.
    """
    maker = _maker(graph, row.tensor)
    if maker is None or maker.op_type == op_type or not isinstance(graph, SharedGraph):
        return maker if maker is not None and maker.op_type == op_type else None
    found = [node for node in _part(graph, row) if node.op_type == op_type]
    return found[0] if len(found) == 1 else None


def _part(graph: SharedGraph, row: Row) -> list[GraphNode]:
    """Return the operators of a side's file that make a tensor of those that have a counterpart."""
    waiting, seen = [graph.own[row.tensor]], {graph.own[name] for name in row.node.inputs if name in graph.own}
    nodes = []
    while waiting:
        name = waiting.pop()
        node = None if name in seen else graph.side.maker.get(name)
        seen.add(name)
        if node is not None:
            nodes.append(node)
            waiting.extend(node.inputs)
    return nodes


def _difference(here: Any, there: Any, labels: tuple[str, str]) -> str:
    """Describe how two constants differ: by one of their numbers where they have many, else by what they hold."""
    if here.shape != there.shape or here.dtype != there.dtype or here.size <= _FEW:
        return f"holds {_held(here, there)} in {labels[0]} and {_held(there, here)} in {labels[1]}"
    errors = np.abs(here.astype(np.float64) - there.astype(np.float64))
    at = np.unravel_index(int(np.argmax(errors)), errors.shape)
    return (
        f"differs in {np.count_nonzero(errors)} of {errors.size} values, the most at [{','.join(map(str, at))}]: "
        f"{float(here[at]):.4g} in {labels[0]}, {float(there[at]):.4g} in {labels[1]}"
    )


def _held(values: Any, beside: Any) -> str:
    """Describe the content of a constant; its type where that is another than beside it."""
    kind = f" ({values.dtype})" if values.dtype != beside.dtype else ""
    if values.shape != beside.shape:
        return f"a tensor of the shape {list(values.shape)}{kind}"
    if values.size <= _FEW:
        return f"{', '.join(f'{value:.6g}' for value in values.reshape(-1).tolist())}{kind}"
    return f"{values.min():.4g} to {values.max():.4g}, {values.mean():.4g} on average{kind}"


def _other(array: Any) -> Any:
    """Return a tensor with its values in other places, and smaller ones where they are real."""
    values = to_numpy(array)
    turned = np.flip(values)
    return np.ascontiguousarray(turned * values.dtype.type(0.75) if is_floating(values.dtype) else turned)


def _fuses_quantised(found: Judged, setting: Setting) -> bool:
    """Return whether an operator around what prevents the fault multiplies what was quantised."""
    nodes = setting.reference.graph.nodes
    makers = {name: node for node in nodes for name in node.outputs}
    kept = set(found.seen_probe.kept) if found.seen_probe is not None else set()
    around = [node for node in nodes if kept & {*node.inputs, *node.outputs}]
    products = [node for node in around if node.op_type in _PRODUCTS]
    return any(
        name in makers and makers[name].op_type == "DequantizeLinear" for node in products for name in node.inputs
    )
