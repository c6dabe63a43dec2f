"""Rules for the other inputs in the next step: those of `--feed`, and those that decoders are known to want."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp.errors import DataError, OthersCode, UsageError, did_you_mean
from polycmp.loader import load_script
from polycmp.options import split_script
from polycmp.tensors import Feed, to_numpy
from polycmp_checks.steps.wiring import listed

_CALL = re.compile(r"(argmax|own_argmax)\((.+)\)")
#: Rule -> what it does, for help texts and errors.
WORDS = {
    "argmax(OUTPUT)": "the index of the largest value at the last position, as the reference has it",
    "own_argmax(OUTPUT)": "the same, as each backend has it",
    "ones": "what it held, and a one for each new token",
    "count": "numbers that go on from the last one",
    "keep": "what it held",
    "FILE.py:NAME": "what a function of (step, feed, outputs) returns",
}
#: Names by which decoders call inputs that have to follow the cache, and the rules for them.
_USUAL_RULES = {"attention_mask": "ones", "position_ids": "count", "cache_position": "count"}
_TOKENS, _LOGITS = "input_ids", "logits"


@dataclass(frozen=True)
class Moment:
    """Values that a rule may use.

    Attributes:
        step: The step that was just taken, counted from 0.
        feed: Inputs of the run in that step.
        outputs: Outputs of the run for them.
        reference: Outputs of the reference in that step.
        tokens: Number of tokens that the next step takes.
    """

    step: int
    feed: Feed
    outputs: Mapping[str, Any]
    reference: Mapping[str, Any]
    tokens: int = 1


Rule = Callable[[str, Moment], Any]


@dataclass(frozen=True)
class InputRules:
    """The rules of a model's inputs.

    Attributes:
        by_input: Input to rule, those that make tokens first.
        names: Input to the rule's name.
        ranked: Outputs whose largest value is the next token.
        assumed: Inputs whose rule was not asked for.
    """

    by_input: Mapping[str, Rule]
    names: Mapping[str, str]
    ranked: tuple[str, ...]
    assumed: tuple[str, ...]

    @property
    def scripted(self) -> bool:
        """Whether a user's function computes an input; it may read every output."""
        return any(_is_script(rule) for rule in self.names.values())

    @property
    def tokens(self) -> str:
        """The input that gets the tokens; empty if there is none."""
        return _tokens(self.names)

    def next(self, moment: Moment) -> dict[str, Any]:
        """Compute the next step's values of the inputs that have rules."""
        values: dict[str, Any] = {}
        for name, rule in self.by_input.items():
            count = int(np.shape(values[self.tokens])[-1]) if self.tokens in values else moment.tokens
            values[name] = rule(name, Moment(moment.step, moment.feed, moment.outputs, moment.reference, count))
        return values


def make_rules(
    feed_options: Collection[str], inputs: Collection[str], outputs: Collection[str], state: Collection[str]
) -> InputRules:
    """Return the rules that were asked for, and those that inputs of a decoder are known to want.

    Args:
        feed_options: `INPUT=RULE`.
        inputs: The model's inputs.
        outputs: The model's outputs; none if they are not known yet.
        state: The inputs that outputs go into.

    Raises:
        UsageError: There is no such rule, input or output, or the input is fed by `--state` already.
        DataError: A script cannot be loaded.
    """
    names = dict(_split(text) for text in feed_options)
    for name in names:
        if name not in inputs:
            raise UsageError(f"--feed: the model has no input {name!r}", why=did_you_mean(name, inputs))
        if name in state:
            raise UsageError(f"--feed: --state already feeds {name!r}", hint="give only one of them")
    assumed = {name: rule for name, rule in _usual(inputs, outputs).items() if name not in names and name not in state}
    names = {**names, **assumed}
    ordered = dict(sorted(names.items(), key=lambda item: item[0] != _tokens(names)))
    by_input = {name: _rule(name, rule, outputs) for name, rule in ordered.items()}
    ranked = dict.fromkeys(match[2] for rule in ordered.values() if (match := _CALL.fullmatch(rule)))
    return InputRules(by_input, ordered, tuple(ranked), tuple(assumed))


def _tokens(names: Mapping[str, str]) -> str:
    ranked = next((name for name, rule in names.items() if _CALL.fullmatch(rule)), "")
    return ranked or (_TOKENS if names.get(_TOKENS, "keep") != "keep" else "")


def _usual(inputs: Collection[str], outputs: Collection[str]) -> dict[str, str]:
    if _TOKENS not in inputs or _LOGITS not in outputs:
        return {}
    return {_TOKENS: f"argmax({_LOGITS})", **{name: rule for name, rule in _USUAL_RULES.items() if name in inputs}}


def _split(text: str) -> tuple[str, str]:
    name, equals, rule = text.partition("=")
    if not (name and equals and rule):
        raise UsageError(f"--feed: {text!r} is not INPUT=RULE", hint="for example --feed 'input_ids=argmax(logits)'")
    return name, rule


def _rule(name: str, text: str, outputs: Collection[str]) -> Rule:
    call = _CALL.fullmatch(text)
    if call is not None:
        if outputs and call[2] not in outputs:
            raise UsageError(
                f"--feed {name}={text}: the model has no output {call[2]!r}", why=did_you_mean(call[2], outputs)
            )
        return _argmax(call[2], each_backend=call[1] == "own_argmax")
    if text in ("keep", "ones", "count"):
        return {"keep": _keep, "ones": _ones, "count": _count}[text]
    if _is_script(text):
        path, function = split_script(text, "next_input")
        return _scripted(text, load_script(path, function))
    raise UsageError(
        f"--feed {name}={text}: there is no such rule",
        why="; ".join(f"{rule}: {what}" for rule, what in WORDS.items()),
    )


def _is_script(rule: str) -> bool:
    return ".py" in rule and not _CALL.fullmatch(rule)


def _argmax(output: str, *, each_backend: bool) -> Rule:
    def rule(name: str, moment: Moment) -> Any:
        outputs = moment.outputs if each_backend else moment.reference
        if output not in outputs:
            raise DataError(f"no output {output!r} to take {name!r} from", why=f"there are {listed(outputs)}")
        return top_token(outputs[output]).astype(to_numpy(moment.feed[name]).dtype)

    return rule


def top_token(logits: Any) -> NDArray[np.int64]:
    """Return the index of the largest value at the last position: `[batch, 1]` of `[batch, position, vocabulary]`.

    Raises:
        DataError: There is no last position.
    """
    array = to_numpy(logits)
    if array.ndim < 2 or 0 in array.shape:
        raise DataError(f"argmax needs values by [batch, …, vocabulary], and the shape is {list(array.shape)}")
    last = array.reshape(array.shape[0], -1, array.shape[-1])[:, -1]
    return np.asarray(last.argmax(-1).astype(np.int64)[:, None])


def _keep(name: str, moment: Moment) -> Any:
    return moment.feed[name]


def _ones(name: str, moment: Moment) -> Any:
    array = to_numpy(moment.feed[name])
    return np.concatenate([array, np.ones((*array.shape[:-1], moment.tokens), array.dtype)], axis=-1)


def _count(name: str, moment: Moment) -> Any:
    array = to_numpy(moment.feed[name])
    return array[..., -1:] + np.arange(1, moment.tokens + 1, dtype=array.dtype)


def _scripted(text: str, function: Callable[..., Any]) -> Rule:
    def rule(name: str, moment: Moment) -> Any:
        with OthersCode(DataError, f"--feed {name}={text} failed in step {moment.step}"):
            return function(moment.step, dict(moment.feed), dict(moment.outputs))

    return rule
