"""Matching the tensors of two graphs: by name, through rounding, by the weights they read, by structure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import NamedTuple, TypeVar

from polycmp.graph import GraphNode, ModelGraph
from polycmp.tensors import is_size
from polycmp_locate.pairing.absorbed import absorbed, activation_of, code_ends, find_absorbed, find_folded, has_bias
from polycmp_locate.pairing.names import base_name, is_counted, is_generic, pair_names, pair_program
from polycmp_locate.pairing.result import GIVEN, SAME_NAME, SAME_WEIGHT, STRUCTURE, THROUGH, Match, Pairing
from polycmp_locate.pairing.side import COMMUTATIVE, CONTROL_FLOW, ModelSide, plain_type

Key = TypeVar("Key")
#: Number of operators after a tensor that tell it from others like it.
_DEPTH = 4


def pair_graphs(candidate: ModelGraph, reference: ModelGraph) -> Pairing:
    """Pair the tensors of two graphs.

    Matched are tensors of equal names where what makes them does not speak against it; tensors whose names a
    converter made of each other's; tensors that are another one rounded (Cast, QuantizeLinear and so on); the results
    of operators of one type on the same weight; then, again and again, what the same operator makes of matched tensors
    and what the same operator reads to make them, where only one tensor on each side can be meant and the shapes fit.

    Args:
        candidate: The model to judge.
        reference: The model to believe.
    """
    return pair_sides(ModelSide(candidate, reference.inputs), ModelSide(reference, reference.inputs))


def pair_sides(candidate: ModelSide, reference: ModelSide, known_pairs: Mapping[str, str] | None = None) -> Pairing:
    """Pair the tensors of two graphs.

    Args:
        candidate: The graph of the model to judge.
        reference: The graph of the model to believe.
        known_pairs: Names in the candidate's model -> names in the reference's, of tensors known to belong together.
    """
    matching = _Matching(candidate, reference)
    pairing = matching.run(known_pairs or {})
    if not matching.resized:
        return pairing
    # A file that keeps the sizes of its example inputs makes other shapes, and so does all that follows.
    without_sizes = _Matching(candidate, reference, sizes=False).run(known_pairs or {})
    return without_sizes if len(without_sizes.matches) > len(pairing.matches) else pairing


class _Half(NamedTuple):
    """One of the two graphs that are paired.

    Attributes:
        side: The graph.
        images: The other graph's tensors by those of this one, roots of classes.
        is_candidate: Whether it is the candidate's.
    """

    side: ModelSide
    images: dict[str, str]
    is_candidate: bool

    def ordered(self, one: str, two: str) -> tuple[str, str]:
        """Return a tensor of this graph and one of the other with the candidate's first, or the reverse of that."""
        return (one, two) if self.is_candidate else (two, one)


