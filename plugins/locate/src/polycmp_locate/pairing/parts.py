"""Two paired graphs as one: an operator for each pair of tensors, which represents the smallest part between pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from polycmp.graph import GraphNode, weight_values
from polycmp.judging import folded_factors
from polycmp.precision import STEPS, UNITS, unit_of
from polycmp_locate.pairing.attributes import AttributeDifference, attribute_differences
from polycmp_locate.pairing.result import GIVEN, Match, Pairing
from polycmp_locate.pairing.side import MOVING, ModelSide, plain_type

_QUANTISED = ("QuantizeLinear", "DequantizeLinear", "Integer", "QLinear", "QGemm", "QAttention", "IntegerToFloat",
              "DynamicQuantize")  # fmt: skip
#: Operators of which one in a part says more than those that only move elements after it.
_PRODUCTS = frozenset({"Conv", "ConvTranspose", "MatMul", "Gemm"})
#: Where operators read what quantisers round, be it a weight.
_ROUNDED_OPERANDS = {
    "Conv": (1,), "ConvTranspose": (1,), "MatMul": (0, 1), "Gemm": (0, 1), "LSTM": (1, 2), "GRU": (1, 2),
    "RNN": (1, 2), "Attention": (1,), "Gather": (0,), "Add": (0, 1), "Sub": (0, 1), "Mul": (0, 1), "Div": (0, 1),
}  # fmt: skip
#: Operators that change what they read by a constant, which some optimisers take for one that changes nothing.
_WITH_CONSTANTS = frozenset({"Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "Clip"})
#: Operators that read the shape of a tensor alone.
_OF_SHAPES = frozenset({"Shape", "Size"})
_PACKED = frozenset({"MatMulNBits", "GatherBlockQuantized"})
#: Operators that make and read codes one number at a time, so that equal scales make equal codes but for ties.
_ELEMENTWISE_CODES = frozenset({"QuantizeLinear", "DequantizeLinear"})


@dataclass(frozen=True)
class PartNode(GraphNode):
    """The operators of both models that make one tensor of tensors that have counterparts.

    Its type, name and attributes are those of the candidate's operator that calculates the tensor.

    Attributes:
        unit: Unit roundoff of the coarsest type in the part, 0 if it holds exact numbers only.
        coarsest: The name of that type.
        quantised: Whether numbers are rounded to steps of a scale in it.
        apart: The coarsest type that the part rounds to on one side alone, or by which both sides' rounding differs:
            steps of a scale that both files hold alike are part of the network.
        shared_steps: The largest number that has a code, by the reference's name of what both files round to the same
            steps.
        candidate_ops: Types of the candidate's operators, in their order.
        reference_ops: Types of the reference's.
        only_reference: Inputs of the reference's part that the candidate's does not read.
        only_candidate: Inputs of the candidate's part that the reference's does not read, if the latter reads anything.
        counterpart: The tensor's name in the reference's model.
        method: Method by which the pair was found.
        uncut: The name under which the reference makes what it cuts to this tensor with an operator of its own; empty
            where the candidate shows that, too.
        steps: The step of the scale to which the candidate rounds the tensor, and those of what the part reads, by
            name, each the largest of several; none of what it does not round, or of which that is unknown.
        ends: The smallest and the largest number that the candidate's steps hold of what the part reads and rounds, by
            name, as far as that is known.
        weights: The weights that the reference's part multiplies or adds and quantisers round, as `weight_name` calls
            them.
        folded: What the candidate's file multiplies slices of these weights by, where it leaves away the operator of
            the reference that does so.
        one_of: The candidate's operators any of which may be the one that is wrong, since what they make for each
            other has no counterpart; none where one alone calculates.
        members: All operators of the candidate's part that calculate, in their order.
        omitted: Operators of the reference that do something with a constant, and that the candidate does without.
        may_be_frozen: Whether an export may have frozen what the reference's part alone reads: sizes and inputs.
        differing_attributes: Attributes in which operators differ that each part has once.
    """

    unit: float = 0.0
    coarsest: str = ""
    quantised: bool = False
    apart: str = ""
    shared_steps: Mapping[str, float] = field(default_factory=dict)
    candidate_ops: tuple[str, ...] = ()
    reference_ops: tuple[str, ...] = ()
    only_reference: tuple[str, ...] = ()
    counterpart: str = ""
    method: str = ""
    uncut: str = ""
    only_candidate: tuple[str, ...] = ()
    steps: Mapping[str, float] = field(default_factory=dict)
    ends: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    weights: tuple[str, ...] = ()
    folded: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    one_of: tuple[str, ...] = ()
    members: tuple[str, ...] = ()
    omitted: tuple[str, ...] = ()
    may_be_frozen: bool = True
    differing_attributes: tuple[AttributeDifference, ...] = ()


def weight_name(name: str) -> str:
    """Return the name that a weight of the reference has beside the names of pairs."""
    return f"{name} weight"


def unit_inside(node: GraphNode) -> float:
    """Return the unit roundoff of the coarsest type inside an operator's part; 0 for a single operator."""
    return node.unit if isinstance(node, PartNode) else 0.0


