"""Decoder that takes tokens and returns the next one's logits: with a cache, or with the whole text at each step."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from polycmp.errors import DataError, UsageError
from polycmp.runs import BackendRun, Feedback, FeedbackContext, Resolved, ResolvedBackend, copy_outputs, open_feedback
from polycmp.tensors import Feed, TensorMetadata, is_floating, to_numpy

if TYPE_CHECKING:
    from polycmp.tensors import TensorEntry

Logits = npt.NDArray[np.floating[Any]]
#: Names by which decoders call what is not their cache.
_TOKENS, _LOGITS, _MASK = "input_ids", "logits", "attention_mask"
_POSITIONS = ("position_ids", "cache_position")
#: How exporters call the number of places whose logits are wanted, 0 for all, and whether the cache holds anything.
_LOGIT_COUNTS, _USES_CACHE = ("num_logits_to_keep", "logits_to_keep"), "use_cache_branch"
_RULE = re.compile(r"(.+)=(?:own_)?argmax\((.+)\)")
_HINT = "--feed 'INPUT=argmax(OUTPUT)', with the input that takes tokens and the output that ranks them"


class SideError(Exception):
    """A side failed; its run says why."""


class Decoder:
    """Takes texts one token further at a time.

    Args:
        backend: The backend.
        resolved: What it was resolved with.

    Attributes:
        run: The run.
    """

    def __init__(self, backend: ResolvedBackend, resolved: Resolved) -> None:
        self.run: BackendRun = backend.make_run()
        self._resolved = replace(resolved, backends=(backend,), models={backend.model.path: backend.model})
        rules = (_RULE.fullmatch(text) for text in _feed_rules(resolved))
        self._tokens, self._logits = next((rule.groups() for rule in rules if rule), ("", ""))
        self._inputs = TensorMetadata()
        self._feedback: Feedback | None = None
        self._feed: Feed = {}
        self._next_inputs: Feed = {}
        self._outputs: Mapping[str, Any] = {}
        self._rows: list[list[int]] = []
        self._step = 0

    def activate(self) -> None:
        """Make the session.

        Raises:
            SideError: It could not be made.
            UsageError: It is not certain which input takes tokens, or what becomes of the others.
        """
        self.run.activate()
        inputs = self.run.inputs()
        if inputs is None:
            raise SideError
        self._inputs = inputs
        self._tokens = self._tokens or _tokens_input(inputs, self.run.label)
        if inputs.keys() - {self._tokens, _MASK, *_POSITIONS, *_LOGIT_COUNTS}:
            self._feedback = open_feedback(FeedbackContext.of(self._resolved.plan), self._resolved)

    @property
    def notes(self) -> Sequence[str]:
        """Remarks on choices that the user did not make."""
        return self._feedback.notes if self._feedback is not None and self._next_inputs else ()

    @property
    def has_cache(self) -> bool:
        """Whether it continues from a cache."""
        return self._feedback is not None

    def inputs_of(self, row: Sequence[int]) -> Feed:
        """Return the inputs with which a text begins; a cache that they lack begins empty."""
        return self._first([row])

    def begin(self, rows: Sequence[Sequence[int]]) -> Logits:
        """Begin texts, and return the logits of the next token of each, `[text, token]`.

        Args:
            rows: Tokens of the texts, of one length each: padding has to be hidden, and models want it on either side.

        Raises:
            SideError: The side failed.
        """
        return self._last(self._begin(rows))

    def everywhere(self, row: Sequence[int]) -> Logits | None:
        """Return the logits behind each token of a text that is taken at once; None where only the last are given."""
        logits = self._begin([row])
        return logits[0] if logits.shape[1] == len(row) else None

    def next(self, tokens: Sequence[int]) -> Logits:
        """Append a token to each text, and return the logits of the next.

        Args:
            tokens: A token for each text.

        Raises:
            SideError: The side failed.
        """
        if self._feedback is None:
            return self.begin([[*row, token] for row, token in zip(self._rows, tokens, strict=True)])
        feed = dict(self._feedback.then(self._step, self._feed, self._outputs, self._outputs, self._next_inputs))
        feed[self._tokens] = np.array(tokens, _dtype(self._inputs[self._tokens]))[:, None]
        if _USES_CACHE in feed:
            feed[_USES_CACHE] = np.ones_like(feed[_USES_CACHE])
        self._step += 1
        return self._last(self._infer(feed))

    def _begin(self, rows: Sequence[Sequence[int]]) -> Logits:
        self._rows, self._step = [list(row) for row in rows], 0
        feed: Feed = self._first(rows)
        if self._feedback is not None:
            feed = self._next_inputs = next(iter(self._feedback.starts(lambda _: [feed], self._inputs)))[0]
        return self._infer(feed)

    def _first(self, rows: Sequence[Sequence[int]]) -> dict[str, Any]:
        """Return the inputs of texts."""
        tokens = np.array(rows)
        positions = np.arange(tokens.shape[1])
        inputs = {
            self._tokens: tokens,
            _MASK: np.ones_like(tokens),
            "position_ids": np.broadcast_to(positions, tokens.shape),
            "cache_position": positions,
            **{
                name: np.zeros(_shape(self._inputs[name]))
                for name in (*_LOGIT_COUNTS, _USES_CACHE)
                if name in self._inputs
            },
        }
        return {
            name: values.astype(_dtype(self._inputs[name])) for name, values in inputs.items() if name in self._inputs
        }

    def _infer(self, feed: Feed) -> Logits:
        """Run, and return the logits `[text, place, token]`."""
        outputs = self.run.infer(feed)
        if outputs is None:
            raise SideError
        self._feed, self._outputs = feed, outputs if self.run.outputs_stay_valid else copy_outputs(outputs)
        self._logits = self._logits or _logits_output(self._outputs, self.run.label)
        if self._logits not in self._outputs:
            raise UsageError(f"no output {self._logits!r}", whose=self.run.label, hint=_HINT)
        logits = to_numpy(self._outputs[self._logits])
        if logits.ndim < 2 or 0 in logits.shape:
            raise DataError(
                f"{self._logits!r} of shape {list(logits.shape)} ranks no tokens", whose=self.run.label,
                why="logits have the shape [text, place, token]",
            )  # fmt: skip
        return logits.reshape(logits.shape[0], -1, logits.shape[-1])

    @property
    def unit(self) -> float:
        """Machine epsilon of the logits' type."""
        import ml_dtypes

        dtype = to_numpy(self._outputs[self._logits]).dtype
        return float(ml_dtypes.finfo(dtype).eps)

    def _last(self, logits: Logits) -> Logits:
        last = logits[:, -1]
        return np.array(last, np.float64 if last.dtype == np.float64 else np.float32)


