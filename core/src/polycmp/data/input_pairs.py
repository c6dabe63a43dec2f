"""Matching of inputs of two models that name them differently: only where it is certain, never a guess."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from polycmp.tensors import TensorEntry, TensorMetadata, dtype_class, is_size

#: The ways in which an input was found to be the other model's, in words.
GIVEN, SPELLING, FITTING, READERS, ORDER = (
    "as given",
    "by the spelling",
    "the only ones whose types and shapes fit",
    "by what reads them",
    "which can be exchanged for each other",
)
#: Number of operators after inputs that are looked at to tell those apart that are alike: all of them, or few where the
#: models have other operators further on.
WHOLE = 1 << 30
_DEPTHS = (WHOLE, 4, 2, 1)
#: Prefixes and suffixes that TensorFlow, PyTorch's compiler and torch.export put around names.
_AROUND = re.compile(r"^(?:serving_default_|kwargs_)|^l_(?=.*_$)|(?::\d+)$")

#: Returns whether an input of one model is read as one of the other is, looking so many operators far.
Alike = Callable[[str, str, int], bool]


@dataclass(frozen=True)
class InputPairs:
    """Matching of the inputs of one model with those of another.

    Attributes:
        names: The other model's names, by the model's own, where they differ.
        how: The way in which each of these pairs was found, in words, by the model's own name.
        alone: Inputs of the model that the other does not have.
        missing: Inputs of the other that the model does not have.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    how: Mapping[str, str] = field(default_factory=dict)
    alone: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


def pair_inputs(
    inputs: TensorMetadata,
    other: TensorMetadata,
    given: Mapping[str, str] | None = None,
    structure: Callable[[], Alike | None] = lambda: None,
) -> InputPairs:
    """Pair the inputs of two models.

    Equal names are one input. Else names that differ by a converter's spelling alone, then inputs of which only one
    fits by kind of elements and shape, then what operators read them. All that is not certain is left alone.

    Args:
        inputs: The model's inputs.
        other: The other's.
        given: Names of one input in the two models, whichever way round.
        structure: Asked only where the rest does not tell: returns what compares how two inputs are read.
    """
    if not given and list(inputs) == list(other):
        return InputPairs()
    search = _Search(inputs, other)
    search.take(_given(inputs, other, given or {}), GIVEN)
    for name in tuple(search.left):
        if name in search.right:
            search.pairs[name] = name
    if search.left and search.right:
        for spell in (_plain, _bare):
            search.by_spelling(spell)
        search.by_fit(lambda one, two: True, FITTING)
    if search.left and search.right and search.could_fit():
        alike = structure()
        if alike is not None:
            search.by_structure(alike)
    names = {one: two for one, two in search.pairs.items() if one != two}
    return InputPairs(names, {name: search.how[name] for name in names}, tuple(search.left), tuple(search.right))


def fits(one: TensorEntry, two: TensorEntry) -> bool:
    """Return whether two inputs hold the same kind of elements in shapes that may be equal."""
    if one.dtype is not None and two.dtype is not None and dtype_class(one.dtype) != dtype_class(two.dtype):
        return False
    if one.shape is None or two.shape is None:
        return True
    return len(one.shape) == len(two.shape) and all(
        a == b or not (is_size(a) and is_size(b)) for a, b in zip(one.shape, two.shape, strict=True)
    )


def renamed(metadata: TensorMetadata, names: Mapping[str, str]) -> TensorMetadata:
    """Return inputs under other names; those without another keep theirs.

    Args:
        metadata: The inputs.
        names: Other names by their own.
    """
    return TensorMetadata({names.get(name, name): entry for name, entry in metadata.items()})


class _Search:
    """Two models' inputs, and what is known of them so far."""

    def __init__(self, inputs: TensorMetadata, other: TensorMetadata) -> None:
        self._inputs, self._other_inputs = inputs, other
        self.pairs: dict[str, str] = {}
        self.how: dict[str, str] = {}

    @property
    def left(self) -> list[str]:
        """The model's inputs without a counterpart."""
        return [name for name in self._inputs if name not in self.pairs]

    @property
    def right(self) -> list[str]:
        """The other's inputs without one."""
        taken = set(self.pairs.values())
        return [name for name in self._other_inputs if name not in taken]

    def take(self, pairs: Mapping[str, str], how: str) -> None:
        """Take in pairs that are known."""
        self.pairs.update(pairs)
        self.how.update(dict.fromkeys(pairs, how))

    def could_fit(self) -> bool:
        """Return whether any two inputs that are left fit each other."""
        return any(fits(self._inputs[one], self._other_inputs[two]) for one in self.left for two in self.right)

    def by_spelling(self, spell: Callable[[str], str]) -> None:
        """Pair names that are equal once spelled alike, if each is the only one on its side."""
        ones, twos = _by(spell, self.left), _by(spell, self.right)
        pairs = {
            names[0]: twos[key][0]
            for key, names in ones.items()
            if key
            and len(names) == len(twos.get(key, ())) == 1
            and fits(self._inputs[names[0]], self._other_inputs[twos[key][0]])
        }
        self.take(pairs, SPELLING)

    def by_fit(self, also: Callable[[str, str], bool], how: str) -> None:
        """Pair inputs which fit only each other, until there are no more."""
        while True:
            left, right = self.left, self.right
            can = {
                one: [two for two in right if fits(self._inputs[one], self._other_inputs[two]) and also(one, two)]
                for one in left
            }
            pairs = {
                one: twos[0]
                for one, twos in can.items()
                if len(twos) == 1 and sum(twos[0] in others for others in can.values()) == 1
            }
            if not pairs:
                return
            self.take(pairs, how)

    def by_structure(self, alike: Alike) -> None:
        """Pair inputs by what reads them, the more operators of that are equal the better.

        Inputs that can be exchanged for each other, as the two of an addition can, belong together in their order.
        """
        for depth in _DEPTHS:
            self.by_fit(lambda one, two, depth=depth: alike(one, two, depth), READERS)  # type: ignore[misc]
        self.by_fit(lambda one, two: True, FITTING)
        left, right = self.left, self.right
        same = all(
            fits(self._inputs[one], self._other_inputs[two]) and alike(one, two, WHOLE) for one in left for two in right
        )
        if len(left) == len(right) and same:
            self.take(dict(zip(left, right, strict=True)), ORDER)


def _given(inputs: TensorMetadata, other: TensorMetadata, given: Mapping[str, str]) -> dict[str, str]:
    """Return the pairs that were given, by the model's own names; those of other models are left out."""
    pairs = {}
    for one, two in given.items():
        if one in inputs and two in other:
            pairs[one] = two
        elif two in inputs and one in other:
            pairs[two] = one
    return pairs


def _plain(name: str) -> str:
    """Return a name without what converters put around it, in one case, with one sign between its words."""
    return re.sub(r"[^a-z0-9]+", "_", _AROUND.sub("", name.lower())).strip("_")


def _bare(name: str) -> str:
    """Return such a name without the number at its end, which counts layers or names of the same kind."""
    return re.sub(r"_?\d+$", "", _plain(name))


def _by(key: Callable[[str], str], names: Sequence[str]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(key(name), []).append(name)
    return groups
