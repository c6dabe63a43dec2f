"""Run of both sides on the same prompts: each side's text, and the new side's probabilities on the old one's text."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from polycmp.errors import DataError, UsageError
from polycmp.runs import resolve
from polycmp_generate.decoder import Decoder, Logits, SideError
from polycmp_generate.divergence import Decision, Demand, Floats, decide, divergences, two_best

if TYPE_CHECKING:
    from polycmp.plan import Plan
    from polycmp.plugins import Registry
    from polycmp.tensors import Feed
    from polycmp_generate.options import GenerateSection

Stage = Callable[[str], None]
#: Roundings of the logits' type, at their own size, below which a gap between two of them is a tie at least: a choice,
#: the few operations behind the last matrix.
_ROUNDINGS = 8


@dataclass(frozen=True)
class Trace:
    """Texts and probabilities of both sides for a prompt.

    Attributes:
        prompt: Its tokens.
        old: What the old side writes.
        new: What the new side writes.
        top: Token that the new side would write where it is fed with the old side's text, at each place.
        kl: Divergence of its probabilities there, in nats.
        margin: By how much the old side's logit of its token is above the one of the new side's token.
    """

    prompt: Sequence[int]
    old: Sequence[int]
    new: Sequence[int]
    top: Sequence[int]
    kl: Floats
    margin: Floats

    @property
    def parts(self) -> list[int]:
        """The places at which the new side would write another token."""
        return [place for place, (one, two) in enumerate(zip(self.top, self.old, strict=True)) if one != two]

    @property
    def mean(self) -> float:
        """The divergence per token."""
        return float(self.kl.mean())


@dataclass(frozen=True)
class SideRecord:
    """One side.

    Attributes:
        label: The backend's label.
        version: What drives it, with its version.
        error: Why it failed; empty if it did not.
        hint: What to do about that.
        notes: Remarks.
    """

    label: str
    version: str = ""
    error: str = ""
    hint: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class GenerationFindings:
    """Findings on both sides.

    Attributes:
        new: The new side.
        old: The old side, which is the reference.
        demand: What was asked.
        traces: What both make of each prompt; none where a side failed.
        decision: The answer; None where a side failed.
        rounding: How far rounding moves the gap between two logits of the old side.
        batch: Number of prompts that the new side took at once.
        notes: Remarks on choices that the user did not make.
        worst_inputs: Inputs of the old side on which to look for the operator: the worst prompt, without a cache the
            text up to the worst place.
        worst_steps: Number of steps to take from there; 0 without a cache.
    """

    new: SideRecord
    old: SideRecord
    demand: Demand
    traces: Sequence[Trace] = ()
    decision: Decision | None = None
    rounding: float = 0.0
    batch: int = 1
    notes: tuple[str, ...] = ()
    worst_inputs: Feed = field(default_factory=dict)
    worst_steps: int = 0

    @property
    def tokens(self) -> int:
        """The number of tokens that were compared."""
        return sum(len(trace.old) for trace in self.traces)

    def is_tie(self, trace: Trace, place: int) -> bool:
        """Return whether rounding alone explains that the new side would write another token."""
        return bool(trace.margin[place] <= self.rounding)


@dataclass
class _Written:
    """A text with the logits of each of its tokens."""

    tokens: list[int] = field(default_factory=list)
    logits: list[Logits] = field(default_factory=list)


def find(
    plan: Plan,
    registry: Registry,
    section: GenerateSection,
    prompts: Sequence[Sequence[int]],
    length: int,
    ends: frozenset[int] = frozenset(),
    on_stage: Stage = lambda _: None,
) -> GenerationFindings:
    """Run both sides on the prompts, and decide.

    Args:
        plan: Two backends, the new side first.
        registry: The plugins.
        section: How, and what is asked.
        prompts: Tokens of the prompts.
        length: Number of tokens to write for each.
        ends: Tokens that end a text.
        on_stage: Told in words what happens next.

    Raises:
        PolycmpError: Nothing could be run or compared: wrong names, no model, other vocabularies.
    """
    resolved = resolve(plan, registry)
    if len(resolved.backends) != 2:
        raise UsageError(
            f"{len(resolved.backends)} sides", why="one new side is held beside one old one",
            hint="polycmp generate NEW OLD -b BACKEND --prompts FILE, or MODEL -b NEW -b OLD",
        )  # fmt: skip
    new, old = (Decoder(backend, resolved) for backend in resolved.backends)
    demand = Demand(section.max_kl, section.confidence / 100)
    traces: list[Trace] = []
    noise = [0.0]
    try:
        for side in (new, old):
            on_stage(f"activating {side.run.label}")
            side.activate()
        for group in _groups(prompts, section.batch):
            on_stage(f"prompt {len(traces) + 1} of {len(prompts)}")
            written = [_write(old, [prompt], length, ends)[0] for prompt in group]
            noise += [_rounding(old, prompt, one) for prompt, one in zip(group, written, strict=True)]
            lacking = section.batch - len(group)
            traces += _traces(new, group + group[-1:] * lacking, written + written[-1:] * lacking, length, ends)
            del traces[len(traces) - lacking :]
    except SideError:
        return GenerationFindings(_side(new), _side(old), demand, notes=_notes(new, old))
    finally:
        for side in (new, old):
            side.run.deactivate()
    decision = decide([float(trace.kl.sum()) for trace in traces], [len(trace.old) for trace in traces], demand)
    worst = max(traces, key=lambda trace: trace.mean)
    place = int(np.argmax(worst.kl))
    text = worst.prompt if old.has_cache else [*worst.prompt, *worst.old[:place]]
    return GenerationFindings(
        _side(new), _side(old), demand, traces, decision, max(noise), section.batch, _notes(new, old),
        old.inputs_of(text), place + 1 if old.has_cache else 0,
    )  # fmt: skip


def _notes(new: Decoder, old: Decoder) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*new.notes, *old.notes)))


def _groups(prompts: Sequence[Sequence[int]], size: int) -> Iterator[list[Sequence[int]]]:
    """Yield prompts of one length that go together, in the order of the prompts where each goes alone."""
    together = [list(some) for _, some in groupby(sorted(prompts, key=len), len)] if size > 1 else [list(prompts)]
    for some in together:
        for start in range(0, len(some), size):
            yield some[start : start + size]


def _traces(
    new: Decoder, group: Sequence[Sequence[int]], written: Sequence[_Written], length: int, ends: frozenset[int]
) -> Iterator[Trace]:
    read = _read(new, group, [one.tokens for one in written])
    apart = any(_tops(one) != other.tokens for one, other in zip(read, written, strict=True))
    alone = _write(new, group, length, ends) if apart else read
    for prompt, old, forced, free in zip(group, written, read, alone, strict=True):
        if old.logits[0].shape != forced.logits[0].shape:
            raise DataError(
                f"{new.run.label} ranks {len(forced.logits[0])} tokens, the old side {len(old.logits[0])}",
                hint="give two models with the same vocabulary",
            )
        top = _tops(forced)
        places = [*zip(old.tokens, top, old.logits, forced.logits, strict=True)]  # row by row: vocabularies are large
        kl = np.array([divergences(logits, expected) for _, _, expected, logits in places])
        margin = np.array([float(expected[one]) - float(expected[two]) for one, two, expected, _ in places])
        same = top == old.tokens
        yield Trace(
            prompt, old.tokens, old.tokens if same else free.tokens, top, kl, margin
        )  # fmt: skip


def _tops(one: _Written) -> list[int]:
    return [int(np.argmax(logits)) for logits in one.logits]


def _write(decoder: Decoder, prompts: Sequence[Sequence[int]], length: int, ends: frozenset[int]) -> list[_Written]:
    """Generate texts greedily: at each place the token with the largest logit."""
    texts = [_Written() for _ in prompts]
    logits = decoder.begin(prompts)
    while True:
        tokens = [int(token) for token in logits.argmax(-1)]
        going = False
        for text, token, row in zip(texts, tokens, logits, strict=True):
            if text.tokens and text.tokens[-1] in ends:
                continue
            text.tokens.append(token)
            text.logits.append(row)
            going |= token not in ends and len(text.tokens) < length
        if not going:
            return texts
        logits = decoder.next(tokens)


def _read(decoder: Decoder, prompts: Sequence[Sequence[int]], texts: Sequence[Sequence[int]]) -> list[_Written]:
    """Feed texts to a side, and return its logits at each place."""
    read = [_Written(list(text)) for text in texts]
    logits = decoder.begin(prompts)
    for place in range(max(map(len, texts))):
        if place:
            logits = decoder.next([text[min(place, len(text)) - 1] for text in texts])
        for one, row in zip(read, logits, strict=True):
            if place < len(one.tokens):
                one.logits.append(row)
    return read


def _rounding(old: Decoder, prompt: Sequence[int], written: _Written) -> float:
    """Measure how far rounding moves the gap between the two best logits, by two orders of calculating them.

    Raises:
        DataError: Logits are NaN.
    """
    if any(np.isnan(row).any() for row in written.logits):
        raise DataError("logits are NaN", whose=old.run.label, hint="compare with another backend: polycmp locate")
    largest = max(float(np.abs(row[np.isfinite(row)]).max(initial=0.0)) for row in written.logits)
    floor = _ROUNDINGS * old.unit * largest
    at_once = old.everywhere([*prompt, *written.tokens[:-1]])
    if at_once is None:
        return floor
    moved = [floor]
    for one, two in zip(written.logits, at_once[len(prompt) - 1 :], strict=True):
        first, second = two_best(one)
        gap = float(one[first]) - float(one[second])
        moved.append(abs(float(two[first]) - float(two[second]) - gap))
    return max(value for value in moved if math.isfinite(value))


def _side(decoder: Decoder) -> SideRecord:
    result = decoder.run.result
    return SideRecord(decoder.run.label, result.version, result.error, result.hint, tuple(result.notes))
