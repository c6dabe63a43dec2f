"""All cases, by operator."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice

from onnx import defs

from truth.operators import algebra, elementwise, learning, moving, quantised, reductions, sequences, spatial
from truth.operators.case import Case, sample

_FAMILIES: tuple[Callable[[], Iterator[Case]], ...] = (
    *(elementwise.unary, elementwise.binary, elementwise.several),
    *(reductions.reductions, reductions.cumulative, reductions.normalising, reductions.layers, reductions.groups),
    *(
        moving.shaping,
        moving.joining,
        moving.slicing,
        moving.padding,
        moving.choosing,
        moving.scattering,
        moving.picking,
        moving.triangles,
        moving.uniques,
        moving.ordering,
        moving.blocks,
        moving.casting,
        moving.caching,
    ),
    *(spatial.convolutions, spatial.poolings, spatial.resizing, spatial.sampling),
    *(sequences.recurrent, sequences.loops, sequences.listed, sequences.parts),
    *(algebra.products, algebra.signals, algebra.losses, algebra.attention),
    *(quantised.quantising, quantised.multiplying),
    *(learning.texts, learning.encoders, learning.linear, learning.trees),
)
#: Operators that are not asked, and why.
NOT_ASKED = {
    **dict.fromkeys(
        ("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"),
        "draws its outputs at random",
    ),
    **dict.fromkeys(("CastMap", "DictVectorizer", "ZipMap"), "takes or makes a map"),
    **dict.fromkeys(("Adagrad", "Adam", "Gradient", "Momentum"), "trains"),
    **dict.fromkeys(("SequenceEmpty", "Constant"), "has no input"),
    "FlexAttention": "is a preview, with graphs for attributes",
    "ImageDecoder": "reads files of pictures",
}


@cache
def by_operator() -> dict[str, tuple[Case, ...]]:
    """Return every case by its operator."""
    found: dict[str, list[Case]] = {}
    for family in _FAMILIES:
        for case in family():
            found.setdefault(case.operator, []).append(case)
    return {name: tuple(cases) for name, cases in sorted(found.items())}


def cases(most: int) -> list[Case]:
    """Return at most so many cases of each operator."""
    return [case for of in by_operator().values() for case in sample(of, most)]


def first_cases(most: int) -> list[Case]:
    """Return at most so many cases of each family, those that it begins with; no others are made."""
    return [case for family in _FAMILIES for case in islice(family(), most)]


def left_out() -> list[str]:
    """Return the operators of which no case is made, beside others or by itself, nor a reason given why not."""
    known = {schema.name for schema in defs.get_all_schemas()}
    return sorted(known - set(by_operator()) - set(NOT_ASKED) - {"OptionalGetElement", "SequenceConstruct"})
