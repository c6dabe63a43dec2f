"""Matching the tensors of two graphs: by name, through rounding, by the weights they read, by structure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TypeVar

from polycmp.graph import GraphNode, ModelGraph
from polycmp.tensors import TensorMetadata
from polycmp_locate.pairing.absorbed import absorbed, activation_of, code_ends, find_absorbed, find_folded, has_bias
from polycmp_locate.pairing.names import base_name, is_counted, is_generic, pair_names, pair_program
from polycmp_locate.pairing.result import GIVEN, SAME_NAME, SAME_WEIGHT, STRUCTURE, THROUGH, Match, Pairing
from polycmp_locate.pairing.side import COMMUTATIVE, CONTROL_FLOW, Side, plain_type

Key = TypeVar("Key")
#: Number of operators after a tensor that tell it from others like it.
_DEPTH = 4
#: With this share of the tensors paired, sizes that contradict each other keep nothing of importance apart.
_MOST = 0.95


def pair_graphs(
    candidate: ModelGraph,
    reference: ModelGraph,
    inputs: TensorMetadata | None = None,
    given: Mapping[str, str] | None = None,
) -> Pairing:
    """Pair the tensors of two graphs.

    Matched are tensors of equal names where what makes them does not speak against it; tensors whose names a
    converter made of each other's; tensors that are another one rounded (Cast, QuantizeLinear and so on); the results
    of operators of one type on the same weight; then, again and again, what the same operator makes of matched tensors
    and what the same operator reads to make them, where only one tensor on each side can be meant and the shapes fit.

    Args:
        candidate: The model to judge.
        reference: The model to believe.
        inputs: Types and shapes of what will be fed; by default what the reference's model says.
        given: Names in the candidate's model -> names in the reference's, of tensors known to belong together.
    """
    inputs = inputs if inputs is not None else reference.inputs
    return pair_sides(Side(candidate, inputs), Side(reference, inputs), given)


def pair_sides(candidate: Side, reference: Side, given: Mapping[str, str] | None = None) -> Pairing:
    """Pair the tensors of two graphs.

    Args:
        candidate: The graph of the model to judge.
        reference: The graph of the model to believe.
        given: Names in the candidate's model -> names in the reference's, of tensors known to belong together.
    """
    strict = _Matching(candidate, reference)
    found = strict.run(given or {})
    if found.share >= _MOST or not strict.resized:
        return found
    # A file that keeps the sizes of its example inputs makes other shapes, and so does all that follows.
    other = _Matching(candidate, reference, sizes=False).run(given or {})
    return other if len(other.matches) > len(found.matches) else found


class _Matching:
    """One pairing in the making, of classes of tensors that are the same but for rounding.

    Args:
        mine: The candidate's graph.
        other: The reference's.
        sizes: Whether the sizes of dimensions must agree; their number must anyway.

    Attributes:
        resized: Whether the same operator on matched tensors makes tensors of other sizes.
    """

    def __init__(self, mine: Side, other: Side, sizes: bool = True) -> None:
        self.mine, self.other, self.sizes = mine, other, sizes
        self.resized = False
        self.to: dict[str, str] = {}
        self.back: dict[str, str] = {}
        self.method: dict[str, str] = {}
        self.direct: dict[str, Match] = {}
        self.doubted: dict[str, str] = {}
        self.believed: set[str] = set()
        self.absorbed: list[str] = []
        self.uncut: dict[str, str] = {}
        self.given: dict[str, str] = {}

    def run(self, given: Mapping[str, str]) -> Pairing:
        """Match all that can be matched."""
        self.given.update(given)
        for name in self.mine.graph.inputs:
            if name in self.other.graph.inputs:
                self._join(self.mine.root(name), self.other.root(name), SAME_NAME)
        for name, target in given.items():
            self._join(self.mine.root(name), self.other.root(target), GIVEN)
        self._by_names()
        self._by_weights()
        while (
            self._absorb()
            or self._fold()
            or self._forward()
            or self._backward()
            or self._doubt()
            or self._by_doubted_names()
        ):
            pass
        matches = tuple(self._matches())
        codes = frozenset(match.candidate for match in matches if match.candidate in self.mine.codes)
        absorbed = tuple(dict.fromkeys(self.absorbed))
        uncut = {
            match.candidate: before
            for match in matches
            if (before := self.uncut.get(self.mine.root(match.candidate))) is not None
        }
        return Pairing(matches, self.mine.floats, self.other.floats, absorbed=absorbed, codes=codes, uncut=uncut)

    def _join(self, mine: str, other: str, method: str) -> bool:
        """Match two classes, unless one has a match already."""
        if mine in self.to or other in self.back:
            return False
        self.to[mine], self.back[other], self.method[mine] = other, mine, method
        return True

    # --- names

    def _by_names(self) -> None:
        found = [*pair_names(self.mine.made, self.other.made), *pair_program(self.mine.modules, self.other.made)]
        for match in sorted(found, key=lambda item: item.method != SAME_NAME):  # otherwise in the order of the graph
            self._absorb_named(match)
            if self._may_be_same(match):
                self._join(self.mine.root(match.candidate), self.other.root(match.reference), match.method)
                self.direct[match.candidate] = match
        while self._doubt():
            pass

    def _may_be_same(self, match: Match) -> bool:
        """Return whether nothing speaks against two tensors of one name being the same."""
        one, two = self._made_by(self.mine, match.candidate), self._made_by(self.other, match.reference)
        if one is None or two is None:
            return one is two
        same = self.mine.kind(one) == self.other.kind(two)
        if same and is_generic(match.reference) and self._reads_other(one, two):
            if match.candidate == match.reference:
                self.doubted[self.mine.root(match.candidate)] = self.other.root(match.reference)
            return False
        if same and match.candidate == match.reference and not self._may_be_other(match.reference):
            return self._same_class(match.candidate, match.reference)
        if same:
            return self.fits(match.candidate, match.reference)
        replaced = bool(one.domain or two.domain) or (
            plain_type(one) not in self.other.op_types or plain_type(two) not in self.mine.op_types
        )
        return replaced and self.fits(match.candidate, match.reference)

    def _may_be_other(self, name: str) -> bool:
        """Return whether a name is one that exporters count up, of what is computed about sizes and not of the data."""
        return is_generic(name) and name not in self.other.floats

    @staticmethod
    def _made_by(side: Side, name: str) -> GraphNode | None:
        return side.node(side.root(name))

    def _doubt(self) -> bool:
        """Take back names that contradict what has been matched since; return whether any did."""
        known = {name: name for name in self.back}
        keys = {node.outputs: self._key(self.mine, node, self.to) for node in self.mine.nodes}
        keys_of_other = {node.outputs: self._key(self.other, node, known) for node in self.other.nodes}
        alike = {key for key in keys.values() if key is not None} & set(keys_of_other.values())

        def elsewhere(one: GraphNode, two: GraphNode) -> bool:
            """Return whether another operator does to the same tensors what one of these does."""
            mine, other = keys.get(one.outputs), keys_of_other.get(two.outputs)
            return mine != other and (mine in alike or other in alike)

        wrong = [name for name in self.to if self._is_contradicted(name, elsewhere)]
        for name in wrong:
            self.doubted[name] = self.to.pop(name)
            del self.back[self.doubted[name]]
        self.direct = {name: item for name, item in self.direct.items() if self.mine.root(name) not in wrong}
        return bool(wrong)

    def _by_doubted_names(self) -> bool:
        """Match a tensor of one name that reads others on both sides; return whether any was.

        Exporters count names up, so that the same one may be another tensor; but nothing else is left for it here, and
        most names mean the same in both models: one was made of the other, and what this operator reads was changed.
        """
        left = [
            name
            for name, other in self.doubted.items()
            if name not in self.to and other not in self.back and not self._may_be_other(other)
        ]
        sound = [name for name, method in self.method.items() if method == SAME_NAME and self._is_confirmed(name)]
        if not left or len(sound) <= len(left):
            return False
        self.believed.add(left[0])
        return self._join(left[0], self.doubted[left[0]], SAME_NAME)

    def _is_confirmed(self, name: str) -> bool:
        """Return whether what makes two matched tensors is of one type and reads matched tensors."""
        one, two = self.mine.node(name), self.other.node(self.to[name]) if name in self.to else None
        if one is None or two is None or self.mine.kind(one) != self.other.kind(two):
            return False
        return bool({self.to.get(read) for read in self.mine.reads(one)} & set(self.other.reads(two)))

    def _is_contradicted(self, name: str, elsewhere: Callable[[GraphNode, GraphNode], bool]) -> bool:
        """Return whether a name that exporters count up is that of another tensor.

        It is where both operators read tensors that are known to differ, or where on one side another operator does to
        the same tensors what this one does on the other side.
        """
        if name in self.believed:
            return False
        one, two = self.mine.node(name), self.other.node(self.to[name])
        if self.method[name] != SAME_NAME or one is None or two is None or self.mine.kind(one) != self.other.kind(two):
            return False
        if not is_generic(self.to[name]):
            return False
        return self._reads_other(one, two) or elsewhere(one, two)

    def _reads_other(self, one: GraphNode, two: GraphNode) -> bool:
        """Return whether two operators are known to read different tensors."""
        images = {self.to[name] for name in self.mine.reads(one) if name in self.to}
        known = {name for name in self.other.reads(two) if name in self.back}
        return bool(images and known) and not images & set(self.other.reads(two))

    # --- activations that codes do

    def _absorb_named(self, match: Match) -> None:
        """Match codes with an activation where their name says that they represent its result."""
        mine, other = self.mine.root(match.candidate), self.other.root(match.reference)
        activation = activation_of(self.other, other)
        codes = code_ends(self.mine, mine, activation) if activation is not None else []
        if activation is not None and codes and other not in self.back:
            self._join(self._cut(self.mine, mine, codes, activation), other, match.method)
            before = activation.operand(0)
            if codes[0] == mine:
                self.uncut[mine] = before
            else:  # the activation reads the rounded tensor, from any operator: a normalisation may be folded
                self._join(mine, self.other.root(before), match.method)
            self.absorbed.append(absorbed(self.mine, codes[0], self.other, activation).sentence)
            return
        activation = activation_of(self.mine, mine)
        codes = code_ends(self.other, other, activation) if activation is not None else []
        if activation is not None and codes and mine not in self.to:
            self._join(mine, self._cut(self.other, other, codes, activation), match.method)
            if codes[0] != other:
                self._join(self.mine.root(activation.operand(0)), other, match.method)
            self.absorbed.append(absorbed(self.other, codes[0], self.mine, activation).sentence)

    @staticmethod
    def _cut(side: Side, name: str, codes: list[str], activation: GraphNode) -> str:
        """Return the root of the codes that do an activation, which are a class of their own from now on."""
        if codes[0] == name:
            side.replaced[name] = f"{plain_type(side.maker[name])} and {activation.op_type}"
        else:
            side.split(codes, activation.op_type)
        return codes[0]

    def _absorb(self) -> bool:
        """Match codes with the activation that has no other counterpart; return whether any was."""
        mine = list(find_absorbed(self.mine, self.to, self.other, self.back))
        for name, activation, codes in mine:
            root = self._cut(self.mine, name, codes, activation)
            method = self.method[name]
            if root == name:
                del self.back[self.to.pop(name)]
                self.uncut[root] = activation.operand(0)
            self._join(root, self.other.root(activation.outputs[0]), method)
            self.absorbed.append(absorbed(self.mine, codes[0], self.other, activation).sentence)
        other = list(find_absorbed(self.other, self.back, self.mine, self.to))
        for name, activation, codes in other:
            root = self._cut(self.other, name, codes, activation)
            method = self.method[self.back[name]]
            if root == name:
                del self.to[self.back.pop(name)]
            self._join(self.mine.root(activation.outputs[0]), root, method)
            self.absorbed.append(absorbed(self.other, codes[0], self.mine, activation).sentence)
        return bool(mine or other)

    def _fold(self) -> bool:
        """Match what an operator makes with the result of the normalisation that was folded into it; if any was."""
        mine = list(find_folded(self.mine, self.to, self.other, self.back))
        for name, node in mine:
            method = self.method[name]
            del self.back[self.to.pop(name)]
            self._join(name, node.outputs[0], method)
        other = list(find_folded(self.other, self.back, self.mine, self.to))
        for name, node in other:
            method = self.method[self.back[name]]
            del self.to[self.back.pop(name)]
            self._join(node.outputs[0], name, method)
        return bool(mine or other)

    # --- weights

    def _by_weights(self) -> None:
        """Match what operators of one type make that alone read a weight of one name."""
        mine, other = self._weight_readers(self.mine), self._weight_readers(self.other)
        for key, node in mine.items():
            twin = other.get(key)
            if node is None or twin is None:
                continue
            self._join_products(node, twin, SAME_WEIGHT)
        for (name, kind), node in mine.items():
            end = other.get((name, "MatMul")) if kind == "Gemm" else None
            if node is not None and end is not None:
                self._join_sum(node.outputs[0], _end(self.other, end, biased=has_bias(node)), SAME_WEIGHT)
        for (name, kind), node in other.items():
            end = mine.get((name, "MatMul")) if kind == "Gemm" else None
            if node is not None and end is not None:
                self._join_sum(_end(self.mine, end, biased=has_bias(node)), node.outputs[0], SAME_WEIGHT)

    def _join_products(self, node: GraphNode, twin: GraphNode, method: str) -> bool:
        """Match what two operators of one type make, after the sum where only one of them adds its bias itself.

        Quantised, a Conv may be a product of whole numbers, to which another operator adds the bias.
        """
        if has_bias(node) == has_bias(twin):
            return self._join_made(node, twin, method)
        one, two = node.outputs[0], twin.outputs[0]
        if has_bias(twin):
            one = _end(self.mine, node, biased=True)
        else:
            two = _end(self.other, twin, biased=True)
        if not (one and two) and node.op_type == twin.op_type:  # the bias is that of a folded normalisation
            return self._join_made(node, twin, method)
        return self._join_sum(one, two, method)

    def _join_sum(self, one: str, two: str, method: str) -> bool:
        """Match what a Gemm or Conv makes with the end of a product on the same weight; empty where it has none."""
        known = one and two and self.mine.is_root(one) and self.other.is_root(two) and self.fits(one, two)
        return bool(known) and self._join(one, two, method)

    @staticmethod
    def _weight_readers(side: Side) -> dict[tuple[str, str], GraphNode | None]:
        found: dict[tuple[str, str], GraphNode | None] = {}
        for node in side.nodes:
            for name in dict.fromkeys(base_name(weight) for weight in side.weights_of(node)):
                if not is_counted(name):
                    key = (name, side.kind(node))
                    found[key] = None if key in found else node
        return found

    # --- structure

    def _forward(self) -> bool:
        """Match what the same operator makes of the same tensors; return whether any was."""
        mine, other = self._open(self.mine, self.to), self._open(self.other, self.back)
        known = _groups(mine, lambda node: self._key(self.mine, node, self.to))
        twins = _groups(other, lambda node: self._key(self.other, node, {name: name for name in self.back}))
        found = False
        for key, nodes in known.items():
            for node, twin in self._told_apart(nodes, twins.get(key, [])):
                found = self._join_products(node, twin, STRUCTURE) or found
        return found

    @staticmethod
    def _open(side: Side, done: Mapping[str, str]) -> list[GraphNode]:
        return [node for node in side.nodes if any(side.is_root(name) and name not in done for name in node.outputs)]

    @staticmethod
    def _key(side: Side, node: GraphNode, images: Mapping[str, str]) -> tuple[str, tuple[str, ...]] | None:
        read = [images.get(name) for name in side.reads(node)]
        names = [name for name in read if name is not None]
        if not read or len(names) < len(read):
            return None
        kind = side.kind(node)
        return kind, tuple(sorted(names) if kind in COMMUTATIVE else names)

    def _told_apart(self, mine: list[GraphNode], other: list[GraphNode]) -> Iterator[tuple[GraphNode, GraphNode]]:
        """Yield the operators of two groups that can only mean each other."""
        if len(mine) == 1 and len(other) == 1:
            yield mine[0], other[0]
            return
        if not mine or not other:
            return
        for depth in range(1, _DEPTH + 1):
            ones = _groups(mine, partial(_behind_all, self.mine, depth))
            twos = _groups(other, partial(_behind_all, self.other, depth))
            pairs = [(ones[key][0], twos[key][0]) for key in ones if len(ones[key]) == 1 == len(twos.get(key, ()))]
            if pairs:
                yield from pairs
                return

    def _backward(self) -> bool:
        """Match what the same operator reads to make matched tensors; return at the first that was."""
        for mine, other in list(self.to.items()):
            node, twin = self.mine.node(mine), self.other.node(other)
            if node is None or twin is None or self.mine.kind(node) != self.other.kind(twin):
                continue
            if node.op_type in CONTROL_FLOW:
                continue
            if any(self._join_read(*pair) for pair in self._read_alike(node, twin)):
                return True
        return False

    def _read_alike(self, node: GraphNode, twin: GraphNode) -> list[tuple[str, str]]:
        """Return pairs of tensors that two operators read at the same place."""
        mine, other = self.mine.reads(node), self.other.reads(twin)
        if self.mine.kind(node) not in COMMUTATIVE:
            return list(zip(mine, other, strict=True)) if len(mine) == len(other) else []
        left = [name for name in mine if name not in self.to]
        right = [name for name in other if name not in self.back]
        images = {self.to[name] for name in mine if name in self.to}
        if images != {name for name in other if name in self.back}:  # x (a b) and (x a) b have no factor in common
            return []
        if len(left) == 1 and len(right) == 1:
            return [(left[0], right[0])]
        return [(ones[0], twos[0]) for ones, twos in self._by_type(left, right) if len(ones) == 1 == len(twos)]

    def _by_type(self, left: list[str], right: list[str]) -> Iterator[tuple[list[str], list[str]]]:
        ones = _groups(left, lambda name: _type_of(self.mine, name))
        twos = _groups(right, lambda name: _type_of(self.other, name))
        yield from ((ones[key], twos[key]) for key in ones if key in twos)

    def _join_read(self, mine: str, other: str) -> bool:
        one, two = self.mine.node(mine), self.other.node(other)
        if one is not None and two is not None and self._may_be_other(other) and self._reads_other(one, two):
            return False  # one size of a shape may be found at another place of another shape
        return self.fits(mine, other) and self._join(mine, other, STRUCTURE)

    def _join_made(self, node: GraphNode, twin: GraphNode, method: str) -> bool:
        """Match the results of two operators by place, if their shapes fit; return whether any was."""
        found = False
        for name, target in zip(node.outputs, twin.outputs, strict=False):
            if not self.mine.is_root(name) or not self.other.is_root(target):
                continue
            if self.fits(name, target, self.sizes):
                found = self._join(name, target, method) or found
            else:
                self.resized = self.resized or self.fits(name, target, sizes=False)
        return found

    def fits(self, mine: str, other: str, sizes: bool | None = None) -> bool:
        """Return whether two tensors have the same kind of elements and the same shape, as far as those are known.

        Args:
            mine: The candidate's tensor.
            other: The reference's.
            sizes: Whether the sizes of dimensions must agree; by default as for the whole pairing.
        """
        if not self._same_class(mine, other):
            return False
        one, two = self.mine.entry(mine), self.other.entry(other)
        if one is None or two is None or one.shape is None or two.shape is None:
            return True
        if len(one.shape) != len(two.shape):
            return False
        if _is_shape(self.mine, mine) and _is_shape(self.other, other):  # as long as that has dimensions, in any file
            sizes = True
        return not (self.sizes if sizes is None else sizes) or all(
            a == b for a, b in zip(one.shape, two.shape, strict=True) if _is_known(a) and _is_known(b)
        )  # fmt: skip

    def _same_class(self, mine: str, other: str) -> bool:
        kinds = (_classes(self.mine, mine), _classes(self.other, other))
        return not kinds[0] or not kinds[1] or bool(kinds[0] & kinds[1])

    # --- from classes to tensors

    def _matches(self) -> Iterator[Match]:
        outputs = self.mine.finals & self.other.finals & self.other.maker.keys() - set(self.given.values())
        constant = [name for name in self.mine.maker if name in self.mine.static and name in outputs]
        for name in (*constant, *self.mine.made):
            if name in self.given:
                yield Match(name, self.given[name], GIVEN)
                continue
            if name in outputs:  # outputs of one name are compared, whichever operators make them
                yield Match(name, name, SAME_NAME)
                continue
            other = self.to.get(self.mine.root(name))
            if other is None or name not in self.mine.shown(self.mine.root(name)):
                continue
            yield self._match(name, other)

    def _match(self, name: str, other: str) -> Match:
        root = self.mine.root(name)
        shown = [
            item for item in self.other.shown(other) if item in self.other.maker or item in self.other.graph.inputs
        ]
        if name in shown:
            return Match(name, name, SAME_NAME)
        direct = self.direct.get(name)
        if direct is not None and direct.reference in shown:
            return direct
        first = next((item for item in self.mine.shown(root) if item not in self.mine.graph.inputs), name)
        return Match(name, shown[0], self.method[root] if name == first and name not in shown else THROUGH)


def _behind_all(side: Side, depth: int, node: GraphNode) -> tuple[object, ...]:
    """Return the readers of an operator's results, and their readers, as a value that can be compared."""
    return tuple(behind(side, name, depth) for name in node.outputs)


