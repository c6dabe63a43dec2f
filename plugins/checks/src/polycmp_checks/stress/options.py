"""Options of the data loader `stress`. Light: `polycmp_checks.plugin` imports it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from polycmp.spec import opt, parse_range

STRESS_KINDS: Mapping[str, str] = {
    "signed": "real numbers of both signs in [-1, 1]",
    "large": "real numbers of both signs, up to 1000 or what the type can still square",
    "tiny": "real numbers of both signs, from 1e-4 down to the smallest normal number",
    "denormal": "real numbers of both signs below the smallest normal number",
    "boundary": "zeros of both signs, halves (ties of rounding), ones, the numbers next to 1; ends of index ranges",
    "limits": "as boundary, with one element at half the type's largest number",
    "equal": "all elements of an input equal",
    "nan": "real numbers of both signs in [-1, 1], and one NaN",
    "infinite": "real numbers of both signs in [-1, 1], and an infinity of each sign",
    "small": "whole numbers of both signs, up to 9",
    "wide": "whole numbers of all sizes, among them both ends of the type, and what 32 bits do not hold",
    "bits": "whole numbers up to as many as the type has bits, which is one too many to shift by",
    "masked": "masks all zero",
    "unmasked": "masks all one",
    "mask-first": "masks one only at the first position",
    "mask-last": "masks one only at the last position",
}

#: Strides of inputs in memory. Backends that heed them are given the values in that order, others as ever.
LAYOUTS: Mapping[str, str] = {
    "contiguous": "row after row",
    "transposed": "the last two axes exchanged in memory",
    "channels-last": "the second axis last in memory",
    "sliced": "every second element of the last axis of a larger array, from the second on",
    "expanded": "one row that is every row of the first axis",
}

#: Defaults of compare functions with these inputs: they make numbers overflow on
#: purpose, and both sides doing so at the same place is agreement.
COMPARE_DEFAULTS: Mapping[str, Mapping[str, object]] = {"simple": {"nan": "equal", "infinities_compare_equal": True}}
COMPARE_NOTES: Mapping[str, Mapping[str, str]] = {
    "simple": {
        "nan": "NaN at the same place on both sides is equal (--nan differ changes that)",
    }
}


def _kind(text: str) -> str:
    if text not in STRESS_KINDS:
        raise ValueError(f"{text!r} is not a kind of input; use some of {', '.join(STRESS_KINDS)}")
    return text


def _layout(text: str) -> str:
    if text not in LAYOUTS:
        raise ValueError(f"{text!r} is not a layout of inputs; use some of {', '.join(LAYOUTS)}")
    return text


def _seed(text: str | int) -> int:
    value = int(text)
    if not 0 <= value < 2**32:
        raise ValueError(f"{text} does not lie between 0 and 2**32 - 1")
    return value


def _size(text: str | int) -> int:
    value = int(text)
    if value < 0:
        raise ValueError(f"{text} is not a size; a dimension is 0 or more")
    return value


@dataclass(frozen=True)
class StressOptions:
    """Options of the data loader `stress`."""

    kinds: tuple[str, ...] = opt(
        tuple(STRESS_KINDS),
        help="Kinds of input to try; kinds that do not apply to the model are skipped.",
        alias=("--stress-kinds", "--stress-kind"),
        metavar="KIND",
        parse=_kind,
    )
    seeds: tuple[int, ...] = opt(
        (1, 2, 3),
        help="Seeds; each kind is tried once with each seed.",
        alias=("--stress-seeds", "--stress-seed"),
        metavar="N",
        parse=_seed,
    )
    sizes: tuple[int, ...] = opt(
        (1, 2, 3, 7, 8),
        help="Sizes to try in turn for unknown dimensions, within the backend's smallest and largest shapes.",
        metavar="N",
        parse=_size,
    )
    layouts: tuple[str, ...] = opt(
        ("contiguous",),
        help="Layouts of inputs in memory, which the seeds take in turn: " + ", ".join(LAYOUTS) + ".",
        metavar="LAYOUT",
        parse=_layout,
    )
    val_range: Mapping[str, tuple[float, float]] = opt(
        {},
        help="Values that an input can take, for all inputs or as NAME:[LOW,HIGH]; every kind stays within them.",
        metavar="[INPUT:][LOW,HIGH]",
        parse=parse_range,
    )

    def __post_init__(self) -> None:
        parsers: Mapping[str, Callable[..., object]] = {
            "kinds": _kind,
            "seeds": _seed,
            "sizes": _size,
            "layouts": _layout,
        }
        for field, parse in parsers.items():
            values = getattr(self, field)
            if not values:
                raise ValueError(f"{field}: at least one is needed")
            try:
                for value in values:
                    parse(value)
            except (TypeError, ValueError, OverflowError) as error:
                raise ValueError(f"{field}: {error}") from None
