"""Invariants of decoders: the cache changes nothing, and neither does padding on the left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from polycmp.tensors import Feed
from polycmp_checks.invariants.batch import Arrays, DoesNotApplyError
from polycmp_checks.invariants.bench import Bench
from polycmp_checks.invariants.findings import Check
from polycmp_checks.steps.feedback import StepFeedback

Pairs = Iterator[tuple[Arrays, Arrays]]
Taken = list[tuple[Feed, Arrays]]
#: Positions of padding.
_PADDING = 3


def check_cached(bench: Bench) -> Check:
    """Step by step with the cache against all tokens at once."""
    steps = _steps(bench)
    taken = _decode(bench, steps, _given(bench, steps))
    tokens = steps.rules.tokens
    whole = bench.infer(_at_once(steps, taken))
    first = int(taken[0][0][tokens].shape[-1])
    count = first + len(taken) - 1

    def pairs() -> Pairs:
        for step, (_, made) in enumerate(taken):
            mine, wanted = _last(steps, made), _at(steps, whole, first + step, count, last=step + 1 == len(taken))
            yield {name: mine[name] for name in wanted if name in mine}, wanted
        yield _state(steps, taken[-1][1]), _state(steps, whole)

    return bench.compare("cached", pairs(), f"{len(taken)} steps with the cache against {count} tokens at once")


def check_left_padded(bench: Bench) -> Check:
    """The same steps after a prompt that is padded on the left."""
    steps = _steps(bench)
    given = _given(bench, steps)
    plain = _decode(bench, steps, given)
    padded = _decode(bench, steps, [_padded(steps, given[0]), *given[1:]], plain)

    def pairs() -> Pairs:
        for (_, one), (_, two) in zip(padded, plain, strict=True):
            yield _last(steps, one), _last(steps, two)

    return bench.compare("left-padded", pairs(), f"{len(plain)} steps after {_PADDING} positions of padding")


def _steps(bench: Bench) -> StepFeedback:
    if not isinstance(bench.feedback, StepFeedback):
        raise DoesNotApplyError(r"it needs --steps N --state 'present\.(.*)=past_key_values.\1'")
    return bench.feedback


def _given(bench: Bench, steps: StepFeedback) -> list[Feed]:
    given = next(iter(steps.starts(bench.source, bench.inputs)), None)
    if given is None:
        raise DoesNotApplyError("the data loader gave no input")
    if not steps.rules.tokens:
        raise DoesNotApplyError("no input gets tokens: --feed 'INPUT=argmax(OUTPUT)' says which one does")
    return list(given)


def _decode(bench: Bench, steps: StepFeedback, given: list[Feed], reference: Taken | None = None) -> Taken:
    """Take all steps; the tokens come from the reference, by default from the outputs themselves."""
    feed, taken = given[0], []
    for step in range(steps.steps):
        made = bench.infer({name: feed[name] for name in bench.inputs})
        taken.append((feed, made))
        if step + 1 < steps.steps:
            feed = steps.then(step, feed, made, reference[step][1] if reference else made, given[step + 1])
    return taken


def _at_once(steps: StepFeedback, taken: Taken) -> Feed:
    """Return the feed that brings the tokens of all steps at once."""
    feeds = [feed for feed, _ in taken]
    whole = dict(feeds[0])
    for name, rule in steps.rules.names.items():
        if name == steps.rules.tokens or rule == "count":
            whole[name] = np.concatenate([np.asarray(feed[name]) for feed in feeds], axis=-1)
        elif rule != "keep":
            whole[name] = feeds[-1][name]
    return whole


def _padded(steps: StepFeedback, feed: Feed) -> Feed:
    """Return a first feed with padding before its tokens, which the mask hides."""
    masks = [name for name, rule in steps.rules.names.items() if rule == "ones"]
    if not masks:
        raise DoesNotApplyError("no input is a mask that hides padding: --feed 'INPUT=ones' says which one is")
    padded = dict(feed)
    count = int(feed[steps.rules.tokens].shape[-1])
    for name, rule in steps.rules.names.items():
        held = np.asarray(feed[name])
        if rule == "ones":
            past = held.shape[-1] - count
            padded[name] = np.insert(held, [past] * _PADDING, 0, axis=-1)
        elif name == steps.rules.tokens or (rule == "count" and held.ndim > 1):
            padded[name] = np.concatenate([np.zeros((*held.shape[:-1], _PADDING), held.dtype), held], axis=-1)
    return padded


def _last(steps: StepFeedback, made: Mapping[str, Any]) -> Arrays:
    """Select the last position of the ranked outputs."""
    return {name: made[name][:, -1:] if made[name].ndim > 2 else made[name] for name in steps.rules.ranked}


def _at(steps: StepFeedback, whole: Mapping[str, Any], position: int, count: int, *, last: bool) -> Arrays:
    """Select a position of the ranked outputs of all tokens; empty where they hold the last position only."""
    shown = {name: whole[name] for name in steps.rules.ranked}
    found = {
        name: array[:, position - 1 : position]
        for name, array in shown.items()
        if array.ndim > 2 and array.shape[1] == count
    }
    return {**(_last(steps, shown) if last else {}), **found}


def _state(steps: StepFeedback, made: Mapping[str, Any]) -> Arrays:
    return {output: made[output] for output in steps.state.values()}