class _Matching:
    """One pairing in the making, of classes of tensors that are the same but for rounding.

    Args:
        candidate: The candidate's graph.
        reference: The reference's.
        sizes: Whether the sizes of dimensions must agree; their number must anyway.

    Attributes:
        resized: Whether the same operator on matched tensors makes tensors of other sizes.
    """

    def __init__(self, candidate: ModelSide, reference: ModelSide, sizes: bool = True) -> None:
        self.candidate, self.reference, self.sizes = candidate, reference, sizes
        self.resized = False
        self.to_reference: dict[str, str] = {}
        self.to_candidate: dict[str, str] = {}
        halves = _Half(candidate, self.to_reference, True), _Half(reference, self.to_candidate, False)
        self.ways = halves, halves[::-1]
        self.methods: dict[str, str] = {}
        self.direct: dict[str, Match] = {}
        self.doubted: dict[str, str] = {}
        self.believed: set[str] = set()
        self.absorbed: list[str] = []
        self.uncut: dict[str, str] = {}
        self.known_pairs: dict[str, str] = {}
        names = [set(map(base_name, side.graph.weights)) for side in (candidate, reference)]
        self.shared_names = frozenset(name for name in names[0] & names[1] if not is_counted(name))

    def run(self, known_pairs: Mapping[str, str]) -> Pairing:
        """Match all that can be matched."""
        self.known_pairs.update(known_pairs)
        for name in self.candidate.graph.inputs:
            if name in self.reference.graph.inputs:
                self._join(self.candidate.root(name), self.reference.root(name), SAME_NAME)
        for name, target in known_pairs.items():
            self._join(self.candidate.root(name), self.reference.root(target), GIVEN)
        self._by_names()
        self._by_weights()
        while (
            any(self._absorb(*way) for way in self.ways)
            or any(self._fold(*way) for way in self.ways)
            or self._forward()
            or self._backward()
            or self._doubt()
            or self._by_doubted_names()
        ):
            pass
        matches = tuple(self._matches())
        codes = frozenset(match.candidate for match in matches if match.candidate in self.candidate.codes)
        absorbed = tuple(dict.fromkeys(self.absorbed))
        uncut = {
            match.candidate: before
            for match in matches
            if (before := self.uncut.get(self.candidate.root(match.candidate))) is not None
        }
        return Pairing(
            matches, self.candidate.floats, self.reference.floats, absorbed=absorbed, codes=codes, uncut=uncut
        )

    def _join(self, candidate: str, reference: str, method: str) -> bool:
        """Match two classes, unless one has a match already."""
        if candidate in self.to_reference or reference in self.to_candidate:
            return False
        self.to_reference[candidate] = reference
        self.to_candidate[reference] = candidate
        self.methods[candidate] = method
        return True

    # --- names

    def _by_names(self) -> None:
        matches = [
            *pair_names(self.candidate.computed, self.reference.computed),
            *pair_program(self.candidate.modules, self.reference.computed),
        ]
        for match in sorted(matches, key=lambda item: item.method != SAME_NAME):  # otherwise in the order of the graph
            self._absorb_named(match)
            if self._may_be_same(match):
                self._join(self.candidate.root(match.candidate), self.reference.root(match.reference), match.method)
                self.direct[match.candidate] = match
        while self._doubt():
            pass

    def _may_be_same(self, match: Match) -> bool:
        """Return whether nothing speaks against two tensors of one name being the same."""
        one, two = self._maker(self.candidate, match.candidate), self._maker(self.reference, match.reference)
        if one is None or two is None:
            return one is two
        same = self.candidate.kind(one) == self.reference.kind(two)
        if same and is_generic(match.reference) and self._reads_other(one, two):
            if match.candidate == match.reference:
                self.doubted[self.candidate.root(match.candidate)] = self.reference.root(match.reference)
            return False
        if same and match.candidate == match.reference and not self._may_be_other(match.reference):
            return self._same_class(match.candidate, match.reference)
        if same:
            return self.fits(match.candidate, match.reference)
        replaced = bool(one.domain or two.domain) or (
            plain_type(one) not in self.reference.op_types or plain_type(two) not in self.candidate.op_types
        )
        return replaced and self.fits(match.candidate, match.reference)

    def _may_be_other(self, name: str) -> bool:
        """Return whether a name is one that exporters count up, of what is computed about sizes and not of the data."""
        return is_generic(name) and name not in self.reference.floats

    @staticmethod
    def _maker(side: ModelSide, name: str) -> GraphNode | None:
        return side.node(side.root(name))

    def _doubt(self) -> bool:
        """Undo matches by name that contradict later matches; return whether there were any."""
        identity = {name: name for name in self.to_candidate}
        candidate_keys = {
            node.outputs: self._key(self.candidate, node, self.to_reference) for node in self.candidate.nodes
        }
        reference_keys = {node.outputs: self._key(self.reference, node, identity) for node in self.reference.nodes}
        alike = {key for key in candidate_keys.values() if key is not None} & set(reference_keys.values())

        def elsewhere(candidate_node: GraphNode, reference_node: GraphNode) -> bool:
            """Return whether another operator does to the same tensors what one of these does."""
            candidate_key = candidate_keys.get(candidate_node.outputs)
            reference_key = reference_keys.get(reference_node.outputs)
            return candidate_key != reference_key and (candidate_key in alike or reference_key in alike)

        contradicted = [name for name in self.to_reference if self._is_contradicted(name, elsewhere)]
        for name in contradicted:
            self.doubted[name] = self.to_reference.pop(name)
            del self.to_candidate[self.doubted[name]]
        self.direct = {
            name: item for name, item in self.direct.items() if self.candidate.root(name) not in contradicted
        }
        return bool(contradicted)

    def _by_doubted_names(self) -> bool:
        """Match a tensor of one name that reads others on both sides; return whether any was.

        Exporters count names up, so that the same one may be another tensor; but nothing else is left for it here, and
        most names mean the same in both models: one was made of the other, and what this operator reads was changed.
        """
        unmatched = [
            name
            for name, reference in self.doubted.items()
            if name not in self.to_reference
            and reference not in self.to_candidate
            and not self._may_be_other(reference)
        ]
        confirmed = [name for name, method in self.methods.items() if method == SAME_NAME and self._is_confirmed(name)]
        if not unmatched or len(confirmed) <= len(unmatched):
            return False
        self.believed.add(unmatched[0])
        return self._join(unmatched[0], self.doubted[unmatched[0]], SAME_NAME)

    def _is_confirmed(self, name: str) -> bool:
        """Return whether what makes two matched tensors is of one type and reads matched tensors."""
        one = self.candidate.node(name)
        two = self.reference.node(self.to_reference[name]) if name in self.to_reference else None
        if one is None or two is None or self.candidate.kind(one) != self.reference.kind(two):
            return False
        return bool(
            {self.to_reference.get(read) for read in self.candidate.reads(one)} & set(self.reference.reads(two))
        )

    def _is_contradicted(self, name: str, elsewhere: Callable[[GraphNode, GraphNode], bool]) -> bool:
        """Return whether a name that exporters count up is that of another tensor.

        It is where both operators read tensors that are known to differ, or where on one side another operator does to
        the same tensors what this one does on the other side.
        """
        if name in self.believed:
            return False
        one, two = self.candidate.node(name), self.reference.node(self.to_reference[name])
        if one is None or two is None or self.candidate.kind(one) != self.reference.kind(two):
            return False
        if self.methods[name] != SAME_NAME or not is_generic(self.to_reference[name]):
            return False
        return self._reads_other(one, two) or elsewhere(one, two)

    def _reads_other(self, one: GraphNode, two: GraphNode) -> bool:
        """Return whether two operators are known to read different tensors."""
        images = {self.to_reference[name] for name in self.candidate.reads(one) if name in self.to_reference}
        known = {name for name in self.reference.reads(two) if name in self.to_candidate}
        return bool(images and known) and not images & set(self.reference.reads(two))

    # --- activations that codes do

    def _absorb_named(self, match: Match) -> None:
        """Match codes with an activation where their name says that they represent its result."""
        roots = self.candidate.root(match.candidate), self.reference.root(match.reference)
        for quantised, exact in self.ways:
            name, image = quantised.ordered(*roots)
            activation = activation_of(exact.side, image)
            codes = code_ends(quantised.side, name, activation) if activation is not None else []
            if activation is None or not codes or image in exact.images:
                continue
            self._join(*quantised.ordered(self._cut(quantised, name, codes, activation), image), match.method)
            before = activation.operand(0)
            if codes[0] != name:  # the activation reads it, from any operator: a normalisation may be folded
                self._join(*quantised.ordered(name, exact.side.root(before)), match.method)
            elif quantised.is_candidate:
                self.uncut[name] = before
            self.absorbed.append(absorbed(quantised.side, codes[0], exact.side, activation).sentence)
            return

    @staticmethod
    def _cut(quantised: _Half, name: str, codes: list[str], activation: GraphNode) -> str:
        """Return the root of the codes that do an activation, which are a class of their own from now on."""
        if codes[0] == name:
            quantised.side.replaced[name] = f"{plain_type(quantised.side.maker[name])} and {activation.op_type}"
        else:
            quantised.side.split(codes, activation.op_type)
        return codes[0]

    def _absorb(self, quantised: _Half, exact: _Half) -> bool:
        """Match codes with the activation that has no other counterpart; return whether any was."""
        absorbing = list(find_absorbed(quantised.side, quantised.images, exact.side, exact.images))
        for name, activation, codes in absorbing:
            root, method = self._cut(quantised, name, codes, activation), self._method(quantised, name)
            if root == name:
                del exact.images[quantised.images.pop(name)]
                if quantised.is_candidate:
                    self.uncut[root] = activation.operand(0)
            self._join(*quantised.ordered(root, exact.side.root(activation.outputs[0])), method)
            self.absorbed.append(absorbed(quantised.side, codes[0], exact.side, activation).sentence)
        return bool(absorbing)

    def _fold(self, optimised: _Half, exact: _Half) -> bool:
        """Match what an operator makes with the result of the normalisation that was folded into it; if any was."""
        folding = list(find_folded(optimised.side, optimised.images, exact.side, exact.images))
        for name, node in folding:
            method = self._method(optimised, name)
            del exact.images[optimised.images.pop(name)]
            self._join(*optimised.ordered(name, node.outputs[0]), method)
        return bool(folding)

    def _method(self, half: _Half, name: str) -> str:
        """Return how a tensor of one of the graphs was matched."""
        return self.methods[name if half.is_candidate else half.images[name]]

    # --- weights

    def _by_weights(self) -> None:
        """Match what operators of one type make that alone read a weight of one name."""
        readers = [self._weight_readers(side) for side in (self.candidate, self.reference)]
        for key, node in readers[0].items():
            twin = readers[1].get(key)
            if node is not None and twin is not None:
                self._join_products(node, twin, SAME_WEIGHT)
        for (half, other), (gemms, products) in zip(self.ways, (readers, readers[::-1]), strict=True):
            for (name, kind), node in gemms.items():
                product = products.get((name, "MatMul")) if kind == "Gemm" else None
                if node is not None and product is not None:
                    end = _end(other.side, product, biased=has_bias(node))
                    self._join_sum(*half.ordered(node.outputs[0], end), SAME_WEIGHT)

    def _join_products(self, node: GraphNode, twin: GraphNode, method: str) -> bool:
        """Match what two operators of one type make, after the sum where only one of them adds its bias itself.

        Quantised, a Conv may be a product of whole numbers, to which another operator adds the bias.
        """
        if has_bias(node) == has_bias(twin):
            return self._join_outputs(node, twin, method)
        one, two = node.outputs[0], twin.outputs[0]
        if has_bias(twin):
            one = _end(self.candidate, node, biased=True)
        else:
            two = _end(self.reference, twin, biased=True)
        if not (one and two) and node.op_type == twin.op_type:  # the bias is that of a folded normalisation
            return self._join_outputs(node, twin, method)
        return self._join_sum(one, two, method)

    def _join_sum(self, one: str, two: str, method: str) -> bool:
        """Match what a Gemm or Conv makes with the end of a product on the same weight; empty where it has none."""
        known = one and two and self.candidate.is_root(one) and self.reference.is_root(two) and self.fits(one, two)
        return bool(known) and self._join(one, two, method)

    @staticmethod
    def _weight_readers(side: ModelSide) -> dict[tuple[str, str], GraphNode | None]:
        readers: dict[tuple[str, str], GraphNode | None] = {}
        for node in side.nodes:
            for name in dict.fromkeys(base_name(weight) for weight in side.weights_of(node)):
                if not is_counted(name):
                    key = (name, side.kind(node))
                    readers[key] = None if key in readers else node
        return readers

    # --- structure

    def _forward(self) -> bool:
        """Match what the same operator makes of the same tensors; return whether any was."""
        candidate_nodes = self._unmatched_nodes(self.candidate, self.to_reference)
        reference_nodes = self._unmatched_nodes(self.reference, self.to_candidate)
        known = _groups(candidate_nodes, lambda node: self._key(self.candidate, node, self.to_reference))
        twins = _groups(
            reference_nodes, lambda node: self._key(self.reference, node, {name: name for name in self.to_candidate})
        )
        joined = False
        for key, nodes in known.items():
            for node, twin in self._unambiguous_pairs(nodes, twins.get(key, [])):
                joined = self._join_products(node, twin, STRUCTURE) or joined
        return joined

    @staticmethod
    def _unmatched_nodes(side: ModelSide, matched: Mapping[str, str]) -> list[GraphNode]:
        return [node for node in side.nodes if any(side.is_root(name) and name not in matched for name in node.outputs)]

    @staticmethod
    def _key(side: ModelSide, node: GraphNode, images: Mapping[str, str]) -> tuple[str, tuple[str, ...]] | None:
        read = [images.get(name) for name in side.reads(node)]
        names = [name for name in read if name is not None]
        if not read or len(names) < len(read):
            return None
        kind = side.kind(node)
        return kind, tuple(sorted(names) if kind in COMMUTATIVE else names)

    def _unambiguous_pairs(
        self, candidate_nodes: list[GraphNode], reference_nodes: list[GraphNode]
    ) -> Iterator[tuple[GraphNode, GraphNode]]:
        """Yield the operators of two groups that can only mean each other."""
        if len(candidate_nodes) == 1 and len(reference_nodes) == 1:
            yield candidate_nodes[0], reference_nodes[0]
            return
        if not candidate_nodes or not reference_nodes:
            return
        for depth in range(1, _DEPTH + 1):
            ones = _groups(candidate_nodes, partial(_behind_all, self.candidate, self.shared_names, depth))
            twos = _groups(reference_nodes, partial(_behind_all, self.reference, self.shared_names, depth))
            pairs = [(ones[key][0], twos[key][0]) for key in ones if len(ones[key]) == 1 == len(twos.get(key, ()))]
            if pairs:
                yield from pairs
                return

    def _backward(self) -> bool:
        """Match what the same operator reads to make matched tensors; return at the first that was."""
        for candidate, reference in list(self.to_reference.items()):
            node, twin = self.candidate.node(candidate), self.reference.node(reference)
            if node is None or twin is None or self.candidate.kind(node) != self.reference.kind(twin):
                continue
            if node.op_type in CONTROL_FLOW:
                continue
            if any(self._join_operands(*pair) for pair in self._operand_pairs(node, twin)):
                return True
        return False

    def _operand_pairs(self, node: GraphNode, twin: GraphNode) -> list[tuple[str, str]]:
        """Return pairs of tensors that two operators read at the same place."""
        candidate_operands, reference_operands = self.candidate.reads(node), self.reference.reads(twin)
        if self.candidate.kind(node) not in COMMUTATIVE:
            same_count = len(candidate_operands) == len(reference_operands)
            return list(zip(candidate_operands, reference_operands, strict=True)) if same_count else []
        candidate_names = [name for name in candidate_operands if name not in self.to_reference]
        reference_names = [name for name in reference_operands if name not in self.to_candidate]
        images = {self.to_reference[name] for name in candidate_operands if name in self.to_reference}
        matched = {name for name in reference_operands if name in self.to_candidate}
        if images != matched:  # x (a b) and (x a) b have no factor in common
            return []
        if len(candidate_names) == 1 and len(reference_names) == 1:
            return [(candidate_names[0], reference_names[0])]
        return [
            (ones[0], twos[0])
            for ones, twos in self._by_type(candidate_names, reference_names)
            if len(ones) == 1 == len(twos)
        ]

    def _by_type(self, candidate_names: list[str], reference_names: list[str]) -> Iterator[tuple[list[str], list[str]]]:
        ones = _groups(candidate_names, lambda name: _type_of(self.candidate, name))
        twos = _groups(reference_names, lambda name: _type_of(self.reference, name))
        yield from ((ones[key], twos[key]) for key in ones if key in twos)

    def _join_operands(self, candidate: str, reference: str) -> bool:
        one, two = self.candidate.node(candidate), self.reference.node(reference)
        if one is not None and two is not None and self._may_be_other(reference) and self._reads_other(one, two):
            return False  # one size of a shape may be found at another place of another shape
        return self.fits(candidate, reference) and self._join(candidate, reference, STRUCTURE)

    def _join_outputs(self, node: GraphNode, twin: GraphNode, method: str) -> bool:
        """Match the results of two operators by place, if their shapes fit; return whether any was."""
        joined = False
        for name, target in zip(node.outputs, twin.outputs, strict=False):
            if not self.candidate.is_root(name) or not self.reference.is_root(target):
                continue
            if self.fits(name, target, self.sizes):
                joined = self._join(name, target, method) or joined
            else:
                self.resized = self.resized or self.fits(name, target, sizes=False)
        return joined

    def fits(self, candidate: str, reference: str, sizes: bool | None = None) -> bool:
        """Return whether two tensors have the same kind of elements and the same shape, as far as those are known.

        Args:
            candidate: The candidate's tensor.
            reference: The reference's.
            sizes: Whether the sizes of dimensions must agree; by default as for the whole pairing.
        """
        if not self._same_class(candidate, reference):
            return False
        one, two = self.candidate.entry(candidate), self.reference.entry(reference)
        if one is None or two is None or one.shape is None or two.shape is None:
            return True
        if len(one.shape) != len(two.shape):
            return False
        if _is_shape(self.candidate, candidate) and _is_shape(self.reference, reference):
            sizes = True  # as long as that has dimensions, in any file
        return not (self.sizes if sizes is None else sizes) or all(
            a == b for a, b in zip(one.shape, two.shape, strict=True) if is_size(a) and is_size(b)
        )  # fmt: skip

    def _same_class(self, candidate: str, reference: str) -> bool:
        kinds = (_classes(self.candidate, candidate), _classes(self.reference, reference))
        return not kinds[0] or not kinds[1] or bool(kinds[0] & kinds[1])

    # --- from classes to tensors

    def _matches(self) -> Iterator[Match]:
        outputs = (
            self.candidate.finals & self.reference.finals & self.reference.maker.keys() - set(self.known_pairs.values())
        )
        constant = [name for name in self.candidate.maker if name in self.candidate.static and name in outputs]
        for name in (*constant, *self.candidate.computed):
            if name in self.known_pairs:
                yield Match(name, self.known_pairs[name], GIVEN)
                continue
            if name in outputs:  # outputs of one name are compared, whichever operators make them
                yield Match(name, name, SAME_NAME)
                continue
            reference = self.to_reference.get(self.candidate.root(name))
            if reference is None or name not in self.candidate.shown(self.candidate.root(name)):
                continue
            yield self._match(name, reference)

    def _match(self, name: str, reference: str) -> Match:
        root = self.candidate.root(name)
        shown = [
            item
            for item in self.reference.shown(reference)
            if item in self.reference.maker or item in self.reference.graph.inputs
        ]
        if name in shown:
            return Match(name, name, SAME_NAME)
        direct = self.direct.get(name)
        if direct is not None and direct.reference in shown:
            return direct
        first = next((item for item in self.candidate.shown(root) if item not in self.candidate.graph.inputs), name)
        return Match(name, shown[0], self.methods[root] if name == first and name not in shown else THROUGH)