def uncut_name(node: GraphNode) -> str:
    """Return the name of what the reference cuts to the tensor of a part; empty for any other and single operators."""
    return node.uncut if isinstance(node, PartNode) else ""


def last_step(node: GraphNode) -> float:
    """Return the step of the scale to which a part rounds its result; 0 if there is none, or it is unknown."""
    return node.steps.get(node.outputs[0], 0.0) if isinstance(node, PartNode) else 0.0


def is_calibrated(node: GraphNode) -> bool:
    """Return whether the candidate rounds to steps in a part that do not follow from the numbers themselves."""
    kinds = node.candidate_ops if isinstance(node, PartNode) else ()
    return any(map(rounds_to_static_steps, kinds))


def rounds_to_static_steps(kind: str) -> bool:
    """Return whether an operator of a type rounds to steps that do not follow from the numbers themselves."""
    return kind in {"QuantizeLinear", "QGemm", "QAttention"} or kind.startswith("QLinear")


def rounds_to_steps(node: GraphNode, unit: float) -> bool:
    """Return whether an operator's part makes real numbers from steps of a scale.

    Args:
        node: It.
        unit: Unit roundoff of what it makes, 0 for exact numbers.
    """
    return isinstance(node, PartNode) and node.quantised and bool(unit)


@dataclass
class Joint:
    """Both graphs in one.

    Attributes:
        nodes: In an order in which both models can run them.
        to_reference: The reference's name of each tensor, by the candidate's.
        matches: The pairs, without those that could not be true, since each would be made of the other.
    """

    nodes: list[PartNode] = field(default_factory=list)
    to_reference: Mapping[str, str] = field(default_factory=dict)
    matches: tuple[Match, ...] = ()


def join(pairing: Pairing, candidate: ModelSide, reference: ModelSide) -> Joint:
    """Return two graphs as one.

    Args:
        pairing: Pairs of tensors of the two graphs.
        candidate: The candidate's graph.
        reference: The reference's.
    """
    matches = list(pairing.matches)
    while True:
        builder = _Builder(matches, candidate, reference, pairing.uncut)
        nodes, stuck = _in_order(
            [builder.node(match) for match in matches], {*candidate.graph.inputs, *reference.graph.inputs}
        )
        if not stuck:
            return Joint(nodes, builder.to_reference, tuple(matches))
        matches.remove(_weakest([match for match in matches if match.candidate in stuck]))


def _weakest(matches: Sequence[Match]) -> Match:
    """Return the pair with the weakest evidence, the last of several."""
    return max(reversed(matches), key=lambda match: match.candidate != match.reference and match.method != GIVEN)