def behind(side: Side, name: str, depth: int) -> tuple[object, ...]:
    """Return the readers of a tensor, and their readers, as a value that can be compared.

    Args:
        side: The graph.
        name: The tensor, as operators see it but for rounding.
        depth: Number of operators to look at, one after another.
    """
    if not depth:
        return ()
    readers = side.readers.get(name, ())
    return tuple(
        sorted(
            (
                (side.kind(node), 0 if side.kind(node) in COMMUTATIVE else place, names(side, node),
                 tuple(behind(side, made, depth - 1) for made in node.outputs))
                for node, place in readers
            ),
            key=repr,
        )
    )  # fmt: skip


def names(side: Side, node: GraphNode) -> tuple[str, ...]:
    """Return the names of an operator's weights that say what they are."""
    return tuple(sorted({base for item in side.weights_of(node) if not is_counted(base := base_name(item))}))


def _type_of(side: Side, name: str) -> str:
    node = side.node(name)
    return "" if node is None else side.kind(node)


def _classes(side: Side, name: str) -> set[str]:
    """Return the kinds of elements that a tensor and its counterparts hold; empty if that is not known."""
    return {kind for item in side.shown(side.root(name)) if (kind := side.class_of(item))}


def _is_known(dim: int | str) -> bool:
    return isinstance(dim, int) and dim >= 0


def _is_shape(side: Side, name: str) -> bool:
    node = side.node(name)
    return node is not None and node.op_type == "Shape"


def _end(side: Side, product: GraphNode, *, biased: bool) -> str:
    """Return the output of a product after its bias is added; empty where one is missing or not wanted.

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
    found: dict[object, list[Key]] = {}
    for item in items:
        value = key(item)
        if value is not None:
            found.setdefault(value, []).append(item)
    return found