def _behind_all(side: ModelSide, names: frozenset[str], depth: int, node: GraphNode) -> tuple[object, ...]:
    """Return the readers of an operator's results, and their readers, as a value that can be compared."""
    return tuple(_behind(side, names, depth, name) for name in node.outputs)


def _behind(side: ModelSide, names: frozenset[str], depth: int, tensor: str) -> tuple[object, ...]:
    """Return the readers of a tensor, and their readers, as a value that can be compared.

    Args:
        side: The graph.
        names: Names of weights that both files have.
        depth: Number of operators to look at, one after another.
        tensor: The tensor, as operators see it but for rounding.
    """
    if not depth:
        return ()
    readers = []
    for node, place in side.readers.get(tensor, ()):
        kind, weights = side.kind(node), names.intersection(map(base_name, side.weights_of(node)))
        later = tuple(_behind(side, names, depth - 1, output) for output in node.outputs)
        readers.append((kind, 0 if kind in COMMUTATIVE else place, tuple(sorted(weights)), later))
    return tuple(sorted(readers, key=repr))


def _type_of(side: ModelSide, name: str) -> str:
    node = side.node(name)
    return "" if node is None else side.kind(node)


def _classes(side: ModelSide, name: str) -> set[str]:
    """Return the kinds of elements that a tensor and its counterparts hold; empty if that is not known."""
    return {kind for item in side.shown(side.root(name)) if (kind := side.class_of(item))}


def _is_shape(side: ModelSide, name: str) -> bool:
    node = side.node(name)
    return node is not None and node.op_type == "Shape"


def _end(side: ModelSide, product: GraphNode, *, biased: bool) -> str:
    """Return the output of a product after its bias is added; empty where it has a bias and must not, or the reverse.

    Args:
        side: The graph.
        product: The product, without a bias of its own.
        biased: Whether there must be one.
    """
    readers = side.readers.get(product.outputs[0], [])
    sums = [node for node, _ in readers if node.op_type == "Add" and side.weights_of(node)]
    last = sums[0] if len(sums) == 1 == len(readers) else None
    return (last or product).outputs[0] if (last is not None) == biased else ""


def _groups(items: Iterable[Key], key: Callable[[Key], object]) -> dict[object, list[Key]]:
    """Return items by the result of a function, without those for which it returns None."""
    groups: dict[object, list[Key]] = {}
    for item in items:
        value = key(item)
        if value is not None:
            groups.setdefault(value, []).append(item)
    return groups
