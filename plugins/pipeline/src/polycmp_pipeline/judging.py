"""Judging of values item by item, and their comparison end to end."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from polycmp.compare import shape_reason
from polycmp.errors import DataError
from polycmp.runs import comparer_maker
from polycmp.sentences import counted, shortened
from polycmp.tensors import same_bits
from polycmp_pipeline.findings import EndToEnd, ValueVerdict, Verdict
from polycmp_pipeline.values import Array, Values, array_of, is_item, is_list, share_of, together
from polycmp_pipeline.words import relation

if TYPE_CHECKING:
    from polycmp.plan import ComparePlan
    from polycmp.plugins import Registry

_ORDER: tuple[Verdict, ...] = ("failed", "undecided", "blind", "passed")
#: Names of items that a reason lists.
_SHOWN = 3


@dataclass(frozen=True)
class Item:
    """One item of a value of one sample.

    Attributes:
        place: Its place in words that follow the value's name.
        verdict: The verdict on it.
        reason: The reason in words.
        brief: The same in a few words; empty where the reason is short.
        share: The largest error as a share of what the numbers span; None of what is no such number.
        is_number: Whether it holds real numbers; else it is a decision, equal or not.
    """

    place: str
    verdict: Verdict = "passed"
    reason: str = ""
    brief: str = ""
    share: float | None = 0.0
    is_number: bool = True


class ItemJudge:
    """Judges items by the options of comparing, or as `polycmp compare` judges arrays by default.

    Args:
        plan: The options of comparing.
        registry: The plugins.
    """

    def __init__(self, plan: ComparePlan, registry: Registry) -> None:
        self._make = comparer_maker(plan, registry, watching=True)

    def items(self, name: str, candidate: Any, reference: Any, place: str = "") -> Iterator[Item]:
        """Yield the verdicts on the items of a value.

        Args:
            name: The value's name.
            candidate: The new side's.
            reference: The reference's.
            place: Its place in words that follow the value's name.
        """
        if is_list(candidate) != is_list(reference):
            kinds = ["a list" if is_list(value) else "no list" for value in (candidate, reference)]
            yield Item(place, "failed", f"{kinds[0]} instead of {kinds[1]}", share=None, is_number=False)
        elif is_list(candidate):
            yield from self._of_lists(name, candidate, reference, place)
        else:
            yield self._item(name, candidate, reference, place)

    def _of_lists(self, name: str, candidate: Any, reference: Any, place: str) -> Iterator[Item]:
        pairs = together(candidate, reference)
        if len(candidate) != len(reference):
            alone = [f"[{reference_place}]" for candidate_place, reference_place in pairs if candidate_place is None]
            extra = [f"[{candidate_place}]" for candidate_place, reference_place in pairs if reference_place is None]
            places = (("without", alone), ("and", extra))
            words = "; ".join(f"{word} {shortened(some, _SHOWN)}" for word, some in places if some)
            counts = f"{counted(len(candidate), 'item')} instead of {len(reference)}"
            yield Item(place, "failed", f"{counts}, {words}", share=None, is_number=False)
        for candidate_place, reference_place in pairs:
            if candidate_place is not None and reference_place is not None:
                yield from self.items(
                    name, candidate[candidate_place], reference[reference_place], f"{place}[{reference_place}]"
                )

    def _item(self, name: str, candidate: Any, reference: Any, place: str) -> Item:
        if candidate is None or reference is None:
            both = candidate is None and reference is None
            what = ["nothing (None)" if value is None else "something" for value in (candidate, reference)]
            return Item(place) if both else Item(place, "failed", " instead of ".join(what), share=None)
        one, two = array_of(candidate), array_of(reference)
        is_number = two.dtype.kind not in "OUSiub"
        if same_bits(one, two):
            return Item(place, is_number=is_number)
        comparer = self._make("candidate", "reference")
        comparer.add({name: one}, {name: two})
        pair = comparer.result()
        comparison = next(iter(pair.outputs.values()), pair)  # a user's function may have judged nothing
        verdict = cast("Verdict", comparison.verdict)
        brief = relation(one, two) if verdict != "passed" else ""
        reason = shape_reason(one, two) if one.shape != two.shape else _text_reason(one, two) or comparison.reason
        full = "; ".join(filter(None, (brief, reason)))
        return Item(place, verdict, full, brief or _brief(one, two), share_of(one, two), is_number)


def _brief(candidate: Array, reference: Array) -> str:
    """Describe the difference of two arrays without a known relation in a few words."""
    share = share_of(candidate, reference)
    is_known = share is not None and math.isfinite(share)
    return f"it is off by {100 * (share or 0.0):.2g} % of its range" if is_known else ""


def _text_reason(candidate: Array, reference: Array) -> str:
    if candidate.shape or candidate.dtype.kind != "O" or reference.dtype.kind != "O":
        return ""
    return f"{candidate.item()!r} instead of {reference.item()!r}"


def judge_values(
    judge: ItemJudge, candidate: Sequence[Values], reference: Sequence[Values], samples: Sequence[str]
) -> tuple[ValueVerdict, ...]:
    """Return the verdict on each value over all samples.

    Args:
        judge: Judges items.
        candidate: The new side's values of each sample.
        reference: The reference's.
        samples: Names of the samples.
    """
    items_by_name: dict[str, list[Item]] = {}
    off: dict[str, set[str]] = {}
    for sample, candidate_values, reference_values in zip(samples, candidate, reference, strict=True):
        where = f" of sample {sample}" if len(samples) > 1 else ""
        for name in reference_values:
            items = [
                replace(item, place=f"{item.place}{where}")
                for item in judge.items(name, candidate_values[name], reference_values[name])
            ]
            items_by_name.setdefault(name, []).extend(items)
            if any(item.verdict != "passed" for item in items):
                off.setdefault(name, set()).add(sample)
    return tuple(
        _over(name, items, _count(items, len(off.get(name, ())), samples)) for name, items in items_by_name.items()
    )


def _count(items: Sequence[Item], samples_off: int, samples: Sequence[str]) -> str:
    """Count the samples, or the items of a single sample, in which a value does not pass."""
    if len(samples) > 1:
        return f"in {samples_off} of {counted(len(samples), 'sample')}"
    differing = sum(item.verdict != "passed" for item in items)
    return f"{differing} of {counted(len(items), 'item')}" if len(items) > 1 else ""


def _over(name: str, items: Sequence[Item], count: str) -> ValueVerdict:
    differing = [item for item in items if item.verdict != "passed"]
    verdict: Verdict = min((item.verdict for item in items), key=_ORDER.index, default="passed")
    shares = [item.share for item in items]
    share = None if None in shares else max((share for share in shares if share is not None), default=0.0)
    first = next((item for item in differing if item.verdict == verdict), None)
    reason = brief = ""
    if first is not None:
        reason = f"{name}{first.place}: {first.reason}" + (f" ({count})" if count else "")
        brief = f"{name}{first.place}: {first.brief or first.reason}" + (f" ({count})" if count else "")
    return ValueVerdict(name, verdict, reason, brief, share, len(items), len(differing))


def compare_end_to_end(
    judge: ItemJudge, candidate: Sequence[Values | None], reference: Sequence[Values], free_failure: str = ""
) -> EndToEnd:
    """Compare the results of both sides where each feeds on its own earlier results.

    Args:
        judge: Judges items.
        candidate: The new side's values of each sample; None for samples that it did not reach.
        reference: The reference's.
        free_failure: Why it did not reach one.
    """
    items: dict[str, list[Item]] = {}
    for candidate_values, reference_values in zip(candidate, reference, strict=True):
        for name in reference_values if candidate_values is not None else ():
            items.setdefault(name, []).extend(
                judge.items(name, (candidate_values or {}).get(name), reference_values[name])
            )
    every = [(name, item) for name, some in items.items() for item in some]
    gone = sum(values is None for values in candidate)
    if gone:
        text = f"not reached with {counted(gone, 'sample')}"
        words = f"{text}: {free_failure}" if free_failure else text
        return EndToEnd(words, differs=True, share=float("inf"), decides=True, reached=False)
    name, worst = max(every, key=lambda pair: _weight(pair[1]), default=("", Item("")))
    size = _weight(worst)
    if not size:
        return EndToEnd("equal")
    off = [item for _, item in every if item.verdict != "passed"]
    if size == float("inf"):
        decisions = [item for item in items[name] if _weight(item) == size]
        first = f"{name}{decisions[0].place}: {decisions[0].brief or decisions[0].reason}"
        return EndToEnd(
            f"{len(decisions)} of {len(items[name])} differ, {first}", bool(off), size,
            decides=bool(off), name=name,
        )  # fmt: skip
    return EndToEnd(f"{name} is off by {100 * size:.2g} % of its range", bool(off), size, name=name)


def _weight(item: Item) -> float:
    """Return the weight of a difference: its share, or infinity for a decision."""
    if item.share is None or not item.is_number:
        return float("inf") if item.verdict != "passed" else 0.0
    return item.share


def checked_values(results: Mapping[str, Any], whose: str) -> Values:
    """Check that a function's results can be compared, and return them.

    Raises:
        DataError: A value is neither an array, a number, a text, nor a list of them.
    """
    for name, value in results.items():
        if (kind := _unknown_kind(value)) is not None:
            raise DataError(
                f"it gives {kind} for {name!r}", whose=whose, hint="give arrays, numbers, texts, or lists of them"
            )
    return dict(results)


def _unknown_kind(value: Any) -> str | None:
    """Return the name of a type that is none of a value; None where all are."""
    if is_list(value):
        return next((kind for kind in map(_unknown_kind, value) if kind is not None), None)
    return None if value is None or is_item(value) else type(value).__name__


def verdict_on(values: Sequence[ValueVerdict]) -> Verdict:
    """Return the weightiest verdict on some values."""
    return min((value.verdict for value in values), key=_ORDER.index, default="passed")