def _feed_rules(resolved: Resolved) -> Iterable[str]:
    """Return the rules of `--feed`, an option of the data loader that feeds outputs back."""
    return [text for options in resolved.plan.data.followers.values() for text in getattr(options, "feed", ())]


def _tokens_input(inputs: TensorMetadata, label: str) -> str:
    if _TOKENS in inputs:
        return _TOKENS
    whole = [
        name
        for name, entry in inputs.items()
        if name not in {_MASK, *_POSITIONS} and _dtype(entry).kind in "iu" and len(entry.shape or ()) == 2
    ]
    if len(whole) != 1:
        raise UsageError(
            "which input takes tokens?", whose=label, why=f"the inputs are {', '.join(inputs)}", hint=_HINT
        )
    return whole[0]


def _logits_output(outputs: Mapping[str, Any], label: str) -> str:
    if _LOGITS in outputs:
        return _LOGITS
    ranking = [name for name, array in outputs.items() if len(array.shape) == 3 and is_floating(to_numpy(array).dtype)]
    if len(ranking) != 1:
        raise UsageError(
            "which output ranks tokens?", whose=label, why=f"the outputs are {', '.join(outputs)}", hint=_HINT
        )
    return ranking[0]


def _shape(entry: TensorEntry) -> tuple[int, ...]:
    return tuple(dim if isinstance(dim, int) and dim > 0 else 1 for dim in entry.shape or ())


def _dtype(entry: TensorEntry) -> np.dtype[Any]:
    return np.dtype(np.int64) if entry.dtype is None else np.dtype(entry.dtype)
