"""Comparison of two files of one network: constants up to their grids, settings, operators inserted or missing."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp.graph import Constant, DeclaredGraph, GraphNode
from polycmp.judging import MASKING
from polycmp.layerwise import same_operators
from polycmp.precision import CUTTING, unit_of
from polycmp.tensors import TensorMetadata
from polycmp_locate.network.deviation import (
    EMPTIED,
    FACTOR,
    FAULTS,
    LIFTED,
    OTHER,
    REORDERED,
    SCALED_SLICES,
    STEP,
    TRANSPOSED,
    VALUE,
    ZERO,
    Deviation,
    are_alike,
    deviation,
    same_grid,
)
from polycmp_locate.pairing.absorbed import has_bias
from polycmp_locate.pairing.matching import pair_sides
from polycmp_locate.pairing.parts import Part, join, part_of, rounds_to_static_steps, shared_names
from polycmp_locate.pairing.result import SAME_NAME, Match
from polycmp_locate.pairing.side import CONTROL_FLOW, MOVING, ModelSide, calculates

#: Operators that add a bias to their product, and what that is without it.
_PRODUCTS = {"Gemm": "MatMul", "Conv": "Conv", "ConvTranspose": "ConvTranspose", "MatMul": "MatMul"}
#: Domains whose operators do what their names say.
_STANDARD = frozenset({"", "ai.onnx"})
#: The axis of the channels of a product's weight.
_CHANNELS = {"Conv": 0, "ConvTranspose": 1, "MatMul": 1}
_FLOATS = frozenset({"float32", "float16", "bfloat16", "float64"})
#: Normalisations that optimisers put into an operator with what is before them.
_NORMS = frozenset({"LayerNormalization", "RMSNormalization"})
#: The inputs of a normalisation, by the names that versions of ONNX give them.
_NORM = {"scale": "scale", "b": "bias", "input_mean": "mean", "input_var": "var"}
#: Functions of one number that no tool leaves out, or puts in, by itself.
_FUNCTIONS = CUTTING | {
    "LeakyRelu", "Sigmoid", "Tanh", "Erf", "HardSigmoid", "HardSwish", "Elu", "Selu", "Softplus", "Gelu", "Softmax",
    "Exp", "Neg", "Abs", "Sqrt", "Sin", "Cos", "PRelu",
}  # fmt: skip
#: Makers of numbers that some functions leave as they are.
_NOT_NEGATIVE = frozenset(
    {"Relu", "Clip", "Sigmoid", "Softmax", "Exp", "Abs", "Sqrt", "HardSigmoid", "ReduceL2", "MaxPool", "Softplus"}
)
#: Operators into which, and out of which, converters move factors.
_SCALING = frozenset({"Mul", "Div", "Pow", "Sqrt", "Neg"})
#: Relative difference of settings that float16 may have made of one.
_SETTING = 2.0**-9
#: A code from which on a bias fills its 32 bits.
_FULL_BIAS = 2.0**30
#: Constants of a file of which this many, and more than half, deviate hold other weights: it was trained again.
_TRAINED_AGAIN = 3
#: One constant in this many may hold other numbers for no reason that shows; where more do, something explains it.
_LONE = 4


#: Where a file holds a constant: the first result of the operator that reads it, and the part that it plays there.
Source = tuple[str, str]


@dataclass(frozen=True)
class Finding:
    """A difference between an operator of one file and its counterpart in the other.

    Attributes:
        node: The operator of the candidate.
        tensor: The tensor that the candidate makes with it, or first of it, and that has a counterpart.
        words: The difference, in words that end with the other file's side of it.
        accuses: Whether no tool makes such a difference on purpose.
    """

    node: GraphNode
    tensor: str
    words: str
    accuses: bool


@dataclass(frozen=True)
class NetworkComparison:
    """What two files have been told apart by.

    Attributes:
        findings: The differences, in the order of the candidate's graph.
        constants: Number of constants that were compared.
        deviating: Number of those that deviate by more than a step.
        trained_again: Whether the files hold weights of their own, as after training again.
        rescaled: Number of constants of which slices were multiplied by factors of their own.
        covered: Number of constants of the file of which more were compared, and how many of its constants there are.
        is_same: Whether all that both files calculate with was compared, and nothing differs by more than a step.
    """

    findings: tuple[Finding, ...] = ()
    constants: int = 0
    deviating: int = 0
    trained_again: bool = False
    rescaled: int = 0
    covered: tuple[int, int] = (0, 0)
    is_same: bool = False

    @property
    def accusing(self) -> tuple[Finding, ...]:
        """The differences that no tool makes on purpose."""
        return tuple(item for item in self.findings if item.accuses)

    @property
    def equalised(self) -> frozenset[str]:
        """The tensors that equalisation or smoothing multiplied, if it did; their readers have to undo it."""
        return frozenset(item.tensor for item in self.findings if not item.accuses) if self.rescaled else frozenset()


def compare_networks(
    candidate: DeclaredGraph, reference: DeclaredGraph, inputs: TensorMetadata | None = None
) -> NetworkComparison:
    """Compare two files of one network without running either.

    Args:
        candidate: The file to judge.
        reference: The file to believe.
        inputs: Types and shapes of what will be fed; by default what the reference says.
    """
    fed = inputs if inputs is not None else reference.inputs
    candidate_side, reference_side = ModelSide(candidate, fed), ModelSide(reference, fed)
    if same_operators(candidate, reference):
        return compare_sides(
            candidate_side, reference_side, [Match(name, name, SAME_NAME) for name in candidate_side.computed]
        )
    return compare_sides(
        candidate_side,
        reference_side,
        join(pair_sides(candidate_side, reference_side), candidate_side, reference_side).matches,
    )


def compare_sides(candidate: ModelSide, reference: ModelSide, matches: Sequence[Match]) -> NetworkComparison:
    """Compare two files of which the tensors are paired.

    Args:
        candidate: The candidate's graph.
        reference: The reference's.
        matches: Pairs of their tensors.
    """
    graphs = candidate.graph, reference.graph
    if not isinstance(graphs[0], DeclaredGraph) or not isinstance(graphs[1], DeclaredGraph):
        return NetworkComparison()
    return _Comparison(candidate, reference, (graphs[0], graphs[1]), matches).result()


@dataclass(frozen=True)
class _PartOperator:
    """An operator of a part, or the bias that one adds.

    Attributes:
        kind: Its plain type.
        node: The operator.
        graph: Its model.
        is_bias: Whether it is the bias of a product.
    """

    kind: str
    node: GraphNode
    graph: DeclaredGraph
    is_bias: bool = False

    def constants(self) -> dict[str, Constant]:
        """Read what the operator calculates with besides what it is fed, by the part that plays.

        The condition of an If chooses between branches that are not compared, so that it says nothing by itself.
        """
        if self.node.op_type == "If":
            return {}
        constants = dict(self.graph.constants(self.node))
        if self.is_bias:
            return {"constant": constants["bias"]} if "bias" in constants else {}
        return {role: item for role, item in constants.items() if role != "bias" or self.kind not in _PRODUCTS.values()}

    def settings(self) -> Mapping[str, Any]:
        """Return what the operator is told to do."""
        return self.graph.settings(self.node)

    def sources(self, role: str) -> Iterator[Source]:
        """Yield what the file holds a constant of the operator in, or the constants that it is made of."""
        yield self.node.outputs[0], "bias" if self.is_bias else role


@dataclass(frozen=True)
class _Folded(_PartOperator):
    """A product, or the bias behind it, with the normalisation behind that folded into it.

    Attributes:
        bias: The bias of the product; None where it has none.
        norm: The normalisation.
        unit: Unit roundoff of the folding.
    """

    bias: _PartOperator | None = None
    norm: _PartOperator | None = None
    unit: float = 0.0

    def constants(self) -> dict[str, Constant]:
        """Calculate the weight, or the bias, that does what product and normalisation do."""
        assert self.norm is not None
        held = {role.lower(): item.values.astype(np.float64) for role, item in self.norm.constants().items()}
        scale, shift, mean, variance = (held.get(_NORM[place], held.get(place)) for place in _NORM)
        weight = self.graph.constants(self.node).get("weight")
        if scale is None or shift is None or mean is None or variance is None or weight is None:
            return {}
        factors = scale / np.sqrt(variance + float(self.norm.settings().get("epsilon", 1e-5)))
        if not self.is_bias:
            axis = _CHANNELS.get(self.kind, 1)
            if weight.values.ndim <= axis or weight.values.shape[axis] != factors.size:
                return {}
            shaped = factors.reshape([-1 if place == axis else 1 for place in range(weight.values.ndim)])
            values = weight.values.astype(np.float64) * shaped
            return {"weight": replace(weight, values=values, unit=self.unit, step=weight.step * np.abs(shaped))}
        added = self.bias.constants() if self.bias is not None else {}
        before = next((item.values.reshape(-1).astype(np.float64) for item in added.values()), np.zeros(()))
        values = (before - mean) * factors + shift
        step = 2 * self.unit * ((np.abs(before) + np.abs(mean)) * np.abs(factors) + np.abs(shift))
        return {"constant": Constant(weight.name, values, self.unit, step, weight.kind)}

    def sources(self, role: str) -> Iterator[Source]:
        """Yield the constants of the product, or of the bias, and those of the normalisation."""
        if not self.is_bias:
            yield self.node.outputs[0], "weight"
        for step in filter(None, (self.norm, self.bias if self.is_bias else None)):
            for part in step.constants():
                yield from step.sources(part)


def _folded(steps: Sequence[_PartOperator], unit: float) -> list[_PartOperator]:
    """Return steps with each normalisation folded into the product before it, as optimisers do.

    Args:
        steps: The steps.
        unit: Unit roundoff of the folding.
    """
    folded: list[_PartOperator] = []
    for step in steps:
        bias = folded[-1] if folded and folded[-1].kind == "Add" else None
        product = folded[-1 if bias is None else -2] if len(folded) > (bias is not None) else None
        if step.kind != "BatchNormalization" or product is None or product.kind not in _CHANNELS:
            folded.append(step)
            continue
        del folded[-1 if bias is None else -2 :]
        for is_bias in (False, True):
            kind = "Add" if is_bias else product.kind
            folded.append(_Folded(kind, product.node, product.graph, is_bias, bias=bias, norm=step, unit=unit))
    return folded


@dataclass
class _Pair:
    """What makes a tensor in both files.

    Attributes:
        tensor: Its name in the candidate.
        candidate: Steps of the candidate.
        reference: Steps of the reference.
        reads: The tensors that both read, by their names in the candidate.
        wired: Whether both read the same tensors.
        readers: The tensors that are made of it.
    """

    tensor: str
    candidate: list[_PartOperator]
    reference: list[_PartOperator]
    reads: tuple[str, ...]
    wired: bool
    readers: list[str] = field(default_factory=list)

    @cached_property
    def is_same(self) -> bool:
        """Whether the operators are the same."""
        return self.wired and [step.kind for step in self.candidate] == [step.kind for step in self.reference]

    @cached_property
    def calculating(self) -> list[tuple[_PartOperator, _PartOperator]] | None:
        """The operators that do more than move elements, side by side; None where they are not the same."""
        steps = [[step for step in steps if step.kind not in MOVING] for steps in (self.candidate, self.reference)]
        same = self.wired and [step.kind for step in steps[0]] == [step.kind for step in steps[1]]
        return list(zip(*steps, strict=True)) if same else None


@dataclass(frozen=True)
class _Off:
    """A constant that deviates.

    Attributes:
        pair: What makes a tensor with it.
        step: The operator that reads it.
        twin: The other file's operator.
        role: The part that it plays there.
        words: Its name, and what it is not.
        size: Number of its elements.
        deviation: How it deviates.
        is_clean: Whether nothing around it was changed.
    """

    pair: _Pair
    step: _PartOperator
    twin: _PartOperator
    role: str
    words: str
    size: int
    deviation: Deviation
    is_clean: bool


class _Comparison:
    def __init__(
        self,
        candidate: ModelSide,
        reference: ModelSide,
        graphs: tuple[DeclaredGraph, DeclaredGraph],
        matches: Sequence[Match],
    ) -> None:
        self.candidate, self.reference, self.graphs = candidate, reference, graphs
        self.to, self.first = shared_names(matches, candidate, reference)
        self.pairs: dict[str, _Pair] = {}
        self.compared = 0
        self.covered: tuple[set[Source], set[Source]] = set(), set()
        self.is_coded = False
        for match in matches:
            if self.first[match.reference] == match.candidate:
                self.pairs[match.candidate] = self._pair(match)
        self.pairs.update(self._static_pairs())
        for pair in self.pairs.values():
            for name in pair.reads:
                if name in self.pairs:
                    self.pairs[name].readers.append(pair.tensor)
        self.place = {name: index for index, node in enumerate(candidate.graph.nodes) for name in node.outputs}

    def result(self) -> NetworkComparison:
        """Return what the files differ by."""
        off = [item for pair in self.pairs.values() for item in self._constants(pair)]
        beyond = [item for item in off if item.deviation.kind != STEP]
        again = len(beyond) >= _TRAINED_AGAIN and 2 * len(beyond) > self.compared
        covered, is_whole = self._coverage()
        # What undoes the factors of one constant would be another one that deviates, or an operator that scales.
        is_undone = len(beyond) > 1 or covered[0] < covered[1] or self._is_scaling_moved
        scaled = sum(item.deviation.kind == SCALED_SLICES for item in off) + _smoothed_norms(beyond) if is_undone else 0
        findings = [self._judged(item, beyond, again=again, scaled=bool(scaled)) for item in off]
        for pair in self.pairs.values():
            findings += self._settings(pair) if pair.is_same else [*self._operators(pair), *self._norms(pair)]
        findings.sort(key=lambda item: self.place.get(item.tensor, -1))
        is_same = is_whole and all(item.deviation.kind == STEP for item in off) and len(findings) == len(off)
        return NetworkComparison(tuple(findings), self.compared, len(beyond), again, scaled, covered, is_same)

    # --- parts

    def _pair(self, match: Match) -> _Pair:
        candidate_part, reference_part = (
            part_of(self.candidate, match.candidate, self.to),
            part_of(self.reference, match.reference, self.first),
        )
        reads = {self.to[name] for name in candidate_part.inputs}
        steps = (
            list(_steps(self.candidate, self.graphs[0], candidate_part)),
            list(_steps(self.reference, self.graphs[1], reference_part)),
        )
        norms = [sum(step.kind == "BatchNormalization" for step in one) for one in steps]
        if norms[0] != norms[1]:
            kinds = {self.candidate.type_name(match.candidate), self.reference.type_name(match.reference)}
            unit = 4 * max(unit_of(kind) for kind in (*kinds, "float32") if kind in _FLOATS)
            steps = _folded(steps[0], unit), _folded(steps[1], unit)
        return _Pair(
            match.candidate,
            steps[0],
            steps[1],
            tuple(self.first[name] for name in sorted(reads)),
            reads == set(reference_part.inputs),
        )

    def _static_pairs(self) -> Iterator[tuple[str, _Pair]]:
        """Yield what makes tensors of one name of weights alone, such as a table of positions, in both files."""
        for name, node in self.candidate.maker.items():
            twin = self.reference.maker.get(name)
            if (
                twin is None
                or name not in self.candidate.static
                or name not in self.reference.static
                or name in self.pairs
            ):
                continue
            if name != node.outputs[0] or not calculates(node) or not calculates(twin):
                continue
            steps = [
                list(_steps_of(side.kind(maker), maker, graph))
                for side, maker, graph in zip((self.candidate, self.reference), (node, twin), self.graphs, strict=True)
            ]
            yield name, _Pair(name, steps[0], steps[1], (), wired=True)

    def _coverage(self) -> tuple[tuple[int, int], bool]:
        """Return how many constants of the file of which more were compared were, of how many, and whether all was."""
        pairs = self.pairs.values()
        counts, is_whole = [], all(map(self._is_alike, pairs))
        steps = (
            [step for pair in pairs for step in pair.candidate],
            [step for pair in pairs for step in pair.reference],
        )
        for side, graph, compared, side_steps in zip(
            (self.candidate, self.reference), self.graphs, self.covered, steps, strict=True
        ):
            held = {node.outputs[0]: graph.constants(node) for node in graph.nodes if node.outputs}
            sources = {(name, role) for name, roles in held.items() for role in roles}
            counts.append((len(sources & compared), len(sources)))
            paired = {id(step.node) for step in side_steps}
            is_whole = is_whole and all(
                id(node) in paired and not self._is_untold(side, node, held[node.outputs[0]]) for node in side.nodes
            )
            # Steps for what is calculated come of a calibration, which no constant of the other file tells of.
            is_whole = is_whole and not any(
                rounds_to_static_steps(node.op_type) and not side.static.issuperset(node.outputs)
                for node in graph.nodes
            )
        best = min(counts, key=lambda item: (item[1] - item[0], -item[1]))
        return best, is_whole and best[0] == best[1]

    @staticmethod
    def _is_untold(side: ModelSide, node: GraphNode, constants: Mapping[str, Constant]) -> bool:
        """Return whether an operator calculates with numbers that are not told: graphs inside, or any weight."""
        reads_weights = side.kind(node) in _PRODUCTS and not side.graph.weights.keys().isdisjoint(node.inputs)
        return node.op_type in CONTROL_FLOW or (reads_weights and not constants)

    @staticmethod
    def _is_alike(pair: _Pair) -> bool:
        """Return whether both files make a tensor with the same operators, which are told the same."""
        return pair.calculating is not None and all(
            one.is_bias or _are_told_alike(one.settings(), two.settings())
            for one, two in pair.calculating
            if (one.node.op_type, one.node.domain) == (two.node.op_type, two.node.domain)
        )

    def _is_clean(self, pair: _Pair) -> bool:
        """Return whether neither what makes the tensors of a part nor what reads them calculates otherwise."""
        around = (self.pairs[name] for name in (*pair.reads, *pair.readers) if name in self.pairs)
        return all(one.calculating is not None for one in around)

    # --- constants

    def _constants(self, pair: _Pair) -> Iterator[_Off]:
        clean = self._is_clean(pair)
        for one, two in pair.calculating or ():
            if any(map(self.candidate.is_blocked, one.node.outputs)) or any(
                map(self.reference.is_blocked, two.node.outputs)
            ):
                continue  # its weight lies in blocks, too
            twin_constants = two.constants()
            for role, constant in one.constants().items():
                counterpart = twin_constants.get(role)
                if counterpart is None or not are_alike(constant, counterpart):
                    continue
                self.compared += 1
                for known, step in zip(self.covered, (one, two), strict=True):
                    known.update(step.sources(role))
                self.is_coded = self.is_coded or constant.coded or counterpart.coded
                difference = deviation(constant, counterpart)
                if difference is not None:
                    kind = f" the {constant.kind} of" if constant.kind != counterpart.kind else ""
                    words = f"the constant {constant.name!r} of {one.node.label} is not{kind} the other file's"
                    yield _Off(pair, one, two, role, words, constant.values.size, difference, clean)

    def _judged(self, item: _Off, beyond: Sequence[_Off], *, again: bool, scaled: bool) -> Finding:
        kind = item.deviation.kind
        accuses = item.is_clean and not again and (kind in FAULTS or kind == OTHER)
        if accuses and kind in {TRANSPOSED, REORDERED} and not self._is_laid_out_alike:
            accuses = False
        elif accuses and kind == EMPTIED:
            accuses = not self._has_full_bias(item.step)
        elif kind == SCALED_SLICES:
            accuses = item.is_clean and not again and not scaled
        elif accuses and kind == FACTOR:
            accuses = not self._is_moved_factor(item, beyond)
        elif accuses and kind == OTHER:
            lone = _LONE * sum(one.deviation.kind == OTHER for one in beyond) <= self.compared
            accuses = lone and not scaled and not self.is_coded
        if accuses and item.step.is_bias and self.is_coded:  # quantisers move biases by what rounding shifts
            accuses = kind in {ZERO, FACTOR, REORDERED}
        if accuses and kind in {OTHER, REORDERED, VALUE} and self._is_swapped(item, beyond):
            accuses = False
        return Finding(item.step.node, item.pair.tensor, f"{item.words}: {item.deviation.words}", accuses)

    @staticmethod
    def _has_full_bias(step: _PartOperator) -> bool:
        """Return whether an operator's bias fills its 32 bits, for which quantisers enlarge the weight's step."""
        bias = step.graph.constants(step.node).get("bias")
        return bias is not None and bool(np.any(np.abs(bias.values) >= _FULL_BIAS * bias.step)) and bias.coded

    def _is_moved_factor(self, item: _Off, beyond: Sequence[_Off]) -> bool:
        """Return whether an operator that scales was taken out or put in, or another constant has the inverse."""
        factor = item.deviation.factor
        if self._is_scaling_moved:
            return True
        others = [one.deviation.factor for one in beyond if one is not item and one.deviation.kind == FACTOR]
        return any(math.isclose(one * factor, 1.0, rel_tol=_SETTING) for one in others)

    @cached_property
    def _is_scaling_moved(self) -> bool:
        """Whether an operator that scales was taken out or put in."""
        candidate, reference = (
            Counter(kind for node in side.nodes if (kind := side.kind(node)) in _SCALING)
            for side in (self.candidate, self.reference)
        )
        return candidate != reference

    @staticmethod
    def _is_swapped(item: _Off, beyond: Sequence[_Off]) -> bool:
        """Return whether the constant is the counterpart of another one, so that the pairing is in doubt."""
        constant = item.step.constants()[item.role]
        others = (one for one in beyond if one is not item and one.size == item.size)
        return any(same_grid(constant, one.twin.constants()[one.role]) for one in others)

    # --- settings

    @cached_property
    def _is_laid_out_alike(self) -> bool:
        """Whether both files move the elements of tensors alike, but for one Transpose that may be another.

        Optimisers move Transposes past other operators, with which axes change and tensors of one name are laid out
        otherwise.
        """
        moving = [
            Counter(
                (node.op_type, node.attributes.get("perm") and tuple(node.attributes["perm"]))
                for node in side.graph.nodes
                if node.op_type in MOVING and node.op_type != "Identity" and side.is_root(node.outputs[0])
            )
            for side in (self.candidate, self.reference)
        ]
        more, fewer = moving[0] - moving[1], moving[1] - moving[0]
        kinds = [[kind for kind, _ in items.elements()] for items in (more, fewer)]
        return kinds in ([[], []], [["Transpose"], ["Transpose"]])

    def _settings(self, pair: _Pair) -> Iterator[Finding]:
        clean = self._is_clean(pair) and self._is_laid_out_alike
        for one, two in zip(pair.candidate, pair.reference, strict=True):
            node, twin = one.node, two.node
            if not one.is_bias and (node.op_type, node.domain) == (twin.op_type, twin.domain):
                yield from self._differing(pair, one, two, one.settings(), accuses=clean)

    def _norms(self, pair: _Pair) -> Iterator[Finding]:
        """Yield the number added to a variance where an operator that does more replaces a normalisation."""
        norms = [[step for step in steps if step.kind in _NORMS] for steps in (pair.candidate, pair.reference)]
        kinds = [[step.kind for step in steps] for steps in norms]
        if pair.wired and len(kinds[0]) == 1 and kinds[0] == kinds[1]:
            (one,), (two,) = norms
            told = {name: value for name, value in one.settings().items() if name == "epsilon"}
            yield from self._differing(pair, one, two, told, accuses=True)

    def _differing(
        self, pair: _Pair, one: _PartOperator, two: _PartOperator, settings: Mapping[str, Any], *, accuses: bool
    ) -> Iterator[Finding]:
        """Yield the settings of an operator that its counterpart has, too, with another value.

        Args:
            pair: The part.
            one: The operator.
            two: Its counterpart.
            settings: Those of the operator that are compared.
            accuses: Whether no tool makes such a difference on purpose.
        """
        twin_settings, least = two.settings(), self._least(pair)
        for name, value in settings.items():
            if name in twin_settings and not _is_equal(value, twin_settings[name], least):
                words = (
                    f"{name!r} of {one.node.label} is {_shown(value)}, in the other file {_shown(twin_settings[name])}"
                    f"{_by_opset(name, one.node, two.node)}"
                )
                yield Finding(one.node, pair.tensor, words, accuses)

    def _least(self, pair: _Pair) -> float:
        """Return the size up to which a file may make positive numbers larger, lest its type rounds them to 0."""
        kinds = {self.candidate.type_name(pair.tensor), self.reference.type_name(self.to.get(pair.tensor, pair.tensor))}
        return LIFTED if "float16" in kinds else 0.0

    # --- operators

    def _operators(self, pair: _Pair) -> Iterator[Finding]:
        """Yield the operator that one file has and the other has not, where that is the only difference of a part."""
        if not pair.wired or not pair.candidate or not self._is_clean(pair):
            return
        around = [pair, *(self.pairs[name] for name in (*pair.reads, *pair.readers) if name in self.pairs)]
        if any(step.node.domain not in _STANDARD for one in around for step in (*one.candidate, *one.reference)):
            return  # such an operator may do the work of several
        kinds = [[step.kind for step in steps] for steps in (pair.candidate, pair.reference)]
        lacking = _one_more(kinds[0], kinds[1])
        if lacking is not None:
            step = pair.reference[lacking]
            before = pair.reference[lacking - 1].kind if lacking else self._made_by(self.reference, step.node)
            if self._is_needed(step, before):
                near = pair.candidate[min(lacking, len(pair.candidate) - 1)].node
                words = f"{_named(step)} of the other file has no counterpart before {pair.tensor!r}"
                yield Finding(near, pair.tensor, words, True)
            return
        more = _one_more(kinds[1], kinds[0])
        if more is not None:
            step = pair.candidate[more]
            before = pair.candidate[more - 1].kind if more else self._made_by(self.candidate, step.node)
            if self._is_needed(step, before):
                yield Finding(step.node, pair.tensor, f"{_named(step)} has no counterpart in the other file", True)

    def _is_needed(self, step: _PartOperator, before: str) -> bool:
        """Return whether no tool leaves an operator out.

        Args:
            step: The operator.
            before: The type of the operator before it.
        """
        constants = step.constants() if step.kind == "Add" else {}
        if constants:
            return before in _PRODUCTS and any(item.values.any() for item in constants.values())
        if self.is_coded or step.kind not in _FUNCTIONS:
            return False
        return before not in _NOT_NEGATIVE and before != step.kind

    @staticmethod
    def _made_by(side: ModelSide, node: GraphNode) -> str:
        reads = side.reads(node)
        maker = side.node(reads[0]) if reads else None
        return "" if maker is None else side.kind(maker)


def _steps(side: ModelSide, graph: DeclaredGraph, part: Part) -> Iterator[_PartOperator]:
    """Yield the operators of a part that do more than round; a product and its bias as two."""
    for node in part.nodes:
        if not any(side.is_root(name) for name in node.outputs):
            continue
        yield from _steps_of(side.kind(node), node, graph)


def _steps_of(kind: str, node: GraphNode, graph: DeclaredGraph) -> Iterator[_PartOperator]:
    yield _PartOperator(_PRODUCTS.get(kind, kind), node, graph)
    if kind in _PRODUCTS and has_bias(node):
        yield _PartOperator("Add", node, graph, is_bias=True)


def _smoothed_norms(beyond: Sequence[_Off]) -> int:
    """Return the number of constants of normalisations whose weight and bias are multiplied by the same factors.

    Smoothing multiplies them so, by a factor for each channel that the operators behind undo.
    """
    norms: dict[str, list[_Off]] = {}
    for item in beyond:
        if item.deviation.kind == OTHER and item.deviation.rank == 1:
            norms.setdefault(item.step.node.outputs[0], []).append(item)
    return sum(len(items) for items in norms.values() if len(items) == 2 and _are_multiplied_alike(*items))


def _are_multiplied_alike(one: _Off, two: _Off) -> bool:
    """Return whether two constants of an operator are their counterparts, multiplied by the same factors."""
    constants, twin_constants = one.step.constants(), one.twin.constants()
    if constants[one.role].values.size != constants[two.role].values.size:
        return False
    # a / c = b / d of their numbers, as a d = b c, up to half a step of each.
    (a, b), (c, d) = (
        [(side[role].values.reshape(-1).astype(np.float64), _half_steps(side[role])) for role in (one.role, two.role)]
        for side in (constants, twin_constants)
    )
    bound = sum(
        np.abs(x) * y_steps + np.abs(y) * x_steps + x_steps * y_steps for (x, x_steps), (y, y_steps) in ((a, d), (b, c))
    )
    return bool(np.all(np.abs(a[0] * d[0] - b[0] * c[0]) <= bound))


def _half_steps(constant: Constant) -> NDArray[np.float64]:
    """Return by how much each number of a constant may be off by the grid that its file declares."""
    values = np.abs(constant.values.astype(np.float64))
    return np.asarray(constant.unit * values + constant.step / 2 + unit_of("float32") * values).reshape(-1)


def _named(step: _PartOperator) -> str:
    """Return an operator for people; a bias by its constant."""
    if step.is_bias:
        return f"the bias {next(iter(step.constants().values())).name!r} of {step.node.label}"
    return step.node.label


def _one_more(fewer: Sequence[str], more: Sequence[str]) -> int | None:
    """Return the place of the one item that a sequence has more than another; None where they differ otherwise."""
    if len(more) != len(fewer) + 1:
        return None
    place = next((index for index, pair in enumerate(zip(fewer, more, strict=False)) if pair[0] != pair[1]), len(fewer))
    return place if list(more[place + 1 :]) == list(fewer[place:]) else None


def _is_equal(one: Any, two: Any, least: float = 0.0) -> bool:
    """Return whether two settings mean the same, real numbers but for rounding to float16.

    Args:
        one: A setting.
        two: The other one.
        least: Size up to which positive numbers were made larger, so that a type does not round them to 0.
    """
    if isinstance(one, tuple) and isinstance(two, tuple):
        return len(one) == len(two) and all(_is_equal(*pair, least) for pair in zip(one, two, strict=True))
    if isinstance(one, str) and isinstance(two, str):
        return one.lower() == two.lower()
    if isinstance(one, float) or isinstance(two, float):
        if min(one, two) > 0 and max(one, two) <= least:
            return True
        if min(abs(one), abs(two)) >= MASKING and (one > 0) == (two > 0):
            return True
        return math.isclose(one, two, rel_tol=_SETTING)
    return bool(one == two)


def _are_told_alike(one: Mapping[str, Any], two: Mapping[str, Any]) -> bool:
    """Return whether what is said in both settings is the same, but for rounding to float16."""
    return all(_is_equal(value, two[name]) for name, value in one.items() if name in two)


def _by_opset(name: str, node: GraphNode, twin: GraphNode) -> str:
    """Say that both files tell an operator the same, which versions of the format take otherwise; empty elsewhere."""
    told, also_told = (one.attributes.get(name) for one in (node, twin))
    if told is not None and told == also_told:
        return f": both files say {_shown(told)}, of which their opsets make something else"
    if (
        told is None and also_told is None and max(len(node.inputs), len(twin.inputs)) == 1
    ):  # nor does a constant say it
        return ": neither file says so, but the opset of each"
    return ""


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
