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
Decoded = list[tuple[Feed, Arrays]]
#: Positions of padding.
_PADDING = 3


def check_cached(bench: Bench) -> Check:
    """Step by step with the cache against all tokens at once."""
    steps = _steps(bench)
    decoded = _decode(bench, steps, _step_feeds(bench, steps))
    tokens = steps.rules.tokens
    whole = bench.infer(_at_once(steps, decoded))
    first = int(decoded[0][0][tokens].shape[-1])
    count = first + len(decoded) - 1

    def pairs() -> Pairs:
        for step, (_, outputs) in enumerate(decoded):
            stepwise = _last(steps, outputs)
            at_once = _at(steps, whole, first + step, count, last=step + 1 == len(decoded))
            yield {name: stepwise[name] for name in at_once if name in stepwise}, at_once
        yield _state(steps, decoded[-1][1]), _state(steps, whole)

    return bench.compare("cached", pairs(), f"{len(decoded)} steps with the cache against {count} tokens at once")


def check_left_padded(bench: Bench) -> Check:
    """The same steps after a prompt that is padded on the left."""
    steps = _steps(bench)
    feeds = _step_feeds(bench, steps)
    plain = _decode(bench, steps, feeds)
    padded = _decode(bench, steps, [_padded(steps, feeds[0]), *feeds[1:]], plain)

    def pairs() -> Pairs:
        for (_, one), (_, two) in zip(padded, plain, strict=True):
            yield _last(steps, one), _last(steps, two)

    return bench.compare("left-padded", pairs(), f"{len(plain)} steps after {_PADDING} positions of padding")


def _steps(bench: Bench) -> StepFeedback:
    if not isinstance(bench.feedback, StepFeedback):
        raise DoesNotApplyError(r"it needs --steps N --state 'present\.(.*)=past_key_values.\1'")
    return bench.feedback


def _step_feeds(bench: Bench, steps: StepFeedback) -> list[Feed]:
    feeds = next(iter(steps.starts(bench.source, bench.inputs)), None)
    if feeds is None:
        raise DoesNotApplyError("the data loader gave no input")
    if not steps.rules.tokens:
        raise DoesNotApplyError("no input gets tokens: --feed 'INPUT=argmax(OUTPUT)' says which one does")
    return list(feeds)


def _decode(bench: Bench, steps: StepFeedback, feeds: list[Feed], reference: Decoded | None = None) -> Decoded:
    """Run all steps; the tokens come from the reference, by default from the outputs themselves."""
    feed, decoded = feeds[0], []
    for step in range(steps.steps):
        outputs = bench.infer({name: feed[name] for name in bench.inputs})
        decoded.append((feed, outputs))
        if step + 1 < steps.steps:
            feed = steps.then(step, feed, outputs, reference[step][1] if reference else outputs, feeds[step + 1])
    return decoded


def _at_once(steps: StepFeedback, decoded: Decoded) -> Feed:
    """Return the feed that brings the tokens of all steps at once."""
    feeds = [feed for feed, _ in decoded]
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
        array = np.asarray(feed[name])
        if rule == "ones":
            past = array.shape[-1] - count
            padded[name] = np.insert(array, [past] * _PADDING, 0, axis=-1)
        elif name == steps.rules.tokens or (rule == "count" and array.ndim > 1):
            padded[name] = np.concatenate([np.zeros((*array.shape[:-1], _PADDING), array.dtype), array], axis=-1)
    return padded


def _last(steps: StepFeedback, outputs: Mapping[str, Any]) -> Arrays:
    """Select the last position of the ranked outputs."""
    return {name: outputs[name][:, -1:] if outputs[name].ndim > 2 else outputs[name] for name in steps.rules.ranked}


def _at(steps: StepFeedback, whole: Mapping[str, Any], position: int, count: int, *, last: bool) -> Arrays:
    """Select a position of the ranked outputs of all tokens; empty where they hold the last position only."""
    shown = {name: whole[name] for name in steps.rules.ranked}
    selected = {
        name: array[:, position - 1 : position]
        for name, array in shown.items()
        if array.ndim > 2 and array.shape[1] == count
    }
    return {**(_last(steps, shown) if last else {}), **selected}


def _state(steps: StepFeedback, outputs: Mapping[str, Any]) -> Arrays:
    return {output: outputs[output] for output in steps.state.values()}