def shared_names(
    matches: Iterable[Match], candidate: ModelSide, reference: ModelSide
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the reference's name of each paired tensor and input, by the candidate's, and the first of these back.

    Args:
        matches: The pairs.
        candidate: The candidate's graph.
        reference: The reference's.
    """
    inputs = {name: name for name in (*candidate.graph.inputs, *reference.graph.inputs)}
    to_reference = {**inputs, **{match.candidate: match.reference for match in matches}}
    first: dict[str, str] = {}
    for name, target in to_reference.items():
        first.setdefault(target, name)
    return to_reference, first


class _Builder:
    def __init__(
        self, matches: Sequence[Match], candidate: ModelSide, reference: ModelSide, uncut: Mapping[str, str]
    ) -> None:
        self.candidate, self.reference = candidate, reference
        self.uncut = uncut
        self.to_reference, self.first = shared_names(matches, candidate, reference)

    def node(self, match: Match) -> PartNode:
        """Return the operator of a pair."""
        candidate_part = part_of(self.candidate, match.candidate, self.to_reference)
        inputs = candidate_part.inputs
        reference_part = Part()
        only_reference: tuple[str, ...] = ()
        only_candidate: tuple[str, ...] = ()
        if self.first[match.reference] == match.candidate:
            reference_part = part_of(self.reference, match.reference, self.first)
            covered = {self.to_reference[name] for name in inputs}
            only_reference = tuple(self.first[name] for name in reference_part.inputs if name not in covered)
            only_candidate = tuple(name for name in inputs if self.to_reference[name] not in reference_part.inputs)
            inputs = inputs | dict.fromkeys(only_reference)
        elif match.reference not in {self.to_reference[name] for name in inputs}:
            inputs = inputs | {self.first[match.reference]: None}
        main = self._main(match.candidate, candidate_part)
        kinds = {**candidate_part.kinds, **reference_part.kinds}
        shared = self._shared_steps(candidate_part, reference_part)
        real = {name: unit for name, unit in kinds.items() if name not in STEPS}
        if shared is not None and not shared:
            kinds = real
        coarsest = max(kinds, key=kinds.__getitem__, default="")
        coarsest_held = max((*candidate_part.weight_types, *reference_part.weight_types, coarsest), key=unit_of)
        weights = _rounded_weights(self.reference, reference_part.nodes)
        normed = candidate_part.nodes and all(node.op_type != "BatchNormalization" for node in candidate_part.nodes)
        folded = {name: folded_factors(self.reference.graph, name) for name in weights} if normed else {}
        metadata = {**(reference_part.nodes[-1].metadata if reference_part.nodes else {}), **main.metadata}
        return PartNode(
            main.op_type,
            main.name,
            main.domain,
            tuple(inputs),
            (match.candidate,),
            main.attributes,
            metadata,
            unit=unit_of(coarsest_held),
            coarsest=coarsest_held,
            quantised=any(name in STEPS for name in kinds),
            apart=coarsest if shared is None else max(real, key=real.__getitem__, default=""),
            shared_steps=shared or {},
            candidate_ops=tuple(node.op_type for node in candidate_part.nodes),
            reference_ops=tuple(node.op_type for node in reference_part.nodes),
            only_reference=only_reference,
            counterpart=match.reference,
            method=match.method,
            only_candidate=only_candidate,
            steps=self._steps(match.candidate, candidate_part),
            ends=self._ends(candidate_part),
            uncut=f"{match.candidate} uncut" if match.candidate in self.uncut else "",
            weights=tuple(map(weight_name, weights)),
            folded={weight_name(name): factors for name, factors in folded.items() if factors is not None},
            one_of=self._hidden_operators(candidate_part),
            members=tuple(node.label for node in self._calculating(candidate_part)),
            omitted=self._omitted_operators(candidate_part, reference_part),
            differing_attributes=attribute_differences(candidate_part.nodes, reference_part.nodes),
            may_be_frozen=any(
                name in self.reference.graph.inputs or not self.reference.is_real(name)
                for name in map(self.to_reference.__getitem__, only_reference)
                if self._is_read_for_values(name, reference_part)
            ),
        )

    def _steps(self, tensor: str, candidate_part: Part) -> dict[str, float]:
        """Return the steps to which the candidate rounds a tensor and the inputs of its part, as far as known."""
        step_of, maker = self.candidate.step_of, self.candidate.maker
        steps = {name: step_of(name) for name in (*candidate_part.inputs, tensor)}
        for node in (*candidate_part.nodes, *map(maker.get, candidate_part.inputs)):
            if node is not None and node.op_type == "QuantizeLinear":  # what the reference reads is there before it
                read = node.operand(0)
                steps[read] = max(steps.get(read, 0.0), step_of(node.outputs[0]))
        return {name: step for name, step in steps.items() if step}

    def _ends(self, part: Part) -> dict[str, tuple[float, float]]:
        """Return the ends of the candidate's steps for what a part reads and rounds."""
        maker = {name: node for node in part.all_nodes for name in node.outputs}
        ends = {}
        for node in part.all_nodes:
            steps = self.candidate.codes.get(node.outputs[0]) if node.op_type == "QuantizeLinear" else None
            read = node.operand(0)
            while read in maker and maker[read].op_type in MOVING:
                read = maker[read].operand(0)
            if steps is not None and steps.scale.size and read in part.inputs:
                ends[read] = steps.ends
        return ends

    def _is_read_for_values(self, name: str, part: Part) -> bool:
        """Return whether the reference's operators read more of a tensor than its shape."""
        readers = [node for node in part.all_nodes if name in map(self.reference.root, node.inputs)]
        return not readers or any(node.op_type not in _OF_SHAPES for node in readers)

    def _shared_steps(self, candidate_part: Part, reference_part: Part) -> Mapping[str, float] | None:
        """Return the largest number that has a code, by the name of what both sides of a part round to the same steps.

        What is multiplied out alike is the same number on both sides, and needs no step. None where a side rounds to
        steps that the other does not have, or it is not certain.
        """
        candidate_nodes = _step_operators(self.candidate, candidate_part)
        reference_nodes = _step_operators(self.reference, reference_part)
        kinds = [Counter(node.op_type for node in nodes) for nodes in (candidate_nodes, reference_nodes)]
        if kinds[0] != kinds[1] or not kinds[0].keys() <= _ELEMENTWISE_CODES:
            return None
        fingerprints = sorted(_fingerprint(self.candidate, node) for node in candidate_nodes)
        if fingerprints != sorted(_fingerprint(self.reference, node) for node in reference_nodes):
            return None
        rounded = [
            node
            for node in reference_nodes
            if node.op_type == "QuantizeLinear" and not _is_static(self.reference, node)
        ]
        reaches = {node.operand(0): self.reference.reach_of(node.outputs[0]) for node in rounded}
        return reaches if all(reaches.values()) else None

    def _hidden_operators(self, part: Part) -> tuple[str, ...]:
        """Return the operators of a part whose tensors cannot be seen, where several of them calculate."""
        nodes = self._calculating(part)
        products = [node for node in nodes if plain_type(node) in _PRODUCTS and self.candidate.weights_of(node)]
        hidden = len(products) > 1 or any(
            map(self.candidate.is_blocked, (name for node in nodes for name in node.outputs))
        )
        return tuple(node.label for node in nodes) if hidden and len(nodes) > 1 else ()

    def _calculating(self, part: Part) -> list[GraphNode]:
        """Return the operators of a part that do more than move or round."""
        nodes = [node for node in part.nodes if any(self.candidate.is_root(name) for name in node.outputs)]
        return [node for node in nodes if node.op_type not in MOVING]

    def _omitted_operators(self, candidate_part: Part, reference_part: Part) -> tuple[str, ...]:
        """Return the reference's operators with constants that the candidate has none for, nor weights to hold them."""
        if any(self.candidate.weights_of(node) for node in candidate_part.nodes):
            return ()
        kinds = Counter(plain_type(node) for node in reference_part.nodes)
        kinds.subtract(plain_type(node) for node in candidate_part.nodes)
        more = {kind for kind, count in kinds.items() if count > 0}
        unmatched = [node for node in reference_part.nodes if plain_type(node) in more]
        if min(kinds.values(), default=0) < 0 or not more <= _WITH_CONSTANTS:
            return ()
        return tuple(map(self._with_constant, unmatched)) if all(map(self.reference.weights_of, unmatched)) else ()

    def _with_constant(self, node: GraphNode) -> str:
        """Return an operator for people, with its constant where that is one number."""
        values = weight_values(self.reference.graph, self.reference.weights_of(node)).values()
        one = next((value for value in values if value.size == 1), None)
        return node.label if one is None else f"{node.label} ({float(one.reshape(-1)[0]):.4g})"

    def _main(self, name: str, part: Part) -> GraphNode:
        """Return the operator in a part that calculates, and does not only round or scale."""
        root = self.candidate.node(self.candidate.root(name))
        main = root if root is not None and root in part.nodes else self.candidate.maker[name]
        if main.op_type in MOVING:
            return next((node for node in reversed(part.nodes) if plain_type(node) in _PRODUCTS), main)
        return main


@dataclass
class Part:
    """The operators of one model after a tensor, up to tensors that have counterparts."""

    nodes: list[GraphNode] = field(default_factory=list)
    all_nodes: list[GraphNode] = field(default_factory=list)
    inputs: dict[str, None] = field(default_factory=dict)
    kinds: dict[str, float] = field(default_factory=dict)
    weight_types: set[str] = field(default_factory=set)


def part_of(side: ModelSide, name: str, border: Mapping[str, str]) -> Part:
    """Return the part of a graph that makes a tensor of others.

    Args:
        side: The graph.
        name: The tensor.
        border: The tensors at which a part ends.
    """
    part = Part()
    chosen: dict[int, GraphNode] = {}
    waiting, seen = [name], set()
    while waiting:
        item = waiting.pop()
        node = side.maker.get(item)
        if item in seen:
            continue
        seen.add(item)
        if item != name and item in border:
            part.inputs[item] = None
        elif node is not None:
            chosen[id(node)] = node
            waiting.extend(node.inputs)
    places = side.places
    part.nodes = sorted((node for node in chosen.values() if not _is_static(side, node)), key=lambda n: places[id(n)])
    part.all_nodes = list(chosen.values())
    for node in part.all_nodes:
        part.kinds.update(_rounding_units(side, node))
        part.weight_types.update(side.cast_weights[name] for name in node.outputs if name in side.cast_weights)
    return part


def _rounded_weights(side: ModelSide, nodes: Iterable[GraphNode]) -> dict[str, None]:
    """Return the weights of operators that quantisers round to steps; biases of products are not among them."""
    read = {node.operand(place): None for node in nodes for place in _ROUNDED_OPERANDS.get(plain_type(node), ())}
    return {name: None for name in read if name in side.graph.weights}


def _step_operators(side: ModelSide, part: Part) -> list[GraphNode]:
    """Return the operators of a part that read or make codes; what depends on weights alone, too."""
    return [node for node in part.all_nodes if not _rounding_units(side, node).keys().isdisjoint(STEPS)]


def _fingerprint(side: ModelSide, node: GraphNode) -> tuple[str, ...]:
    """Return an operator's type and digests of the weights that it reads.

    Of codes that are weights no scale: the same codes times another number are no rounding to other steps.
    """
    read = node.inputs[:1] if node.op_type == "DequantizeLinear" and _is_static(side, node) else node.inputs
    values = weight_values(side.graph, [name for name in read if name in side.static])
    digests = []
    for place, name in enumerate(read):
        if name in values:
            array = np.ascontiguousarray(values[name])
            digests.append(f"{place} {array.dtype} {array.shape} {sha256(array.data).hexdigest()}")
        elif name in side.static:
            digests.append(f"{place} {name}")
    return node.op_type, *digests


def _is_static(side: ModelSide, node: GraphNode) -> bool:
    return all(name in side.static for name in node.outputs)


def _rounding_units(side: ModelSide, node: GraphNode) -> dict[str, float]:
    """Return the types that an operator rounds to, with their unit roundoffs."""
    names = {side.type_name(name) for name in (*node.inputs, *node.outputs)}
    units = {name: UNITS[name] for name in names if name in UNITS and name != "int8"}
    known = [side.codes.get(name) for name in node.outputs]
    units.update({steps.dtype.name: STEPS[steps.dtype.name] for steps in known if steps is not None})
    if node.op_type in _PACKED:  # several codes lie in one byte
        units.update({name: STEPS[name] for name in [f"int{node.attributes.get('bits', 4)}"] if name in STEPS})
    elif any(word in node.op_type for word in _QUANTISED):
        steps = names & set(STEPS)
        units.update({name: STEPS[name] for name in steps or (set() if "int32" in names else {"int8"})})
    return units


def _in_order(nodes: Iterable[PartNode], available: set[str]) -> tuple[list[PartNode], set[str]]:
    """Return operators in topological order, and the tensors that are on circles."""
    ordered: list[PartNode] = []
    waiting = list(nodes)
    known = set(available)
    while waiting:
        blocked = []
        for node in waiting:
            if known.issuperset(node.inputs):
                ordered.append(node)
                known.update(node.outputs)
            else:
                blocked.append(node)
        if len(blocked) == len(waiting):
            return ordered, _circle(blocked)
        waiting = blocked
    return ordered, set()


def _circle(nodes: Sequence[PartNode]) -> set[str]:
    """Return tensors that are made of each other, among operators that cannot run."""
    reads = {node.outputs[0]: node.inputs for node in nodes}
    name, path = nodes[0].outputs[0], []
    while name not in path:
        path.append(name)
        name = next((item for item in reads[name] if item in reads), name)
    return set(path[path.index(name) :])
